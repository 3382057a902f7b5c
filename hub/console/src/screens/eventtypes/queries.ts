import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { client, read } from "../../api/client";
import type { paths } from "../../api/schema";
import type { EventTypesSearch } from "./search";

export type EventType = paths["/api/v1/event-types/{id}"]["get"]["responses"]["200"]["content"]["application/json"];
export type Settings = paths["/api/v1/event-types/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const eventTypesQuery = (search: EventTypesSearch) =>
	infiniteQueryOptions({
		queryKey: ["event-types", "list", search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) => read(client.GET("/api/v1/event-types", { signal, params: { query: { limit: 100, cursor, product: search.product } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export const eventTypeQuery = (id: string) => queryOptions({ queryKey: ["event-types", id], queryFn: ({ signal }) => read(client.GET("/api/v1/event-types/{id}", { signal, params: { path: { id } } })) });

export const createEventType = (body: Settings & { product: string; name: string }) => read(client.POST("/api/v1/event-types", { body }));
export const updateEventType = (id: string, body: Settings) => read(client.PUT("/api/v1/event-types/{id}", { params: { path: { id } }, body }));
export const deleteEventType = (id: string) => read(client.DELETE("/api/v1/event-types/{id}", { params: { path: { id } } }));

/** documentAddress is where the webhooks of a product are described as OpenAPI. */
export const documentAddress = (product: string) => `/api/v1/event-types/openapi?product=${encodeURIComponent(product)}`;
