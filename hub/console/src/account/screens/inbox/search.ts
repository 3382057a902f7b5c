import { matching, oneOf, uuid } from "../../../app/search";

/** statuses are those that the list is asked for; open is the default. */
export const statuses = ["open", "linked", "dismissed"] as const;

/** InboxSearch is the list's state in the URL. entry is the one whose window is open. */
export type InboxSearch = { status?: "linked" | "dismissed"; entry?: string };

export const inboxSearch = (search: Record<string, unknown>): InboxSearch => ({ status: oneOf(["linked", "dismissed"], search.status), entry: matching(uuid, search.entry) });
