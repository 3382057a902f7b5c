import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { Row } from "../../ui/deliveries/paging";

/** Step is an event and what became of it. */
export type Step = { id: string; at: string; type: string; product: string; tenant: string; tenantID: string | null; inbound: boolean; deliveries: Row[] };

export type Journey = { steps: Step[]; deliveries: number; partial: boolean };

/** journeyQuery reads everything with a correlation id, in the order of time. */
export const journeyQuery = (environment: Environment, correlation: string) =>
	queryOptions({
		queryKey: ["journey", environment, correlation],
		enabled: correlation !== "",
		queryFn: async ({ signal }): Promise<Journey> => {
			const page = await bodyOf(client.GET("/api/v1/deliveries", { signal, params: { query: { limit: 200, environment, correlation_id: correlation } } }));
			const steps = new Map<string, Step>();
			for (const { payload: _, response_body: __, ...row } of page.items.toReversed()) {
				// A webhook that came in is a step of its own: it has the id of the sender's event.
				const key = `${row.direction} ${row.event_id || row.id} ${row.tenant_id}`;
				const step = steps.get(key) ?? { id: row.event_id, at: row.created_at, type: row.event_type, product: row.product, tenant: row.tenant_name, tenantID: row.tenant_id, inbound: row.direction === "inbound", deliveries: [] };
				step.deliveries.push(row);
				steps.set(key, step);
			}
			return { steps: [...steps.values()].sort((a, b) => a.at.localeCompare(b.at)), deliveries: page.items.length, partial: page.next_cursor !== null };
		},
	});
