import createClient, { type Client } from "openapi-fetch";
import { ApiError } from "../api/client";
import { basePath, type ProductName } from "../app/hosted";
import type { components as ClinicComponents, paths as ClinicPaths } from "./api/clinic";
import type { components as MessagingComponents, paths as MessagingPaths } from "./api/messaging";
import type { components as SchedulingComponents, paths as SchedulingPaths } from "./api/scheduling";
import { send } from "./tokens";

export { bodyOf } from "../api/client";

const prefix = "/api/v1/integrations";

/** SharedPaths are those of the integration interface, which every product has. */
type SharedPaths = Pick<
	MessagingPaths,
	| typeof prefix
	| `${typeof prefix}/{id}`
	| `${typeof prefix}/{id}/test`
	| `${typeof prefix}/{id}/enable`
	| `${typeof prefix}/{id}/disable`
	| `${typeof prefix}/{id}/rotate-secret`
	| `${typeof prefix}/connect`
	| `${typeof prefix}/api-keys`
	| `${typeof prefix}/api-keys/{id}`
	| `${typeof prefix}/api-keys/{id}/rotate`
	| `${typeof prefix}/webhook-logs`
	| `${typeof prefix}/webhook-logs/{id}`
	| `${typeof prefix}/webhook-logs/{id}/retry`
>;

/** Integration is a tenant's connection to another product. */
export type Integration = Omit<MessagingComponents["schemas"]["HubConnected"], "company_id">;
export type Key = MessagingComponents["schemas"]["HubIssuedKey"];
export type LogEntry = MessagingComponents["schemas"]["HubItem"];
export type LogDetail = MessagingComponents["schemas"]["HubDetail"];

// The other products' documents have the same shapes, or this does not compile.
type Same<Shape, Other extends Shape> = Other;
type Schemas = ClinicComponents["schemas"] | SchedulingComponents["schemas"];
export type Checked = [Same<Integration, Schemas["HubConnected"]>, Same<Key, Schemas["HubIssuedKey"]>, Same<LogEntry, Schemas["HubItem"]>, Same<LogDetail, Schemas["HubDetail"]>];

function clientOf<Paths extends object>(product: ProductName): Client<Paths> {
	const client = createClient<Paths>({ baseUrl: basePath(product), fetch: (request) => send(product, request) });
	client.use({ onError: ({ error }) => (error instanceof ApiError ? error : new ApiError(0)) });
	return client;
}

export const clinic = clientOf<ClinicPaths>("clinic");
export const messaging = clientOf<MessagingPaths>("messaging");
export const scheduling = clientOf<SchedulingPaths>("scheduling");

const clients: Record<ProductName, unknown> = { clinic, messaging, scheduling };

/** sharedClient returns the client of what every product has. */
export const sharedClient = (product: ProductName) => clients[product] as Client<SharedPaths>;
