import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import type { AuditSearch } from "./search";

export type Entry = paths["/api/v1/audit"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];

export const auditQuery = (search: AuditSearch) =>
	infiniteQueryOptions({
		queryKey: ["audit", search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) =>
			bodyOf(
				client.GET("/api/v1/audit", {
					signal,
					params: {
						query: { limit: 100, cursor, action: search.action, resource: search.resource, actor_id: search.actor, tenant_id: search.tenant, resource_id: search.id, since: search.since, until: search.until, routine: search.routine ? "true" : "false" },
					},
				}),
			),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});
