/**
 * rebase returns what a form sends: its values, and the present ones of what it leaves as it
 * showed them. What others changed while it was open stays.
 */
export function rebase<T extends object>(values: T, shown: { [name in keyof T]?: unknown }, present: { [name in keyof T]?: unknown }): T {
	const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
	const names = Object.keys(values) as (keyof T)[];
	return Object.fromEntries(names.map((name) => [name, name in shown && same(values[name], shown[name]) ? present[name] : values[name]])) as T;
}
