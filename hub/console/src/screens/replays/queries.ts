import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import { pollingOf } from "../../ui/polling";
import type { ReplaysSearch } from "./search";

export type Replay = paths["/api/v1/replays/{id}"]["get"]["responses"]["200"]["content"]["application/json"];
export type Filter = paths["/api/v1/replays"]["post"]["requestBody"]["content"]["application/json"]["filter"];

export const replaysQuery = infiniteQueryOptions({
	queryKey: ["replays"],
	initialPageParam: undefined as string | undefined,
	refetchInterval: pollingOf(5000),
	queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/replays", { signal, params: { query: { limit: 100, cursor } } })),
	getNextPageParam: (last) => last.next_cursor ?? undefined,
});

/** filterOf returns what the API calls the filter of the address. */
export const filterOf = (environment: Environment, search: ReplaysSearch): Filter => ({
	environment,
	status: search.status ?? "failing",
	product: search.product,
	tenant_id: search.tenant,
	endpoint_id: search.endpoint,
	integration_id: search.integration,
	event_type: search.type,
	since: search.since,
	until: search.until,
});

export async function countReplay(filter: Filter): Promise<number> {
	const preview = await bodyOf(client.POST("/api/v1/replays", { body: { filter, dry_run: true } }));
	return (preview as unknown as { count: number }).count;
}

export async function startReplay(filter: Filter): Promise<Replay> {
	return (await bodyOf(client.POST("/api/v1/replays", { body: { filter } }))) as unknown as Replay;
}

/** filterText is a replay's filter as tokens. */
export const filterText = ({ filter }: Replay): string =>
	Object.entries(filter)
		.filter(([, value]) => value !== null && value !== undefined && value !== "")
		.map(([name, value]) => `${name}:${String(value)}`)
		.join(" ") || "–";
