import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../../api/client";
import type { components } from "../../api/clinic";
import { bodyOf, clinic } from "../../client";
import { nextPage, pageSize } from "../pages";
import { inEnvironment } from "../queries";
import type { DeletionsSearch } from "./search";

export type Deletion = components["schemas"]["Deletion"];
export type DeletionPeer = components["schemas"]["DeletionPeer"];

export const deletionsKey = ["account", "clinic", "deletions"] as const;

export const deletionsQuery = (environment: Environment, search: DeletionsSearch) =>
	infiniteQueryOptions({
		queryKey: [...deletionsKey, environment, search],
		initialPageParam: 1,
		queryFn: ({ pageParam: page, signal }) => bodyOf(clinic.GET("/api/v1/deletion-requests", { signal, params: { header: inEnvironment(environment), query: { page, per_page: pageSize, status: search.status } } })),
		getNextPageParam: nextPage,
	});

export const deletionQuery = (environment: Environment, id: string) =>
	queryOptions({
		queryKey: ["account", "clinic", "deletion", environment, id],
		queryFn: ({ signal }) => bodyOf(clinic.GET("/api/v1/deletion-requests/{id}", { signal, params: { header: inEnvironment(environment), path: { id } } })),
		refetchInterval: (query) => (query.state.data && query.state.data.status !== "completed" ? 5000 : false),
	});

/** usersQuery reads who works in the clinic: acknowledgements name them by id. */
export const usersQuery = queryOptions({
	queryKey: ["account", "clinic", "users"],
	staleTime: 60_000,
	queryFn: ({ signal }) => bodyOf(clinic.GET("/api/v1/users", { signal })),
});

export const acknowledge = (environment: Environment, id: string, product: string, note?: string) =>
	bodyOf(clinic.POST("/api/v1/deletion-requests/{id}/peers/{product}/acknowledge", { params: { header: inEnvironment(environment), path: { id, product } }, body: { note } }));
