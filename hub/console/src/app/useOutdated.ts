import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";

/** useOutdated returns since when something on the page is not current, as its last reading failed; 0 is never. */
export function useOutdated(): number {
	const queries = useQueryClient();
	const subscribe = useCallback((changed: () => void) => queries.getQueryCache().subscribe(changed), [queries]);
	return useSyncExternalStore(subscribe, () => outdatedSince(queries));
}

// A further page that could not be read is no matter of age: its list says so.
function outdatedSince(queries: QueryClient): number {
	const failed = queries.getQueryCache().findAll({ type: "active", predicate: ({ state }) => state.status === "error" && state.data !== undefined && !state.fetchMeta?.fetchMore });
	return failed.length === 0 ? 0 : Math.min(...failed.map(({ state }) => state.dataUpdatedAt));
}
