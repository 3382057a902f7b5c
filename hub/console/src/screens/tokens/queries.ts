import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";

export type Token = paths["/api/v1/tokens"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
export type Draft = paths["/api/v1/tokens"]["post"]["requestBody"]["content"]["application/json"];

export const tokensQuery = infiniteQueryOptions({
	queryKey: ["tokens"],
	initialPageParam: undefined as string | undefined,
	queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/tokens", { signal, params: { query: { limit: 100, cursor } } })),
	getNextPageParam: (last) => last.next_cursor ?? undefined,
});

export const createToken = (body: Draft) => bodyOf(client.POST("/api/v1/tokens", { body }));
export const deleteToken = (id: string) => bodyOf(client.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } }));
