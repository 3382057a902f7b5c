import "@mantine/core/styles.css";
import "./app/app.css";
import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError, whenSessionEnds, whenTokenIsRefused } from "./api/client";
import { setSessionEnded } from "./api/sessionEnd";
import { PreferencesProvider } from "./app/preferences";
import { makeRouter } from "./app/router";
import { sessionQuery } from "./app/session";
import { cssVariables, theme } from "./app/theme";
import { LanguageProvider, loadMessages, preferredLanguage } from "./i18n";

// Style elements that libraries write need the nonce of the page's policy.
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
setNonce(nonce);

const queries = new QueryClient({
	defaultOptions: {
		queries: {
			networkMode: "always",
			refetchOnWindowFocus: false,
			staleTime: 10_000,
			retry: (count, error) => count < 1 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
		},
		mutations: { networkMode: "always" },
	},
});
const router = makeRouter(queries);

whenSessionEnds(() => {
	const { href, pathname } = router.state.location;
	if (pathname === "/login" || pathname.startsWith("/account/") || !queries.getQueryData(["session"])) return; // the shell's own check comes first
	// What is typed in a window, or shown once, is not thrown away.
	if (document.querySelector("[role=dialog][aria-modal=true]")) return setSessionEnded(true);
	setSessionEnded(false);
	queries.clear();
	void router.navigate({ to: "/login", search: { to: href, ended: "1" }, replace: true });
});

whenTokenIsRefused(async () => {
	const before = queries.getQueryData(sessionQuery.queryKey);
	const session = await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined);
	if (!session || session.operator.id === before?.operator.id) return session !== undefined;
	window.location.reload(); // what is shown is not this operator's
	return false;
});

const language = preferredLanguage();
void loadMessages(language).then((messages) => {
	createRoot(document.getElementById("root")!).render(
		<StrictMode>
			<MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
				<LanguageProvider language={language} messages={messages}>
					<PreferencesProvider>
						<QueryClientProvider client={queries}>
							<RouterProvider router={router} />
						</QueryClientProvider>
					</PreferencesProvider>
				</LanguageProvider>
			</MantineProvider>
		</StrictMode>,
	);
});
