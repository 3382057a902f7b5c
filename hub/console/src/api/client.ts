import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { setSessionEnded } from "./sessionEnd";

// The document's types under the names that screens use.
export type Problem = components["schemas"]["Problem"];
export type Session = components["schemas"]["BrowserSession"];
export type Environment = "live" | "test";

/** ApiError is a response of 400 and above, or none at all (status 0). */
export class ApiError extends Error {
	constructor(
		readonly status: number,
		readonly problem?: Problem,
	) {
		super(problem?.detail ?? problem?.title ?? `HTTP ${status}`);
	}
	get code(): string {
		return this.problem?.code ?? "";
	}
}

let csrfToken = "";
let onSessionEnd = () => {};

/** setCSRFToken sets what writes repeat in a header; the session's response has it. */
export function setCSRFToken(token: string | null) {
	csrfToken = token ?? "";
}

/** whenSessionEnds sets what happens when a response says that the session has ended. */
export function whenSessionEnds(act: () => void) {
	onSessionEnd = act;
}

let onTokenRefused = async () => false;

/** whenTokenIsRefused sets what happens when the session has another token, after a login in another tab. It returns whether the write can be sent again. */
export function whenTokenIsRefused(act: () => Promise<boolean>) {
	onTokenRefused = act;
}

async function send(request: Request): Promise<Response> {
	if (request.method === "GET") return fetch(request);
	const { url, method, headers, credentials, signal } = request;
	const body = (await request.text()) || undefined;
	const write = () => fetch(url, { method, headers, credentials, signal, body });
	const response = await write();
	if (response.status !== 403) return response;
	const problem = (await response.clone().json().catch(() => undefined)) as Problem | undefined;
	if (problem?.code !== "csrf_token" || !(await onTokenRefused())) return response;
	headers.set("X-CSRF-Token", csrfToken);
	return write();
}

export const client = createClient<paths>({ baseUrl: "/", credentials: "same-origin", fetch: send });

client.use({
	onRequest({ request }) {
		if (request.method !== "GET") request.headers.set("X-CSRF-Token", csrfToken);
		return request;
	},
	onError() {
		return new ApiError(0);
	},
	onResponse({ response, schemaPath, request }) {
		const isLogin = schemaPath === "/api/v1/session" && request.method === "POST";
		if (response.status === 401 && !isLogin) onSessionEnd();
		else if (response.ok) setSessionEnded(false);
	},
});

/** bodyOf returns the body of a response, or throws an {@link ApiError}. */
export async function bodyOf<T>(pending: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
	const { data, error, response } = await pending;
	if (!response.ok) throw new ApiError(response.status, error as Problem | undefined);
	return data as T;
}
