import { matching, oneOf, time, tokenParser, uuid } from "../../app/search";

/** AuditSearch is the list's state in the URL. Names are those of the filter bar's tokens. */
export type AuditSearch = { action?: string; resource?: string; actor?: string; tenant?: string; id?: string; since?: string; until?: string; routine?: "1" };

export const tokenNames = ["action", "resource", "actor", "tenant", "id", "since", "until"] as const;

export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
	action: matching(/^[a-z0-9.-]{1,64}$/, search.action),
	resource: matching(/^[a-z0-9-]{1,64}$/, search.resource),
	actor: matching(/^\S{1,64}$/, search.actor),
	tenant: matching(uuid, search.tenant),
	id: matching(/^\S{1,64}$/, search.id),
	since: time(search.since),
	until: time(search.until),
	routine: oneOf(["1"], search.routine),
});

export const parseToken = tokenParser(tokenNames, auditSearch);

/** Actions that people look for, as the list offers them. */
export const actions = ["keys.create", "keys.rotate", "keys.revoke", "endpoints.update", "endpoints.rotate-secret", "endpoints.delete", "integrations.connect", "integrations.revoke", "integrations.rotate-secret", "replays.create", "replays.cancel", "operators.create", "operators.update", "operators.delete", "tokens.create", "tokens.delete", "session.create"] as const;
