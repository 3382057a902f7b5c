import { ignoredOf, matching, oneOf, time, tokenParser, uuid } from "../../app/search";

export const statuses = ["failing", "parked", "failed", "delivered"] as const;

/** ReplaysSearch is the filter of a new replay in the URL. Without a status it is failing. */
export type ReplaysSearch = { status?: (typeof statuses)[number]; type?: string; product?: string; tenant?: string; endpoint?: string; integration?: string; since?: string; until?: string };
export const tokenNames = ["type", "product", "tenant", "endpoint", "integration", "since", "until"] as const;

export const replaysSearch = (search: Record<string, unknown>): ReplaysSearch => ({
	status: oneOf(statuses.slice(1), search.status),
	type: matching(/^[a-z0-9_.-]{1,128}$/i, search.type),
	product: matching(/^[a-z0-9-]{1,40}$/, search.product),
	tenant: matching(uuid, search.tenant),
	endpoint: matching(uuid, search.endpoint),
	integration: matching(uuid, search.integration),
	since: time(search.since),
	until: time(search.until),
});

/** ReplayFormSearch also has the filters of the address that are none, as name:value. */
export type ReplayFormSearch = ReplaysSearch & { ignored?: string };

/** replayFormSearch remembers the filters that are not valid: without them more would be sent than was meant. */
export function replayFormSearch(search: Record<string, unknown>): ReplayFormSearch {
	const kept = replaysSearch(search);
	return { ...kept, ignored: ignoredOf(search.status === statuses[0] ? tokenNames : ["status", ...tokenNames], search, kept) };
}

export const parseToken = tokenParser(tokenNames, replaysSearch);
