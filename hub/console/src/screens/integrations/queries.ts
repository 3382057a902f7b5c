import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import type { IntegrationsSearch } from "./search";

export type Integration = paths["/api/v1/integrations/{id}"]["get"]["responses"]["200"]["content"]["application/json"];

const pageSize = 100;

export const integrationsQuery = (environment: Environment, search: IntegrationsSearch) =>
	infiniteQueryOptions({
		queryKey: ["integrations", environment, search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) =>
			bodyOf(client.GET("/api/v1/integrations", { signal, params: { query: { environment, limit: pageSize, cursor, status: search.status, product: search.product, tenant_id: search.tenant } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

const maxPages = 5;

/** readIntegrations reads the 1000 newest integrations, without those that were revoked. */
export async function readIntegrations(environment: Environment): Promise<{ items: Integration[]; more: boolean }> {
	const items: Integration[] = [];
	let cursor: string | undefined;
	for (let pages = 0; pages < maxPages; pages++) {
		const page = await bodyOf(client.GET("/api/v1/integrations", { params: { query: { environment, limit: 200, cursor } } }));
		items.push(...page.items.filter((integration) => !integration.revoked_at));
		cursor = page.next_cursor ?? undefined;
		if (!cursor) break;
	}
	return { items, more: cursor !== undefined };
}

/** receiversQuery reads the last 24 hours of the busiest receivers, by id. */
export const receiversQuery = queryOptions({
	queryKey: ["stats", "receivers"],
	refetchInterval: 60_000,
	queryFn: () => bodyOf(client.GET("/api/v1/stats/receivers")),
	select: (receivers) => new Map(receivers.items.map((receiver) => [receiver.receiver_id, receiver])),
});
