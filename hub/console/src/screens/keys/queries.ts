import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import { pollingOf } from "../../ui/polling";
import type { KeysSearch } from "./search";

export type Key = paths["/api/v1/keys"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];

export const keysQuery = (environment: Environment, search: KeysSearch) =>
	infiniteQueryOptions({
		queryKey: ["keys", environment, search],
		initialPageParam: undefined as string | undefined,
		refetchInterval: pollingOf(15_000), // the use counts on
		queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/keys", { signal, params: { query: { limit: 100, cursor, environment, product: search.product, tenant_id: search.tenant } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export type Draft = { tenant_id: string; name?: string; environment: Environment; scopes?: string[]; rate?: string; expires_at?: string };

export const createKey = (body: Draft) => bodyOf(client.POST("/api/v1/keys", { body }));
export const rotateKey = (id: string, overlap_seconds: number) => bodyOf(client.POST("/api/v1/keys/{id}/rotate", { params: { path: { id } }, body: { overlap_seconds } }));
export const revokeKey = (id: string) => bodyOf(client.DELETE("/api/v1/keys/{id}", { params: { path: { id } } }));
