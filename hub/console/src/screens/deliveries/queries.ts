import { infiniteQueryOptions } from "@tanstack/react-query";
import { client, type Environment, read } from "../../api/client";
import type { paths } from "../../api/schema";
import type { DeliverySearch } from "./search";

export type Listed = paths["/api/v1/deliveries"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];

/** Row is a delivery as the list keeps it: without its bodies, which would fill the memory. */
export type Row = Omit<Listed, "payload" | "response_body">;

export const pageSize = 100;
const keptPages = 6; // of the list, in memory

/** Place names a page: its number, and the cursor that leads to it. */
type Place = { number: number; cursor?: string };
export type Page = { number: number; rows: Row[]; next: string | null };

/** filtersOf returns a list's filters as the API names them. */
export const filtersOf = (environment: Environment, search: DeliverySearch) => ({
	environment,
	status: search.status,
	direction: search.direction,
	event_type: search.type,
	product: search.product,
	status_code: search.code ? Number(search.code) : undefined,
	correlation_id: search.correlation,
	tenant_id: search.tenant,
	endpoint_id: search.endpoint,
	integration_id: search.integration,
	event_id: search.event,
	since: search.since,
	until: search.until,
	q: search.q,
});

/** rowOf keeps of a delivery what the list shows. */
export const rowOf = ({ payload: _, response_body: __, ...row }: Listed): Row => row;

/**
 * deliveriesQuery reads the list page by page. Pages far from the visible one are dropped, and
 * read again by the cursor that led to them.
 */
export function deliveriesQuery(environment: Environment, search: DeliverySearch) {
	const cursors = new Map<number, string | undefined>();
	return infiniteQueryOptions({
		queryKey: ["deliveries", environment, search],
		initialPageParam: { number: 0 } as Place,
		maxPages: keptPages,
		staleTime: Number.POSITIVE_INFINITY, // rows do not move under the pointer: Refresh reads anew
		gcTime: 60_000,
		queryFn: async ({ pageParam: { number, cursor }, signal }): Promise<Page> => {
			cursors.set(number, cursor);
			const page = await read(
				client.GET("/api/v1/deliveries", {
					signal,
					params: {
						query: { limit: pageSize, cursor, ...filtersOf(environment, search) },
					},
				}),
			);
			return { number, rows: page.items.map(rowOf), next: page.next_cursor };
		},
		getNextPageParam: (last): Place | undefined => (last.next ? { number: last.number + 1, cursor: last.next } : undefined),
		getPreviousPageParam: (first): Place | undefined => (first.number > 0 ? { number: first.number - 1, cursor: cursors.get(first.number - 1) } : undefined),
	});
}
