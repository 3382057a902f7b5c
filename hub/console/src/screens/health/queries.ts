import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";

export const healthQuery = queryOptions({
	queryKey: ["health"],
	refetchInterval: 30_000,
	queryFn: async () => {
		const asked = Date.now();
		const health = await bodyOf(client.GET("/api/v1/health"));
		const received = Date.now();
		// The hub read its clock somewhere between the two; within that nothing is known.
		const now = Date.parse(health.now);
		return { ...health, skew: now < asked ? asked - now : now > received ? now - received : 0 };
	},
});
