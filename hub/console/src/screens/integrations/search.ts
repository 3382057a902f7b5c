import { matching, oneOf, tokenParser, uuid } from "../../app/search";

export const statuses = ["active", "inactive", "error"] as const;

/** IntegrationsSearch is the list's state in the URL. */
export type IntegrationsSearch = { status?: (typeof statuses)[number]; product?: string; tenant?: string };

export const integrationsSearch = (search: Record<string, unknown>): IntegrationsSearch => ({
	status: oneOf(statuses, search.status),
	product: matching(/^[a-z0-9-]{1,40}$/, search.product),
	tenant: matching(uuid, search.tenant),
});

export const tokenNames = ["product", "tenant"] as const;
export const parseToken = tokenParser(tokenNames, integrationsSearch);
