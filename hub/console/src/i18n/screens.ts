import { type QueryClient, queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { type Language, preferredLanguage, useLanguage } from ".";
import type { ScreenMessages } from "./screens.en";

// Texts of most screens, loaded with the first of them. What the first screen and the log say is in
// the catalogue that every page loads.
const catalogues: Record<Language, () => Promise<ScreenMessages>> = {
	"pt-BR": () => import("./screens.pt-BR").then((m) => m.screens),
	en: () => import("./screens.en").then((m) => m.screens),
	es: () => import("./screens.es").then((m) => m.screens),
};

const screenTextsQuery = (language: Language) =>
	queryOptions({ queryKey: ["texts", "screens", language], queryFn: catalogues[language], staleTime: Number.POSITIVE_INFINITY, gcTime: Number.POSITIVE_INFINITY });

/** loadScreenTexts is the loader of routes whose screens use these texts: they come with the screen. */
export const loadScreenTexts = async ({ context }: { context: { queries: QueryClient } }): Promise<void> => {
	await context.queries.ensureQueryData(screenTextsQuery(preferredLanguage()));
};

/** useScreenTexts returns the texts of screens. In another language than the route was loaded in, it waits until they are there. */
export const useScreenTexts = (): ScreenMessages => useSuspenseQuery(screenTextsQuery(useLanguage().language)).data;
