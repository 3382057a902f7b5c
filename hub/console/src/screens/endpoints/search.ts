import { matching, oneOf, tokenParser, uuid } from "../../app/search";

/** EndpointsSearch is the list's state in the URL. */
export type EndpointsSearch = { state?: "enabled" | "disabled"; product?: string; tenant?: string };
export const tokenNames = ["product", "tenant"] as const;
export const states = ["enabled", "disabled"] as const;

export const endpointsSearch = (search: Record<string, unknown>): EndpointsSearch => ({
	state: oneOf(states, search.state),
	product: matching(/^[a-z0-9-]{1,40}$/, search.product),
	tenant: matching(uuid, search.tenant),
});

export const parseToken = tokenParser(tokenNames, endpointsSearch);
