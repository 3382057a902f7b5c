import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import type { ReceiverSettings } from "./ReceiverFields";
import type { EndpointsSearch } from "./search";

export type Endpoint = paths["/api/v1/endpoints/{id}"]["get"]["responses"]["200"]["content"]["application/json"];

export const endpointsQuery = (environment: Environment, search: EndpointsSearch) =>
	infiniteQueryOptions({
		queryKey: ["endpoints", environment, search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) =>
			bodyOf(
				client.GET("/api/v1/endpoints", {
					signal,
					params: { query: { limit: 100, cursor, environment, product: search.product, tenant_id: search.tenant, enabled: search.state && (search.state === "enabled" ? "true" : "false") } },
				}),
			),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export type Draft = { tenant_id: string; environment: Environment; url: string; event_types: string[]; description?: string; rate_per_minute?: number; filter?: string; ordered: boolean } & ReceiverSettings;

export const createEndpoint = (body: Draft) => bodyOf(client.POST("/api/v1/endpoints", { body }));
