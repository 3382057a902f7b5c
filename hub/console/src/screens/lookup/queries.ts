import { bodyOf, client } from "../../api/client";
import type { components, paths } from "../../api/schema";

export type Found = paths["/api/v1/lookup"]["post"]["responses"]["200"]["content"]["application/json"];
export type Person = Pick<components["schemas"]["LookupRequest"], "phone" | "email" | "cpf">;

const cpfEnd = /^(?:cpf)?[*.•…x\s-]*(\d{2})$/i; // 09, …09, CPF…09, ***.***.***-09
const wholeCPF = /^(?:cpf[\s:]*\d{3}[.\s-]*\d{3}[.\s-]*\d{3}[.\s-]*|\d{3}\.\d{3}\.\d{3}-)(\d{2})$/i;
const likeCPF = /^\d{3}[.\s-]?\d{3}[.\s-]?\d{3}[.\s-]?\d{2}$/;
const mobile = /^(?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])9\d{8}$/; // with the area codes in use
const phone = /^[\d\s+().-]*\d[\d\s+().-]*$/;

/** isCPF tells whether eleven digits are a CPF with its check digits. */
function isCPF(digits: string): boolean {
	const check = (length: number) => {
		const sum = [...digits.slice(0, length)].reduce((total, digit, i) => total + Number(digit) * (length + 1 - i), 0);
		return ((sum * 10) % 11) % 10 === Number(digits[length]);
	};
	return !/^(\d)\1*$/.test(digits) && check(9) && check(10);
}

/** personOf returns what a text names: an e-mail address, the end of a CPF or a phone number. A whole CPF is never sent; digits that may be a mobile number as well are ambiguous. */
export function personOf(text: string): Person | "ambiguous" | undefined {
	if (text.includes("@")) return { email: text };
	const cpf = (cpfEnd.exec(text) ?? wholeCPF.exec(text))?.[1];
	if (cpf) return { cpf };
	const digits = text.replace(/\D/g, "");
	if (likeCPF.test(text) && isCPF(digits)) return mobile.test(text) ? "ambiguous" : { cpf: digits.slice(-2) };
	return phone.test(text) ? { phone: text } : undefined;
}

/** lookUp searches for a person, who is in the request's body: addresses are logged. */
export const lookUp = (person: Person): Promise<Found> => bodyOf(client.POST("/api/v1/lookup", { body: person }));

/** askedKey is where another screen leaves the person that it asks for. */
export const askedKey = ["lookup", "asked"];

/** lastKey is where the last result stays while the page is open. */
export const lastKey = ["lookup"];
