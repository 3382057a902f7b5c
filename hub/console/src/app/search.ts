import type { Token } from "../ui/FilterBar";
import { instantOf } from "./instant";
import { prefersUTC } from "./preferences";

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

/** time returns a time as it is in the address: shared links have absolute times. What was typed is in the zone that this browser's user chose. */
export const time = (value: unknown): string | undefined => (typeof value === "string" ? instantOf(value, prefersUTC()) : undefined);

/** ignoredOf returns the filters of the address that were not kept, as name:value: without them more is found than was asked for. */
export function ignoredOf(names: readonly string[], search: Record<string, unknown>, kept: Record<string, unknown>): string | undefined {
	const ignored = names.filter((name) => typeof search[name] === "string" && search[name] !== "" && kept[name] === undefined).map((name) => `${name}:${search[name]}`);
	return ignored.length > 0 ? ignored.join(", ").slice(0, 200) : matching(/^.{1,200}$/, search.ignored);
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
