import type { Token } from "../ui/FilterBar";

// The URL's search: plain name=value pairs, checked by each route; what is not valid or is the
// default is dropped.
export type Search = Record<string, string | undefined>;

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: Record<string, unknown>): string {
	const params = new URLSearchParams();
	for (const [name, value] of Object.entries(search)) {
		if (value !== undefined && value !== "") params.set(name, String(value));
	}
	const text = params.toString();
	return text && `?${text}`;
}

/** oneOf returns a value that is in a list. */
export function oneOf<const T extends string>(list: readonly T[], value: unknown): T | undefined {
	return list.find((item) => item === value);
}

/** matching returns a text that fits a pattern. */
export function matching(pattern: RegExp, value: unknown): string | undefined {
	return typeof value === "string" && pattern.test(value) ? value : undefined;
}

export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** time returns a time as it is in the address: shared links have absolute times. */
export function time(value: unknown): string | undefined {
	if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined;
	const at = new Date(value);
	return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/**
 * tokenParser returns what parses a token of a list: its name is one of names, and its value is
 * what check, which checks the list's search in the URL, keeps of it.
 */
export function tokenParser(names: readonly string[], check: (search: Record<string, unknown>) => Record<string, unknown>) {
	return (name: string, value: string): Token | undefined => {
		const checked = names.includes(name) ? check({ [name]: value })[name] : undefined;
		return typeof checked === "string" ? { name, value: checked } : undefined;
	};
}
