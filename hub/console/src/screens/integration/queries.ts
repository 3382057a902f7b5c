import { queryOptions } from "@tanstack/react-query";
import { client, read } from "../../api/client";

export const integrationQuery = (id: string) =>
	queryOptions({
		queryKey: ["integration", id],
		queryFn: () => read(client.GET("/api/v1/integrations/{id}", { params: { path: { id } } })),
		refetchInterval: (query) => (query.state.data?.next_registration_at ? 5000 : 30_000),
	});

const at = (id: string) => ({ params: { path: { id } } });

export const setOrdered = (id: string, ordered: boolean) => read(client.PUT("/api/v1/integrations/{id}", { ...at(id), body: { ordered } }));
export const testIntegration = (id: string) => read(client.POST("/api/v1/integrations/{id}/test", at(id)));
export const enableIntegration = (id: string) => read(client.POST("/api/v1/integrations/{id}/enable", at(id)));
export const disableIntegration = (id: string) => read(client.POST("/api/v1/integrations/{id}/disable", at(id)));
export const revokeIntegration = (id: string) => read(client.DELETE("/api/v1/integrations/{id}", at(id)));
export const rotateSecret = (id: string, overlap_seconds: number) => read(client.POST("/api/v1/integrations/{id}/rotate-secret", { ...at(id), body: { overlap_seconds } }));
