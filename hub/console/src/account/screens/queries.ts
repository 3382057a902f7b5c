import { queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../api/client";
import type { ProductName } from "../../app/hosted";
import { read, sharedClient } from "../client";

/** inEnvironment is the header that chooses live or test data. */
export const inEnvironment = (environment: Environment) => ({ "X-Environment": environment });

/** integrationsQuery reads all connections of the tenant; there are few. */
export const integrationsQuery = (product: ProductName, environment: Environment) =>
	queryOptions({
		queryKey: ["account", product, "integrations", environment],
		queryFn: ({ signal }) => read(sharedClient(product).GET("/api/v1/integrations", { signal, params: { header: inEnvironment(environment) } })),
	});
