import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import { readIntegrations } from "../integrations/queries";

export type Tenant = paths["/api/v1/tenants/{id}"]["get"]["responses"]["200"]["content"]["application/json"];

const limit = 100; // of tenants of a product; others are found by name

/** localTenantsQuery reads the tenants of the products that this hub runs. */
export const localTenantsQuery = (q: string) =>
	queryOptions({
		queryKey: ["tenants", "hosted", q],
		queryFn: async (): Promise<Tenant[]> => {
			const products = await bodyOf(client.GET("/api/v1/products", { params: { query: { limit } } }));
			const hosted = products.items.filter((product) => product.hosted);
			const lists = await Promise.all(hosted.map(({ name }) => bodyOf(client.GET("/api/v1/tenants", { params: { query: { product: name, limit, q: q || undefined } } }))));
			return lists.flatMap((list) => list.items);
		},
	});

/** connectedQuery reads the connections there are, as pairs of a tenant and a peer's account. */
export const connectedQuery = (environment: Environment) =>
	queryOptions({
		queryKey: ["integrations", environment, "connected"],
		queryFn: async () => {
			const { items } = await readIntegrations(environment);
			return new Set(items.map((integration) => `${integration.tenant_id} ${integration.peer_account}`));
		},
	});

export type Wanted = { tenant_id: string; product: string; api_url: string; api_key: string };

export const link = (environment: Environment, a: Tenant, b: Tenant) => bodyOf(client.POST("/api/v1/integrations/link", { body: { tenant_id: a.id, peer_tenant_id: b.id, environment } })).then(({ integrations }) => integrations[0]!);
export const connect = (environment: Environment, wanted: Wanted) => bodyOf(client.POST("/api/v1/integrations/connect", { body: { ...wanted, environment } }));
