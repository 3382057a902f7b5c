import { infiniteQueryOptions } from "@tanstack/react-query";
import type { components } from "../../api/schema";

/** Listed is a delivery in a list of the log: the hub's and the products' APIs have the same. */
export type Listed = components["schemas"]["Item"];

/** Row is a delivery as the list keeps it: without its bodies, which would fill the memory. */
export type Row = Omit<Listed, "payload" | "response_body">;

export const pageSize = 100;
const keptPages = 6; // of the list, in memory

/**
 * Place names a page: its number, the cursor that leads to it, and those that led to the pages
 * before it, so that dropped pages are found again as long as the list is kept. newest is the
 * first page as it was when the second was read: the log grows above it.
 */
type Place = { number: number; cursor?: string; trail: (string | undefined)[]; newest?: Page };
export type Page = { number: number; rows: Row[]; next: string | null };

/** rowOf keeps of a delivery what the list shows. */
export const rowOf = ({ payload: _, response_body: __, ...row }: Listed): Row => row;

type Reader = (query: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<{ items: Listed[]; next_cursor: string | null }>;

/**
 * pagedDeliveries reads a list page by page. Pages far from the visible one are dropped, and
 * read again by the cursor that led to them. The first one keeps its rows, as no cursor leads to it.
 */
export function pagedDeliveries(queryKey: readonly unknown[], readPage: Reader) {
	return infiniteQueryOptions({
		queryKey,
		initialPageParam: { number: 0, trail: [] } as Place,
		maxPages: keptPages,
		staleTime: Number.POSITIVE_INFINITY, // rows do not move under the pointer: Refresh reads anew
		gcTime: 60_000,
		queryFn: async ({ pageParam: { number, cursor, newest }, direction, signal }): Promise<Page> => {
			const page = await readPage({ limit: pageSize, cursor }, signal);
			const rows = page.items.map(rowOf);
			if (number > 0 || direction === "forward" || !newest) return { number, rows, next: page.next_cursor };
			const present = new Map(rows.map((row) => [row.id, row]));
			return { ...newest, rows: newest.rows.map((row) => present.get(row.id) ?? row) };
		},
		getNextPageParam: (last, _, place): Place | undefined =>
			last.next ? { number: last.number + 1, cursor: last.next, trail: [...place.trail, place.cursor], newest: last.number === 0 ? last : place.newest } : undefined,
		getPreviousPageParam: (first, _, place): Place | undefined => (first.number > 0 ? { number: first.number - 1, cursor: place.trail.at(-1), trail: place.trail.slice(0, -1), newest: place.newest } : undefined),
	});
}
