import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import createClient from "openapi-fetch";
import { ApiError } from "../api/client";
import { basePath, type ProductName } from "../app/hosted";
import type { paths as ClinicPaths } from "./api/clinic";
import type { paths as MessagingPaths } from "./api/messaging";
import { bodyOf, clinic, messaging, scheduling } from "./client";
import { ensureTokens, forgetTokens, keepTokens, messagingUser } from "./tokens";

/** Account is who is logged in, and the tenant that the user belongs to. */
export type Account = { product: ProductName; name: string; email: string; role: string; tenant: string };

const readers: Record<ProductName, () => Promise<Omit<Account, "product">>> = {
	scheduling: async () => {
		const [user, tenant] = await Promise.all([bodyOf(scheduling.GET("/api/v1/auth/me")), bodyOf(scheduling.GET("/api/v1/organization"))]);
		return { name: user.name, email: user.email, role: user.role, tenant: tenant.name };
	},
	clinic: async () => {
		const [user, tenant] = await Promise.all([bodyOf(clinic.GET("/api/v1/auth/me")), bodyOf(clinic.GET("/api/v1/clinic"))]);
		return { name: user.name, email: user.email, role: user.role, tenant: tenant.name };
	},
	messaging: async () => {
		await ensureTokens("messaging");
		const user = messagingUser();
		if (!user) throw new ApiError(401);
		return { name: user.name, email: user.email, role: user.profile, tenant: user.company.name };
	},
};

/** accountQuery reads who is logged in at a product; a 401 where nobody is. */
export const accountQuery = (product: ProductName) =>
	queryOptions({
		queryKey: ["account", product, "session"],
		staleTime: Number.POSITIVE_INFINITY,
		retry: false,
		queryFn: async (): Promise<Account> => {
			await ensureTokens(product).catch((error: unknown) => {
				if (error instanceof ApiError && error.status === 401) forgetTokens(product);
				throw error;
			});
			return { product, ...(await readers[product]()) };
		},
	});

/** useProduct returns the product whose account is open. */
export const useProduct = (): ProductName => useParams({ from: "/account/$product" }).product;

/** useAccount returns who is logged in; pages below the account's shell always have it. */
export const useAccount = (): Account => useSuspenseQuery(accountQuery(useProduct())).data;

/** logIn logs in by the product's own API. */
export async function logIn(product: ProductName, email: string, password: string) {
	const body = { email, password };
	const fails = { onError: () => new ApiError(0) };
	if (product === "messaging") {
		const client = createClient<MessagingPaths>({ baseUrl: basePath(product), credentials: "same-origin" });
		client.use(fails);
		keepTokens(product, await bodyOf(client.POST("/auth/login", { body })));
		return;
	}
	const client = createClient<Pick<ClinicPaths, "/api/v1/auth/login">>({ baseUrl: basePath(product) });
	client.use(fails);
	keepTokens(product, await bodyOf(client.POST("/api/v1/auth/login", { body })));
}

/** logOut ends the login at the product, and forgets it here in any case. */
export async function logOut(product: ProductName) {
	const calls: Record<ProductName, () => Promise<unknown>> = {
		scheduling: () => bodyOf(scheduling.POST("/api/v1/auth/logout")),
		clinic: () => bodyOf(clinic.POST("/api/v1/auth/logout")),
		messaging: () => bodyOf(messaging.POST("/auth/logout")),
	};
	try {
		await calls[product]();
	} catch (error) {
		if (!(error instanceof ApiError) || error.status !== 401) throw error;
	}
	forgetTokens(product);
}
