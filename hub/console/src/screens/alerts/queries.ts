import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { rebase } from "../../ui/rebase";

export type Alert = paths["/api/v1/alerts"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
export type Draft = paths["/api/v1/alerts"]["post"]["requestBody"]["content"]["application/json"];
export type Settings = paths["/api/v1/alerts/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const alertsQuery = infiniteQueryOptions({
	queryKey: ["alerts"],
	initialPageParam: undefined as string | undefined,
	queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/alerts", { signal, params: { query: { limit: 100, cursor } } })),
	getNextPageParam: (last) => last.next_cursor ?? undefined,
});

export const createAlert = (body: Draft) => bodyOf(client.POST("/api/v1/alerts", { body }));

/** updateAlert changes what the form changed: the hub may have disabled the alert meanwhile. */
export async function updateAlert(shown: Alert, settings: Settings) {
	const at = { params: { path: { id: shown.id } } };
	const body = rebase(settings, shown, await bodyOf(client.GET("/api/v1/alerts/{id}", at)));
	return bodyOf(client.PUT("/api/v1/alerts/{id}", { ...at, body }));
}

export const deleteAlert = (id: string) => bodyOf(client.DELETE("/api/v1/alerts/{id}", { params: { path: { id } } }));
export const rotateSecret = (id: string, overlap_seconds: number) => bodyOf(client.POST("/api/v1/alerts/{id}/rotate-secret", { params: { path: { id } }, body: { overlap_seconds } }));
export const testAlert = (id: string) => bodyOf(client.POST("/api/v1/alerts/{id}/test", { params: { path: { id } } }));
