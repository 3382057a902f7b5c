import { queryOptions } from "@tanstack/react-query";
import type { components } from "../../api/messaging";
import { bodyOf, messaging } from "../../client";

export type Connection = components["schemas"]["Connection"];
export type Queue = components["schemas"]["Queue"];
export type Settings = components["schemas"]["ConnectionFields"];
export type NewConnection = components["schemas"]["NewConnectionFields"];
export type StreamEvent = components["schemas"]["StreamEvent"];

export const connectionsKey = ["account", "messaging", "connections"] as const;

/** Polling is how often to read what the event stream does not tell, in milliseconds; false while it does. */
type Polling = number | false;

export const connectionsQuery = (polling: Polling = false) =>
	queryOptions({ queryKey: [...connectionsKey, "list"], refetchInterval: polling, queryFn: ({ signal }) => bodyOf(messaging.GET("/whatsapp", { signal })) });

export const connectionQuery = (id: number, polling: Polling = false) =>
	queryOptions({ queryKey: [...connectionsKey, "connection", id], refetchInterval: polling, queryFn: ({ signal }) => bodyOf(messaging.GET("/whatsapp/{id}", { signal, params: { path: { id } } })) });

/** qrCodeQuery reads the code to scan, and the next one when it has expired. text is the code that the connection has now. */
export const qrCodeQuery = (id: number, text: string) =>
	queryOptions({
		queryKey: [...connectionsKey, "qr-code", id, text],
		gcTime: 0, // who has a code can pair a phone
		queryFn: ({ signal }) => bodyOf(messaging.GET("/whatsapp/{id}/qrCode", { signal, params: { path: { id } } })),
		refetchInterval: ({ state: { data } }) => (data?.expiresAt ? Math.max(1000, Date.parse(data.expiresAt) - Date.now() + 500) : 5000),
	});

export const queuesQuery = queryOptions({ queryKey: ["account", "messaging", "queues"], queryFn: ({ signal }) => bodyOf(messaging.GET("/queue", { signal })) });

const at = (id: number) => ({ params: { path: { id } } });

export const createConnection = (body: NewConnection) => bodyOf(messaging.POST("/whatsapp", { body }));
export const updateConnection = (id: number, body: Settings) => bodyOf(messaging.PUT("/whatsapp/{id}", { ...at(id), body }));
export const deleteConnection = (id: number) => bodyOf(messaging.DELETE("/whatsapp/{id}", at(id)));
export const startSession = (id: number) => bodyOf(messaging.POST("/whatsappsession/{id}", at(id)));
export const renewSession = (id: number) => bodyOf(messaging.PUT("/whatsappsession/{id}", at(id)));
export const endSession = (id: number) => bodyOf(messaging.DELETE("/whatsappsession/{id}", at(id)));
