import { oneOf } from "../../../app/search";

export const statuses = ["waiting", "needs_attention", "completed"] as const;

/** DeletionsSearch is the list's state in the URL. */
export type DeletionsSearch = { status?: (typeof statuses)[number] };

export const deletionsSearch = (search: Record<string, unknown>): DeletionsSearch => ({ status: oneOf(statuses, search.status) });
