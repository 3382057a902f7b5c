import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { bodyOf, client } from "../../api/client";
import type { paths } from "../../api/schema";
import { useScreenTexts } from "../../i18n/screens";
import { Dialog } from "../../ui/Dialog";
import { FilterBar } from "../../ui/FilterBar";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { pollingOf } from "../../ui/polling";
import { Time } from "../../ui/Time";
import type { Column } from "../../ui/VirtualTable";
import classes from "./Mail.module.css";
import { mailSearch } from "./search";

type Email = paths["/api/v1/dev/mail"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];

const route = getRouteApi("/shell/mail");

const mailQuery = (to?: string) =>
	infiniteQueryOptions({
		queryKey: ["mail", to],
		initialPageParam: undefined as string | undefined,
		refetchInterval: pollingOf(5000),
		queryFn: ({ pageParam: cursor, signal }) => bodyOf(client.GET("/api/v1/dev/mail", { signal, params: { query: { limit: 100, cursor, to } } })),
		getNextPageParam: (last) => last.next_cursor ?? undefined,
	});

export function Mail() {
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const list = useInfiniteQuery(mailQuery(search.to));
	const rows = list.data?.pages.flatMap((part) => part.items) ?? [];
	const shown = rows.find((row) => row.id === search.letter);
	const set = (changed: { to?: string; letter?: string }) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const columns: Column<Email>[] = [
		{
			title: screens.mail.subject,
			width: "minmax(200px, 2fr)",
			cell: (row) => (
				<button type="button" className={layout.name} data-row-link onClick={() => set({ letter: row.id })}>
					{row.subject}
				</button>
			),
		},
		{ title: screens.mail.to, width: "minmax(160px, 1.2fr)", cell: (row) => row.to },
		{ title: screens.mail.sent, width: "104px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	return (
		<ListScreen
			title={screens.mail.title}
			lead={screens.mail.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={search.to !== undefined}
			onClear={() => set({ to: undefined })}
			empty={{ title: screens.mail.emptyTitle, text: screens.mail.empty, next: null }}
			filters={
				<FilterBar
					tokens={search.to ? [{ name: "to", value: search.to }] : []}
					names={["to"]}
					parse={(name, value) => (name === "to" && mailSearch({ to: value }).to ? { name, value } : undefined)}
					onAdd={set}
					onRemove={() => set({ to: undefined })}
				/>
			}
		>
			{shown && (
				<Dialog title={shown.subject} onClose={() => set({ letter: undefined })} size="xl">
					<p className={`quiet ${classes.to}`}>
						{screens.mail.to}: {shown.to}
					</p>
					{shown.html ? (
						<iframe className={classes.email} sandbox="allow-same-origin" title={shown.subject} srcDoc={withoutStyles(shown.html)} onLoad={(event) => restoreStyles(event.currentTarget)} />
					) : (
						// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
						<pre className={classes.text} tabIndex={0} aria-label={shown.subject}>
							{shown.text}
						</pre>
					)}
				</Dialog>
			)}
		</ListScreen>
	);
}

// The page's policy, which the frame inherits, allows no style attributes: they are set when the
// e-mail is there. Scripts are allowed by neither the frame nor the policy.
const withoutStyles = (html: string): string => html.replace(/(<[^>]*\s)style=/gi, "$1data-style=");

function restoreStyles(frame: HTMLIFrameElement) {
	for (const element of frame.contentDocument?.querySelectorAll<HTMLElement>("[data-style]") ?? []) element.style.cssText = element.dataset.style ?? "";
}
