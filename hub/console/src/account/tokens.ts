import { basePath, type ProductName } from "../app/hosted";
import { ApiError, type Problem } from "../api/client";
import type { components as Clinic } from "./api/clinic";
import type { components as Messaging } from "./api/messaging";

// The tokens of the logins at products' own APIs. The access token is in memory only. The refresh
// token is too, and in sessionStorage while the page is reloaded; messaging has it in a cookie that
// scripts cannot read.
type Tokens = { access: string; refresh?: string; user?: Messaging["schemas"]["LoggedInUser"] };

type Endpoints = { refresh: string; cookie: boolean };
const endpoints: Record<ProductName, Endpoints> = {
	scheduling: { refresh: "/api/v1/auth/refresh", cookie: false },
	clinic: { refresh: "/api/v1/auth/refresh", cookie: false },
	messaging: { refresh: "/auth/refresh_token", cookie: true },
};

const current = new Map<ProductName, Tokens>();
const taken = new Map<ProductName, string>(); // refresh tokens from sessionStorage that are on their way
const refreshing = new Map<ProductName, Promise<Tokens>>();
const storageKey = (product: ProductName) => `hub.account.${product}`;

// Written when the page goes and taken when it comes back: a copy of the tab has no login, as a
// refresh token works only once.
window.addEventListener("pagehide", () => {
	for (const [product, refresh] of taken) sessionStorage.setItem(storageKey(product), refresh);
	for (const [product, { refresh }] of current) if (refresh) sessionStorage.setItem(storageKey(product), refresh);
});
window.addEventListener("pageshow", (event) => {
	if (event.persisted) for (const product of current.keys()) sessionStorage.removeItem(storageKey(product));
});

function takeStored(product: ProductName): string | undefined {
	const token = sessionStorage.getItem(storageKey(product)) ?? undefined;
	sessionStorage.removeItem(storageKey(product));
	if (token) taken.set(product, token);
	return token;
}

let onLoginEnd: (product: ProductName) => void = () => {};

/** whenLoginEnds sets what happens when a product says that the login has ended. */
export function whenLoginEnds(act: (product: ProductName) => void) {
	onLoginEnd = act;
}

type SessionResponse = Clinic["schemas"]["Session"] | Messaging["schemas"]["Session"];

/** keepTokens keeps what a login or a refresh returned. */
export function keepTokens(product: ProductName, session: SessionResponse): Tokens {
	const tokens: Tokens = "token" in session ? { access: session.token, user: session.user } : { access: session.access_token, refresh: session.refresh_token };
	current.set(product, tokens);
	return tokens;
}

/** forgetTokens forgets a login; the server's side of it is not ended. */
export function forgetTokens(product: ProductName) {
	current.delete(product);
	sessionStorage.removeItem(storageKey(product));
}

/** messagingUser returns whose login messaging's is. */
export const messagingUser = () => current.get("messaging")?.user;

/** ensureTokens returns the tokens of a login, after a reload by its refresh token. */
export const ensureTokens = async (product: ProductName): Promise<Tokens> => current.get(product) ?? refresh(product);

async function callRefresh(product: ProductName): Promise<Tokens> {
	const { refresh: path, cookie } = endpoints[product];
	const before = current.get(product);
	const token = before?.refresh ?? takeStored(product);
	const ended = new ApiError(401);
	if (!cookie && !token) throw ended;
	const response = await fetch(basePath(product) + path, {
		method: "POST",
		credentials: "same-origin",
		headers: cookie ? undefined : { "Content-Type": "application/json" },
		body: cookie ? undefined : JSON.stringify({ refresh_token: token }),
	}).catch(() => undefined);
	if (!response || response.status === 429 || response.status >= 500) {
		if (token && !before) sessionStorage.setItem(storageKey(product), token); // it was not used
		if (!response) throw new ApiError(0);
	}
	if (!response.ok) throw new ApiError(response.status, (await response.json().catch(() => undefined)) as Problem | undefined);
	const session = (await response.json()) as SessionResponse;
	// Another tab may have logged in another user, whose cookie this tab must not use unseen.
	if (before?.user && "user" in session && session.user.id !== before.user.id) throw ended;
	return keepTokens(product, session);
}

/** refresh gets new tokens; calls at the same time, also of other tabs, share or follow each other. */
export function refresh(product: ProductName): Promise<Tokens> {
	let running = refreshing.get(product);
	if (!running) {
		const call = () => callRefresh(product);
		running = (endpoints[product].cookie && navigator.locks ? navigator.locks.request(`hub.refresh.${product}`, call) : call()).finally(() => {
			refreshing.delete(product);
			taken.delete(product);
		});
		refreshing.set(product, running);
	}
	return running;
}

/** send sends a request of a user, once more with a new token where the old one has expired. */
export async function send(product: ProductName, request: Request): Promise<Response> {
	const attempt = ({ access }: Tokens) => {
		const copy = request.clone();
		copy.headers.set("Authorization", `Bearer ${access}`);
		return fetch(copy);
	};
	let tokens: Tokens;
	try {
		tokens = await ensureTokens(product);
		const response = await attempt(tokens);
		if (response.status !== 401) return response;
		// Another request may have refreshed meanwhile.
		const known = current.get(product);
		tokens = known && known !== tokens ? known : await refresh(product);
	} catch (error) {
		if (error instanceof ApiError && error.status === 401) {
			const hadLogin = current.has(product);
			forgetTokens(product);
			if (hadLogin) onLoginEnd(product);
		}
		throw error;
	}
	return attempt(tokens);
}
