import { queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../api/client";
import { readIntegrations } from "../integrations/queries";

/** connectionsQuery reads the newest integrations that were not revoked. */
export const connectionsQuery = (environment: Environment) =>
	queryOptions({ queryKey: ["integrations", environment, "map"], refetchInterval: 60_000, queryFn: () => readIntegrations(environment) });
