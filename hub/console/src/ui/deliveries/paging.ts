import { infiniteQueryOptions } from "@tanstack/react-query";
import type { components } from "../../api/schema";

/** Listed is a delivery in a list of the log: the hub's and the products' APIs have the same. */
export type Listed = components["schemas"]["Item"];

/** Row is a delivery as the list keeps it: without its bodies, which would fill the memory. */
export type Row = Omit<Listed, "payload" | "response_body">;

export const pageSize = 100;
const keptPages = 6; // of the list, in memory

/** Place names a page: its number, and the cursor that leads to it. */
type Place = { number: number; cursor?: string };
export type Page = { number: number; rows: Row[]; next: string | null };

/** rowOf keeps of a delivery what the list shows. */
export const rowOf = ({ payload: _, response_body: __, ...row }: Listed): Row => row;

type Reader = (query: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<{ items: Listed[]; next_cursor: string | null }>;

/**
 * pagedDeliveries reads a list page by page. Pages far from the visible one are dropped, and
 * read again by the cursor that led to them.
 */
export function pagedDeliveries(queryKey: readonly unknown[], readPage: Reader) {
	const cursors = new Map<number, string | undefined>();
	return infiniteQueryOptions({
		queryKey,
		initialPageParam: { number: 0 } as Place,
		maxPages: keptPages,
		staleTime: Number.POSITIVE_INFINITY, // rows do not move under the pointer: Refresh reads anew
		gcTime: 60_000,
		queryFn: async ({ pageParam: { number, cursor }, signal }): Promise<Page> => {
			cursors.set(number, cursor);
			const page = await readPage({ limit: pageSize, cursor }, signal);
			return { number, rows: page.items.map(rowOf), next: page.next_cursor };
		},
		getNextPageParam: (last): Place | undefined => (last.next ? { number: last.number + 1, cursor: last.next } : undefined),
		getPreviousPageParam: (first): Place | undefined => (first.number > 0 ? { number: first.number - 1, cursor: cursors.get(first.number - 1) } : undefined),
	});
}
