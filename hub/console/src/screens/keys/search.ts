import { matching, tokenParser, uuid } from "../../app/search";

/** KeysSearch is the list's state in the URL. */
export type KeysSearch = { product?: string; tenant?: string };
export const tokenNames = ["product", "tenant"] as const;

export const keysSearch = (search: Record<string, unknown>): KeysSearch => ({ product: matching(/^[a-z0-9-]{1,40}$/, search.product), tenant: matching(uuid, search.tenant) });

export const parseToken = tokenParser(tokenNames, keysSearch);
