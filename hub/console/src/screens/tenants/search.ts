import { matching } from "../../app/search";

/** TenantsSearch is the list's state in the URL. */
export type TenantsSearch = { product?: string; q?: string };

export const tenantsSearch = (search: Record<string, unknown>): TenantsSearch => ({ product: matching(/^[a-z0-9-]{1,40}$/, search.product), q: matching(/^.{1,120}$/, search.q) });
