import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";

export type Operator = paths["/api/v1/operators"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
export type Draft = paths["/api/v1/operators"]["post"]["requestBody"]["content"]["application/json"];
export type Change = paths["/api/v1/operators/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const operatorsQuery = infiniteQueryOptions({
	queryKey: ["operators"],
	initialPageParam: undefined as string | undefined,
	queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/operators", { signal, params: { query: { limit: 100, cursor } } })),
	getNextPageParam: (last) => last.next_cursor ?? undefined,
});

export const createOperator = (body: Draft) => bodyOf(client.POST("/api/v1/operators", { body }));
export const updateOperator = (id: string, body: Change) => bodyOf(client.PUT("/api/v1/operators/{id}", { params: { path: { id } }, body }));
export const deleteOperator = (id: string) => bodyOf(client.DELETE("/api/v1/operators/{id}", { params: { path: { id } } }));
