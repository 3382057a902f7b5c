import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client, type Environment } from "../../api/client";
import type { paths } from "../../api/schema";
import type { Range } from "./search";

type Stats = paths["/api/v1/stats"]["get"]["responses"]["200"]["content"]["application/json"];
export type Bucket = Stats["items"][number];

const hour = 3_600_000; // ms
const spans = { hour: [hour, "1m"], day: [24 * hour, "30m"], week: [7 * 24 * hour, "3h"], month: [30 * 24 * hour, "12h"] } as const;

/** widths are those of the buckets, in milliseconds. */
export const widths: Record<Range, number> = { hour: hour / 60, day: hour / 2, week: 3 * hour, month: 12 * hour };
const refetchInterval = 30_000;

export const statsQuery = (range: Range) =>
	queryOptions({
		queryKey: ["stats", range],
		refetchInterval,
		queryFn: () => {
			const [span, bucket] = spans[range];
			return bodyOf(client.GET("/api/v1/stats", { params: { query: { bucket, from: new Date(Date.now() - span).toISOString() } } }));
		},
	});

export const backlogQuery = queryOptions({
	queryKey: ["stats", "backlog"],
	refetchInterval,
	queryFn: () => bodyOf(client.GET("/api/v1/stats/backlog")),
});

/** failingQuery reads the newest integrations that do not work. */
export const failingQuery = (environment: Environment) =>
	queryOptions({
		queryKey: ["integrations", environment, "failing"],
		refetchInterval,
		queryFn: () => bodyOf(client.GET("/api/v1/integrations", { params: { query: { environment, status: "error", limit: 10 } } })),
	});
