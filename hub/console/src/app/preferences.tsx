import { createContext, type ReactNode, use, useState } from "react";

type Preferences = { utc: boolean; shortcuts: boolean };
type Value = Preferences & { change: (change: Partial<Preferences>) => void };

const key = "hub.preferences";
const Context = createContext<Value | null>(null);

function stored(): Preferences {
	try {
		const { utc, shortcuts } = JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Preferences>;
		return { utc: utc === true, shortcuts: shortcuts !== false };
	} catch {
		return { utc: false, shortcuts: true };
	}
}

/** prefersUTC is for what reads an address: the preference outside of components. */
export const prefersUTC = (): boolean => stored().utc;

export function PreferencesProvider({ children }: { children: ReactNode }) {
	const [current, setCurrent] = useState(stored);
	const change = (changed: Partial<Preferences>) => {
		const next = { ...current, ...changed };
		localStorage.setItem(key, JSON.stringify(next));
		setCurrent(next);
	};
	return <Context value={{ ...current, change }}>{children}</Context>;
}

/** usePreferences returns what this browser's user chose: times in UTC, single-letter shortcuts. */
export function usePreferences(): Value {
	const value = use(Context);
	if (!value) throw new Error("usePreferences needs a PreferencesProvider");
	return value;
}
