import { createContext, type ReactNode, use, useState } from "react";
import type { Messages } from "./en";

export const languages = { "pt-BR": "Português", en: "English", es: "Español" } as const;
export type Language = keyof typeof languages;

const catalogues: Record<Language, () => Promise<Messages>> = {
	"pt-BR": () => import("./pt-BR").then((m) => m.messages),
	en: () => import("./en").then((m) => m.messages),
	es: () => import("./es").then((m) => m.messages),
};

const key = "hub.language";

/** preferredLanguage is the language chosen here before, else the browser's. */
export function preferredLanguage(): Language {
	const chosen = localStorage.getItem(key);
	if (chosen && chosen in languages) return chosen as Language;
	for (const tag of navigator.languages) {
		if (tag.startsWith("pt")) return "pt-BR";
		if (tag.startsWith("es")) return "es";
		if (tag.startsWith("en")) return "en";
	}
	return "en";
}

/** loadMessages loads a catalogue, and tells the document its language. */
export async function loadMessages(language: Language): Promise<Messages> {
	const messages = await catalogues[language]();
	document.documentElement.lang = language;
	return messages;
}

type Value = { language: Language; t: Messages; setLanguage: (language: Language) => void };
const Context = createContext<Value | null>(null);

export function LanguageProvider(props: { language: Language; messages: Messages; children: ReactNode }) {
	const [current, setCurrent] = useState({ language: props.language, t: props.messages });
	const setLanguage = (language: Language) => {
		localStorage.setItem(key, language);
		void loadMessages(language).then((t) => setCurrent({ language, t }));
	};
	return <Context value={{ ...current, setLanguage }}>{props.children}</Context>;
}

/** useLanguage returns the language, its messages as t, and a way to change it. */
export function useLanguage(): Value {
	const value = use(Context);
	if (!value) throw new Error("useLanguage needs a LanguageProvider");
	return value;
}
