import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";

export const integrationQuery = (id: string) =>
	queryOptions({
		queryKey: ["integration", id],
		queryFn: () => bodyOf(client.GET("/api/v1/integrations/{id}", { params: { path: { id } } })),
		refetchInterval: (query) => (query.state.data?.next_registration_at ? 5000 : 30_000),
	});

const at = (id: string) => ({ params: { path: { id } } });

export const setOrdered = (id: string, ordered: boolean) => bodyOf(client.PUT("/api/v1/integrations/{id}", { ...at(id), body: { ordered } }));
export const testIntegration = (id: string) => bodyOf(client.POST("/api/v1/integrations/{id}/test", at(id)));
export const enableIntegration = (id: string) => bodyOf(client.POST("/api/v1/integrations/{id}/enable", at(id)));
export const disableIntegration = (id: string) => bodyOf(client.POST("/api/v1/integrations/{id}/disable", at(id)));
export const revokeIntegration = (id: string) => bodyOf(client.DELETE("/api/v1/integrations/{id}", at(id)));
export const rotateSecret = (id: string, overlap_seconds: number) => bodyOf(client.POST("/api/v1/integrations/{id}/rotate-secret", { ...at(id), body: { overlap_seconds } }));
