import { bodyOf, client } from "../../api/client";
import type { components, paths } from "../../api/schema";

export type Found = paths["/api/v1/lookup"]["post"]["responses"]["200"]["content"]["application/json"];
export type Person = Pick<components["schemas"]["LookupRequest"], "phone" | "email" | "cpf">;

const cpfEnd = /^(?:cpf)?[*.•…x\s-]*(\d{2})$/i; // 09, …09, CPF…09, ***.***.***-09
const wholeCPF = /^(?:cpf)?\s*\d{3}\.\d{3}\.\d{3}-(\d{2})$/i;
const phone = /^[\d\s+().-]*\d[\d\s+().-]*$/;

/** personOf returns what a text names: an e-mail address, the end of a CPF or a phone number. A whole CPF is never sent. */
export function personOf(text: string): Person | undefined {
	if (text.includes("@")) return { email: text };
	const cpf = (cpfEnd.exec(text) ?? wholeCPF.exec(text))?.[1];
	if (cpf) return { cpf };
	return phone.test(text) ? { phone: text } : undefined;
}

/** lookUp searches for a person, who is in the request's body: addresses are logged. */
export const lookUp = (person: Person): Promise<Found> => bodyOf(client.POST("/api/v1/lookup", { body: person }));

/** askedKey is where another screen leaves the person that it asks for. */
export const askedKey = ["lookup", "asked"];

/** lastKey is where the last result stays while the page is open. */
export const lastKey = ["lookup"];
