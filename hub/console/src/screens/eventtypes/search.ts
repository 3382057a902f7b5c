import { matching, tokenParser } from "../../app/search";

/** EventTypesSearch is the list's state in the URL. */
export type EventTypesSearch = { product?: string };
export const tokenNames = ["product"] as const;

export const eventTypesSearch = (search: Record<string, unknown>): EventTypesSearch => ({ product: matching(/^[a-z0-9-]{1,40}$/, search.product) });

export const parseToken = tokenParser(tokenNames, eventTypesSearch);
