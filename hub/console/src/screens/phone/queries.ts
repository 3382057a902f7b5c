import { queryOptions } from "@tanstack/react-query";
import { ApiError, type Problem } from "../../api/client";

// The sandbox of the messaging product has no place in the hub's API document.
const base = "/messaging/sandbox";

export type SandboxPhone = { number: string; name: string; createdAt: string };
export type ChatMessage = { id: string; from: string; to: string; body: string; mediaUrl: string | null; at: string; ack: number; isOwn: boolean; waiting: boolean; cursor: number };
export type Faults = { latencyMs: number; dropPercent: number; duplicatePercent: number; reorder: boolean; lid: boolean };

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
	const response = await fetch(base + path, {
		method,
		headers: body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" },
		body: body === undefined ? undefined : JSON.stringify(body),
	}).catch(() => {
		throw new ApiError(0);
	});
	const content: unknown = await response.json().catch(() => undefined);
	if (!response.ok) throw new ApiError(response.status, content as Problem | undefined);
	return content as T;
}

/** phonesQuery lists the simulated phones; null where there is no sandbox. */
export const phonesQuery = queryOptions({
	queryKey: ["sandbox", "phones"],
	queryFn: () =>
		call<SandboxPhone[]>("GET", "/phones").catch((error: unknown) => {
			if (error instanceof ApiError && error.status === 404) return null;
			throw error;
		}),
});

export const chatQuery = (number: string) =>
	queryOptions({
		queryKey: ["sandbox", "chat", number],
		queryFn: () => call<{ messages: ChatMessage[] }>("GET", `/phones/${number}/chat`).then(({ messages }) => messages),
		refetchInterval: 1500,
	});

export const addPhone = (phone: { number: string; name: string }) => call<SandboxPhone>("POST", "/phones", phone);
export const scanCode = (number: string, code: string) => call<{ status: string }>("POST", `/phones/${number}/scan`, { code });
export const sendMessage = (number: string, message: { to: string; body: string }) => call<{ id: string }>("POST", `/phones/${number}/send`, message);
export const markRead = (number: string) => call<unknown>("POST", `/phones/${number}/read`, {});
export const setFaults = (faults: Faults) => call<Faults>("PUT", "/faults", faults);
