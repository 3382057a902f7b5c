import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../api/client";
import type { ProductName } from "../../app/hosted";
import type { Peer } from "../../ui/connect/PeerForm";
import { logFiltersOf } from "../../ui/deliveries/apiFilters";
import { pagedDeliveries } from "../../ui/deliveries/paging";
import type { DeliverySearch } from "../../ui/deliveries/search";
import { bodyOf, type Integration, sharedClient } from "../client";

/** inEnvironment is the header that chooses live or test data. */
export const inEnvironment = (environment: Environment) => ({ "X-Environment": environment });

const header = (environment: Environment) => ({ params: { header: inEnvironment(environment) } });
const at = (environment: Environment, id: string) => ({ params: { header: inEnvironment(environment), path: { id } } });

export const integrationsKey = (product: ProductName, environment: Environment) => ["account", product, "integrations", environment] as const;

/** integrationsQuery reads all connections of the tenant; there are few. */
export const integrationsQuery = (product: ProductName, environment: Environment) =>
	queryOptions({
		queryKey: integrationsKey(product, environment),
		queryFn: ({ signal }): Promise<Integration[]> => bodyOf(sharedClient(product).GET("/api/v1/integrations", { signal, ...header(environment) })),
	});

/** integrationQuery reads one connection, again and again: its state changes by itself. */
export const integrationQuery = (product: ProductName, environment: Environment, id: string) =>
	queryOptions({
		queryKey: [...integrationsKey(product, environment), id],
		queryFn: ({ signal }): Promise<Integration> => bodyOf(sharedClient(product).GET("/api/v1/integrations/{id}", { signal, ...at(environment, id) })),
		refetchInterval: ({ state }) => (state.data && !state.data.revoked_at && state.data.status === "error" ? 5000 : 30_000),
	});

/** connect connects a peer. The products respond in shapes of their own, so it is read anew. */
export async function connect(product: ProductName, environment: Environment, peer: Peer): Promise<Integration> {
	const client = sharedClient(product);
	await bodyOf(client.POST("/api/v1/integrations/connect", { ...header(environment), body: peer }));
	const list = await bodyOf(client.GET("/api/v1/integrations", header(environment)));
	const made = list.find((integration) => integration.product === peer.product && !integration.revoked_at);
	if (!made) throw new Error(peer.product);
	return made;
}

/** integrationActs are what can be done with a connection. */
export const integrationActs = (product: ProductName, environment: Environment, id: string) => {
	const client = sharedClient(product);
	const path = at(environment, id);
	return {
		test: () => bodyOf(client.POST("/api/v1/integrations/{id}/test", path)),
		enable: () => bodyOf(client.POST("/api/v1/integrations/{id}/enable", path)),
		disable: () => bodyOf(client.POST("/api/v1/integrations/{id}/disable", path)),
		revoke: () => bodyOf(client.DELETE("/api/v1/integrations/{id}", path)),
		rotate: async (overlap_seconds: number) => (await bodyOf(client.POST("/api/v1/integrations/{id}/rotate-secret", { ...path, body: { overlap_seconds } }))).webhook_secret,
	};
};

export const keysKey = (product: ProductName) => ["account", product, "keys"] as const;

export const keysQuery = (product: ProductName, environment: Environment) =>
	infiniteQueryOptions({
		queryKey: [...keysKey(product), environment],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) =>
			bodyOf(sharedClient(product).GET("/api/v1/integrations/api-keys", { signal, params: { header: inEnvironment(environment), query: { limit: 100, cursor } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

/** keyActs are what can be done with keys. */
export const keyActs = (product: ProductName, environment: Environment) => {
	const client = sharedClient(product);
	return {
		create: (draft: { name?: string; scopes?: string[]; expires_at?: string }) => bodyOf(client.POST("/api/v1/integrations/api-keys", { ...header(environment), body: draft })),
		rotate: (id: string, overlap_seconds: number) => bodyOf(client.POST("/api/v1/integrations/api-keys/{id}/rotate", { ...at(environment, id), body: { overlap_seconds } })),
		revoke: (id: string) => bodyOf(client.DELETE("/api/v1/integrations/api-keys/{id}", at(environment, id))),
	};
};

const logKey = (product: ProductName, environment: Environment) => ["account", product, "log", environment] as const;

/** logQuery reads the tenant's log page by page. */
export const logQuery = (product: ProductName, environment: Environment, search: DeliverySearch, phone: string) =>
	pagedDeliveries([...logKey(product, environment), search, phone], (page, signal) =>
		bodyOf(sharedClient(product).GET("/api/v1/integrations/webhook-logs", { signal, params: { header: inEnvironment(environment), query: { ...page, ...logFiltersOf(search), phone: phone || undefined } } })),
	);

export const deliveryQuery = (product: ProductName, environment: Environment, id: string) =>
	queryOptions({
		queryKey: ["account", product, "delivery", environment, id],
		queryFn: ({ signal }) => bodyOf(sharedClient(product).GET("/api/v1/integrations/webhook-logs/{id}", { signal, ...at(environment, id) })),
		refetchInterval: ({ state }) => (state.data?.status === "pending" ? 2000 : state.data?.status === "parked" ? 10_000 : false),
	});

export const retryDelivery = (product: ProductName, environment: Environment, id: string) => bodyOf(sharedClient(product).POST("/api/v1/integrations/webhook-logs/{id}/retry", at(environment, id)));
