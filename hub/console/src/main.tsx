import "@mantine/core/styles.css";
import "./app/app.css";
import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError, whenSessionEnds } from "./api/client";
import { PreferencesProvider } from "./app/preferences";
import { makeRouter } from "./app/router";
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
	queries.clear();
	void router.navigate({ to: "/login", search: { to: href, ended: "1" }, replace: true });
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
