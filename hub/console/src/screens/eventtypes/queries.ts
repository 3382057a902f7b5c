import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { membersOf, writtenJSON } from "../../ui/json";
import type { EventTypesSearch } from "./search";

export type Read = paths["/api/v1/event-types/{id}"]["get"]["responses"]["200"]["content"]["application/json"];
/** EventType has its schema and its example as they are written; "" = none. */
export type EventType = Omit<Read, "schema" | "example"> & { schema: string; example: string };
export type Settings = paths["/api/v1/event-types/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const eventTypesQuery = (search: EventTypesSearch) =>
	infiniteQueryOptions({
		queryKey: ["event-types", "list", search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/event-types", { signal, params: { query: { limit: 100, cursor, product: search.product, brief: true } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export const eventTypeQuery = (id: string) =>
	queryOptions({
		queryKey: ["event-types", id],
		queryFn: async ({ signal }): Promise<EventType> => {
			const text = await bodyOf(client.GET("/api/v1/event-types/{id}", { signal, params: { path: { id } }, parseAs: "text" }));
			const written = membersOf(text);
			const of = (name: "schema" | "example") => (written[name] === "null" ? "" : (written[name] ?? ""));
			return { ...(JSON.parse(text) as Read), schema: of("schema"), example: of("example") };
		},
	});

export const createEventType = (body: Settings & { product: string; name: string }) => bodyOf(client.POST("/api/v1/event-types", { body, bodySerializer: writtenJSON }));
export const updateEventType = (id: string, body: Settings) => bodyOf(client.PUT("/api/v1/event-types/{id}", { params: { path: { id } }, body, bodySerializer: writtenJSON }));
export const deleteEventType = (id: string) => bodyOf(client.DELETE("/api/v1/event-types/{id}", { params: { path: { id } } }));

/** documentAddress is where the webhooks of a product are described as OpenAPI. */
export const documentAddress = (product: string) => `/api/v1/event-types/openapi?product=${encodeURIComponent(product)}`;
