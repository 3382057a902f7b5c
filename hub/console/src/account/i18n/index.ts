import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { type Language, useLanguage } from "../../i18n";
import type { AccountMessages } from "./en";

// Texts of the accounts' side, in chunks of their own; what both sides say is in src/i18n.
const catalogues: Record<Language, () => Promise<AccountMessages>> = {
	"pt-BR": () => import("./pt-BR").then((m) => m.messages),
	en: () => import("./en").then((m) => m.messages),
	es: () => import("./es").then((m) => m.messages),
};

export const textsQuery = (language: Language) =>
	queryOptions({ queryKey: ["texts", "account", language], queryFn: catalogues[language], staleTime: Number.POSITIVE_INFINITY, gcTime: Number.POSITIVE_INFINITY });

/** useTexts returns the texts of the accounts' side. */
export const useTexts = (): AccountMessages => useSuspenseQuery(textsQuery(useLanguage().language)).data;
