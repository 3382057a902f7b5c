import { matching, uuid } from "../../app/search";

/** KeysSearch is the list's state in the URL. */
export type KeysSearch = { product?: string; tenant?: string };
export const tokenNames = ["product", "tenant"] as const;

export const keysSearch = (search: Record<string, unknown>): KeysSearch => ({ product: matching(/^[a-z0-9-]{1,40}$/, search.product), tenant: matching(uuid, search.tenant) });

export const parseToken = (name: string, value: string) => {
	const checked = tokenNames.some((known) => known === name) && keysSearch({ [name]: value })[name as "product"];
	return checked ? { name, value: checked } : undefined;
};
