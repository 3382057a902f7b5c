import { Outlet, useNavigate, useRouterState, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLanguage } from "../i18n";
import { Loading } from "../ui/states";
import { Account } from "./Account";
import { EnvironmentSwitch } from "./EnvironmentSwitch";
import { Navigation } from "./Navigation";
import classes from "./Shell.module.css";
import { parseSearch, stringifySearch } from "./search";
import { useShortcuts } from "./shortcuts";

const Help = lazy(() => import("./Help").then(({ Help }) => ({ default: Help })));

/** Shell is what stands around every screen. */
export function Shell() {
	const { t } = useLanguage();
	const [helpOpen, setHelpOpen] = useState(false);
	const search = useRef<HTMLInputElement>(null);
	const navigate = useNavigate();
	const { environment } = useSearch({ strict: false });
	useShortcuts({ "/": () => search.current?.focus(), "?": () => setHelpOpen(true) });

	// What a route did not accept, and defaults, leave the address.
	const location = useRouterState({ select: (state) => state.location.searchStr });
	const accepted = useRouterState({ select: (state) => stringifySearch(state.matches.at(-1)?._strictSearch ?? {}) });
	const settled = useRouterState({ select: (state) => state.status === "idle" });
	useEffect(() => {
		if (settled && location !== accepted) void navigate({ to: ".", search: parseSearch(accepted) as object, replace: true });
	}, [settled, location, accepted, navigate]);

	return (
		<div className={classes.shell}>
			<a className={classes.skip} href="#content">
				{t.app.skip}
			</a>
			<header className={classes.header} data-environment={environment ?? "live"}>
				<form
					role="search"
					className={classes.search}
					onSubmit={(event) => {
						event.preventDefault();
						const q = search.current?.value.trim();
						if (q) void navigate({ to: "/deliveries", search: { environment, q } });
					}}
				>
					<input ref={search} className={classes.input} type="search" name="q" maxLength={200} autoComplete="off" spellCheck={false} placeholder={t.app.search} aria-label={t.app.search} />
					<kbd aria-hidden>/</kbd>
				</form>
				<EnvironmentSwitch />
				<Account onHelp={() => setHelpOpen(true)} />
			</header>
			<Navigation />
			<main id="content" className={classes.content} tabIndex={-1}>
				<Suspense fallback={<Loading />}>
					<Outlet />
				</Suspense>
			</main>
			<Suspense>{helpOpen && <Help onClose={() => setHelpOpen(false)} />}</Suspense>
		</div>
	);
}
