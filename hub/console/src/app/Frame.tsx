import { Outlet, useNavigate, useRouterState, useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { useLanguage } from "../i18n";
import layout from "../ui/layout.module.css";
import { Loading } from "../ui/states";
import { absoluteTime } from "../ui/Time";
import { EnvironmentSwitch } from "./EnvironmentSwitch";
import classes from "./Frame.module.css";
import { usePreferences } from "./preferences";
import { parseSearch, stringifySearch } from "./search";
import { useShortcuts } from "./shortcuts";
import { useOutdated } from "./useOutdated";

const Help = lazy(() => import("./Help").then(({ Help }) => ({ default: Help })));

type Props = {
	navigation: ReactNode;
	/** account is the menu of who is logged in; it can open the list of shortcuts. */
	account: (openHelp: () => void) => ReactNode;
	searchLabel: string;
	onSearch: (text: string) => void;
};

/** Frame is what stands around every screen, of operators and of products' accounts. */
export function Frame({ navigation, account, searchLabel, onSearch }: Props) {
	const { t } = useLanguage();
	const [helpOpen, setHelpOpen] = useState(false);
	const search = useRef<HTMLInputElement>(null);
	const { environment } = useSearch({ strict: false });
	const chooses = useRouterState({ select: (state) => state.matches.at(-1)?.staticData.environments !== false });
	useShortcuts({ "/": () => search.current?.focus(), "?": () => setHelpOpen(true) });
	useSettledAddress();

	return (
		<div className={classes.shell}>
			<a className={classes.skip} href="#content">
				{t.app.skip}
			</a>
			<header className={classes.header} data-environment={(chooses && environment) || "live"}>
				<form
					role="search"
					className={classes.search}
					onSubmit={(event) => {
						event.preventDefault();
						const text = search.current?.value.trim();
						if (text) onSearch(text);
					}}
				>
					<input ref={search} className={classes.input} type="search" name="q" maxLength={200} autoComplete="off" spellCheck={false} placeholder={searchLabel} aria-label={searchLabel} />
					<kbd aria-hidden>/</kbd>
				</form>
				{chooses && <EnvironmentSwitch />}
				{account(() => setHelpOpen(true))}
			</header>
			{navigation}
			<main id="content" className={classes.content} tabIndex={-1}>
				<Outdated />
				<Suspense fallback={<Loading />}>
					<Outlet />
				</Suspense>
			</main>
			<Suspense>{helpOpen && <Help onClose={() => setHelpOpen(false)} />}</Suspense>
		</div>
	);
}

/** Outdated says since when what the page shows is not current. */
function Outdated() {
	const { t, language } = useLanguage();
	const { utc } = usePreferences();
	const since = useOutdated();
	if (since === 0) return null;
	return (
		<p role="status" className={layout.bad}>
			{t.states.outdated(absoluteTime(language, utc, new Date(since)))}
		</p>
	);
}

/** useSettledAddress removes from the address what a route did not accept, and defaults. */
function useSettledAddress() {
	const navigate = useNavigate();
	const location = useRouterState({ select: (state) => state.location.searchStr });
	const accepted = useRouterState({ select: (state) => stringifySearch(state.matches.at(-1)?._strictSearch ?? {}) });
	const settled = useRouterState({ select: (state) => state.status === "idle" });
	useEffect(() => {
		if (settled && location !== accepted) void navigate({ to: ".", search: parseSearch(accepted) as object, replace: true });
	}, [settled, location, accepted, navigate]);
}
