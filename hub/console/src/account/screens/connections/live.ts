import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { basePath } from "../../../app/hosted";
import { bodyOf, messaging } from "../../client";
import { type Connection, connectionQuery, connectionsKey, connectionsQuery, type StreamEvent } from "./queries";

/** Live is whether changes are seen as they happen. */
export type Live = "connecting" | "open" | "lost";

const retryAfter = 2000; // ms
const pollEvery = 5000; // ms, while there is no stream

/** pollingOf returns how often to read while the stream does not tell. */
export const pollingOf = (live: Live): number | false => (live === "open" ? false : pollEvery);

/** useLiveConnections keeps the connections in memory as the product's event stream tells. */
export function useLiveConnections(): Live {
	const queries = useQueryClient();
	const [live, setLive] = useState<Live>("connecting");
	useEffect(() => {
		let source: EventSource | undefined;
		let timer = 0;
		let ended = false;
		const again = () => {
			source?.close(); // the browser would come back with the same ticket, which works once
			if (ended) return;
			setLive("lost");
			timer = window.setTimeout(() => void open(), retryAfter);
		};
		const open = async () => {
			try {
				const { ticket } = await bodyOf(messaging.POST("/events/ticket"));
				if (ended) return;
				source = new EventSource(`${basePath("messaging")}/events?ticket=${encodeURIComponent(ticket)}`);
			} catch {
				return again();
			}
			source.onopen = () => {
				setLive("open");
				void queries.invalidateQueries({ queryKey: connectionsKey }); // what changed before
			};
			source.onerror = again;
			source.addEventListener("connection", (message: MessageEvent<string>) => take(queries, JSON.parse(message.data) as StreamEvent));
		};
		void open();
		return () => {
			ended = true;
			window.clearTimeout(timer);
			source?.close();
		};
	}, [queries]);
	return live;
}

/** take puts a change of a connection into what is in memory. */
function take(queries: QueryClient, { id, connection }: StreamEvent) {
	queries.setQueryData(connectionsQuery().queryKey, (rows: Connection[] | undefined) => {
		if (!rows) return rows;
		if (!connection) return rows.filter((row) => row.id !== id);
		return rows.some((row) => row.id === id) ? rows.map((row) => (row.id === id ? connection : row)) : [...rows, connection];
	});
	const { queryKey } = connectionQuery(Number(id));
	if (connection) queries.setQueryData(queryKey, (was: Connection | undefined) => was && connection);
	else void queries.invalidateQueries({ queryKey });
}
