import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { rebase } from "../../ui/rebase";
import type { TenantsSearch } from "./search";

export type Product = paths["/api/v1/products"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
/** Tenant is one that may be suspended, and then deleted: both are since when, if at all. */
export type Tenant = paths["/api/v1/tenants/{id}"]["get"]["responses"]["200"]["content"]["application/json"];
export type Update = paths["/api/v1/tenants/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const productsQuery = queryOptions({ queryKey: ["products"], queryFn: () => bodyOf(client.GET("/api/v1/products", { params: { query: { limit: 200 } } })) });

export const tenantsQuery = (search: TenantsSearch) =>
	infiniteQueryOptions({
		queryKey: ["tenants", "list", search],
		initialPageParam: undefined as string | undefined,
		queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/tenants", { signal, params: { query: { limit: 100, cursor, product: search.product, q: search.q } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export const createProduct = (body: { name: string; prefix: string; title?: string }) => bodyOf(client.POST("/api/v1/products", { body }));
/** setTitle keeps the validation. */
export const setTitle = (product: Product, title?: string) => bodyOf(client.PUT("/api/v1/products/{name}", { params: { path: { name: product.name } }, body: { title } }));
/** setValidation keeps the title, as it is now. */
export async function setValidation(product: Product, validation: Product["validation"]) {
	const { items } = await bodyOf(client.GET("/api/v1/products", { params: { query: { limit: 200 } } }));
	const { title } = items.find(({ name }) => name === product.name) ?? product;
	return bodyOf(client.PUT("/api/v1/products/{name}", { params: { path: { name: product.name } }, body: { title, validation } }));
}
export const createTenant = (body: { product: string; name: string; external_ref?: string }) => bodyOf(client.POST("/api/v1/tenants", { body }));

/** updateTenant changes what the form changed; without a name it changes limits only. */
export async function updateTenant(shown: Tenant, { limits, ...names }: Partial<Update>) {
	const at = { params: { path: { id: shown.id } } };
	const present = await bodyOf(client.GET("/api/v1/tenants/{id}", at));
	const body = { name: present.name, external_ref: present.external_ref, ...rebase(names, shown, present), limits: limits && rebase(limits, shown.limits, present.limits) };
	return bodyOf(client.PUT("/api/v1/tenants/{id}", { ...at, body }));
}

export const deleteProduct = (name: string) => bodyOf(client.DELETE("/api/v1/products/{name}", { params: { path: { name } } }));
export const deleteTenant = (id: string) => bodyOf(client.DELETE("/api/v1/tenants/{id}", { params: { path: { id } } }));
export const suspendTenant = (id: string) => bodyOf(client.POST("/api/v1/tenants/{id}/suspend", { params: { path: { id } } }));
export const resumeTenant = (id: string) => bodyOf(client.POST("/api/v1/tenants/{id}/resume", { params: { path: { id } } }));
