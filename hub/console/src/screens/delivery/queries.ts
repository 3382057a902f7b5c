import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { Delivery } from "../../ui/delivery/types";

export const deliveryQuery = (id: string) =>
	queryOptions({
		queryKey: ["delivery", id],
		queryFn: () => bodyOf(client.GET("/api/v1/deliveries/{id}", { params: { path: { id } } })),
		refetchInterval: (query) => (query.state.data?.status === "pending" ? 2000 : query.state.data?.status === "parked" ? 10_000 : false),
	});

export type Receiver = { kind: "endpoint" | "integration"; id: string; url?: string; name?: string; ordered?: boolean };

/** receiverQuery reads where a delivery goes; a receiver that was deleted has no address. */
export const receiverQuery = (delivery?: Delivery) =>
	queryOptions({
		queryKey: ["receiver", delivery?.endpoint_id ?? delivery?.integration_id],
		enabled: Boolean(delivery?.endpoint_id ?? delivery?.integration_id),
		staleTime: 60_000,
		queryFn: async (): Promise<Receiver> => {
			if (delivery?.endpoint_id) {
				const id = delivery.endpoint_id;
				if (delivery.tenant_id === null) {
					const alert = await bodyOf(client.GET("/api/v1/alerts/{id}", { params: { path: { id } } }));
					return { kind: "endpoint", id, url: alert.kind === "webhook" ? alert.target : undefined };
				}
				const endpoint = await bodyOf(client.GET("/api/v1/endpoints/{id}", { params: { path: { id } } }));
				return { kind: "endpoint", id, url: endpoint.url, name: endpoint.description, ordered: endpoint.ordered };
			}
			const id = delivery?.integration_id ?? "";
			const integration = await bodyOf(client.GET("/api/v1/integrations/{id}", { params: { path: { id } } }));
			return { kind: "integration", id, url: integration.peer_webhook_url ?? integration.api_url, name: integration.product, ordered: integration.ordered };
		},
	});

export const discardDelivery = (id: string) => bodyOf(client.POST("/api/v1/deliveries/{id}/discard", { params: { path: { id } } }));
export const retryDelivery = (id: string) => bodyOf(client.POST("/api/v1/deliveries/{id}/retry", { params: { path: { id } } }));
