import { infiniteQueryOptions } from "@tanstack/react-query";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { rebase } from "../../ui/rebase";

export type Operator = paths["/api/v1/operators"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
export type Draft = paths["/api/v1/operators"]["post"]["requestBody"]["content"]["application/json"];
export type Change = paths["/api/v1/operators/{id}"]["put"]["requestBody"]["content"]["application/json"];

export const operatorsQuery = infiniteQueryOptions({
	queryKey: ["operators"],
	initialPageParam: undefined as string | undefined,
	queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/operators", { signal, params: { query: { limit: 100, cursor } } })),
	getNextPageParam: (last) => last.next_cursor ?? undefined,
});

export const createOperator = (body: Draft) => bodyOf(client.POST("/api/v1/operators", { body }));

/** updateOperator changes what the form changed. Whether an operator is disabled is sent only then. */
export async function updateOperator(shown: Operator, { disabled, ...change }: Change) {
	const body = { ...rebase(change, { ...shown, password: undefined }, { ...(await operatorOf(shown.id)), password: undefined }), disabled: disabled === shown.disabled ? undefined : disabled };
	return bodyOf(client.PUT("/api/v1/operators/{id}", { params: { path: { id: shown.id } }, body }));
}

/** operatorOf reads an operator as it is now; the API has it in its list only. */
async function operatorOf(id: string): Promise<Operator | undefined> {
	let cursor: string | undefined;
	do {
		const page = await bodyOf(client.GET("/api/v1/operators", { params: { query: { limit: 100, cursor } } }));
		const found = page.items.find((operator) => operator.id === id);
		if (found) return found;
		cursor = page.next_cursor ?? undefined;
	} while (cursor);
	return undefined;
}

export const deleteOperator = (id: string) => bodyOf(client.DELETE("/api/v1/operators/{id}", { params: { path: { id } } }));
