import { queryOptions } from "@tanstack/react-query";
import { client, type Environment, read } from "../../api/client";

const limit = 500;

/** connectionsQuery reads the newest integrations that were not revoked. */
export const connectionsQuery = (environment: Environment) =>
	queryOptions({
		queryKey: ["integrations", environment, "map"],
		refetchInterval: 60_000,
		queryFn: async () => {
			const { items, next_cursor } = await read(client.GET("/api/v1/integrations", { params: { query: { environment, limit } } }));
			return { items: items.filter((integration) => !integration.revoked_at), next_cursor };
		},
	});
