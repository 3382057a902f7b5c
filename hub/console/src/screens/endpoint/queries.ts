import { queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { type JSONText, writtenJSON } from "../../ui/json";
import { rebase } from "../../ui/rebase";
import type { Endpoint } from "../endpoints/queries";
import type { ReceiverSettings } from "../endpoints/ReceiverFields";

export const endpointQuery = (id: string) => queryOptions({ queryKey: ["endpoint", id], queryFn: () => bodyOf(client.GET("/api/v1/endpoints/{id}", { params: { path: { id } } })) });

const at = (id: string) => ({ params: { path: { id } } });

/** pingEndpoint sends the example of an event type, or hub.ping. */
export const pingEndpoint = (id: string, event_type?: string) => bodyOf(client.POST("/api/v1/endpoints/{id}/ping", { ...at(id), body: { event_type } }));

/** examplesQuery reads the names of the event types that a ping can send to tenants of a product: its own and the hub's, where they have an example. */
export const examplesQuery = (product: string) =>
	queryOptions({
		queryKey: ["event-types", "examples", product],
		queryFn: async ({ signal }) => {
			const pages = await Promise.all([product, "hub"].map((of) => bodyOf(client.GET("/api/v1/event-types", { signal, params: { query: { limit: 200, product: of, example: true, brief: true } } }))));
			return pages.flatMap(({ items }) => items.map(({ name }) => name));
		},
	});
export const deleteEndpoint = (id: string) => bodyOf(client.DELETE("/api/v1/endpoints/{id}", at(id)));
export const rotateSecret = (id: string, overlap_seconds: number, when: "now" | "end") => bodyOf(client.POST("/api/v1/endpoints/{id}/rotate-secret", { ...at(id), body: { overlap_seconds, switch: when } }));

/** setEnabled keeps the other settings, as they are now. */
export async function setEnabled(id: string, enabled: boolean) {
	const { url, event_types, description, rate_per_minute } = await bodyOf(client.GET("/api/v1/endpoints/{id}", at(id)));
	return bodyOf(client.PUT("/api/v1/endpoints/{id}", { ...at(id), body: { url, event_types, description, rate_per_minute, enabled } }));
}

/** changeSettings keeps what the form left as it was shown, whether the endpoint is enabled, and its pace: the hub may have disabled it meanwhile. */
export async function changeSettings(shown: Endpoint, { headers, client_certificate, ...settings }: { url: string; event_types: string[]; description?: string; filter: string; ordered: boolean } & ReceiverSettings) {
	const present = await bodyOf(client.GET("/api/v1/endpoints/{id}", at(shown.id)));
	const body = { ...rebase(settings, { ...shown, filter: shown.filter ?? "" }, { ...present, filter: present.filter ?? "" }), headers, client_certificate, enabled: present.enabled, rate_per_minute: present.rate_per_minute };
	return bodyOf(client.PUT("/api/v1/endpoints/{id}", { ...at(shown.id), body }));
}

export const matchEvent = (id: string, event: JSONText) => bodyOf(client.POST("/api/v1/endpoints/{id}/match", { ...at(id), body: { event: event as never }, bodySerializer: writtenJSON }));

export const countMissed = async (id: string, since: string): Promise<number> => {
	const recovery = await bodyOf(client.POST("/api/v1/endpoints/{id}/recover", { ...at(id), body: { since, dry_run: true } }));
	return (recovery as unknown as { count: number }).count;
};
export const recover = async (id: string, since: string): Promise<string> => {
	const recovery = await bodyOf(client.POST("/api/v1/endpoints/{id}/recover", { ...at(id), body: { since } }));
	return (recovery as unknown as { id: string }).id;
};

export type SignatureCheck = paths["/api/v1/endpoints/{id}/check-signature"]["post"]["responses"]["200"]["content"]["application/json"];

/** headersOf reads pasted lines of "name: value". */
export function headersOf(text: string): Record<string, string> {
	const lines = text.split(/\r?\n/).map((line) => line.replace(/^[>\s]*(?:-H\s*['"])?/, "").replace(/['"]\s*\\?$/, ""));
	return Object.fromEntries(lines.flatMap((line) => (line.indexOf(":") > 0 ? [[line.slice(0, line.indexOf(":")).trim().toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]] : [])));
}

export function checkSignature(id: string, wanted: { headers: string; body: string; secret?: string; received_at?: string }) {
	const headers = headersOf(wanted.headers);
	const body = {
		signature: headers["x-webhook-signature"],
		webhook_id: headers["webhook-id"],
		webhook_timestamp: headers["webhook-timestamp"],
		webhook_signature: headers["webhook-signature"],
		body: wanted.body,
		secret: wanted.secret,
		received_at: wanted.received_at,
	};
	return bodyOf(client.POST("/api/v1/endpoints/{id}/check-signature", { ...at(id), body }));
}
