import { ignoredOf, matching, oneOf, time, uuid } from "../../app/search";
import type { Token } from "../FilterBar";

export const statuses = ["pending", "delivered", "parked", "failed"] as const;
export const directions = ["inbound", "outbound"] as const;

/** DeliverySearch is the list's state in the URL. */
export type DeliverySearch = {
	status?: (typeof statuses)[number];
	direction?: (typeof directions)[number];
	type?: string;
	product?: string;
	code?: string;
	correlation?: string;
	tenant?: string;
	endpoint?: string;
	integration?: string;
	event?: string;
	since?: string;
	until?: string;
	q?: string;
};

/** LogSearch is the filters, and those of the address that are none, as name:value. */
export type LogSearch = DeliverySearch & { ignored?: string };

/** DeliveryListSearch also has whether the list is watched live. */
export type DeliveryListSearch = LogSearch & { live?: "1" };

// How each value is checked. The names are those of the filter bar's tokens.
const checks: { [name in keyof DeliverySearch]-?: (value: unknown) => DeliverySearch[name] } = {
	status: (value) => oneOf(statuses, value),
	direction: (value) => oneOf(directions, value),
	type: (value) => matching(/^[a-z0-9_.-]{1,128}$/i, value),
	product: (value) => matching(/^[a-z0-9-]{1,40}$/, value),
	code: (value) => matching(/^[1-9]\d{2}$/, value),
	correlation: (value) => matching(/^\S{1,200}$/, value),
	tenant: (value) => matching(uuid, value),
	endpoint: (value) => matching(uuid, value),
	integration: (value) => matching(uuid, value),
	event: (value) => matching(/^\S{1,64}$/, value),
	since: time,
	until: time,
	q: (value) => matching(/^.{1,200}$/, value),
};

export const filterNames = Object.keys(checks) as (keyof DeliverySearch)[];

/** deliverySearch keeps what is valid; the rest is undefined, which hides what the address has. */
export function deliverySearch(search: Record<string, unknown>): DeliverySearch {
	return Object.fromEntries(filterNames.map((name) => [name, checks[name](search[name])]));
}

/** logSearch is deliverySearch, and remembers the filters that are not valid: without them the list shows more than was asked for. */
export function logSearch(search: Record<string, unknown>): LogSearch {
	const kept = deliverySearch(search);
	return { ...kept, ignored: ignoredOf(filterNames, search, kept) };
}

export const deliveryListSearch = (search: Record<string, unknown>): DeliveryListSearch => ({ ...logSearch(search), live: oneOf(["1"], search.live) });

export function parseToken(name: string, value: string): Token | undefined {
	if (!(name in checks)) return undefined;
	const checked = checks[name as keyof DeliverySearch](value);
	return checked === undefined ? undefined : { name, value: checked };
}

/** tokensOf returns the filters that are set, as tokens. */
export function tokensOf(search: DeliverySearch): Token[] {
	return filterNames.flatMap((name) => (search[name] === undefined ? [] : [{ name, value: search[name] }]));
}
