import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { Choice } from "../../../ui/Choice";
import { Filters } from "../../../ui/FilterBar";
import { ListScreen } from "../../../ui/ListScreen";
import { Masked } from "../../../ui/Masked";
import layout from "../../../ui/layout.module.css";
import { Status } from "../../../ui/Status";
import { Time } from "../../../ui/Time";
import type { Column } from "../../../ui/VirtualTable";
import { useTexts } from "../../i18n";
import { EntryDialog } from "./EntryDialog";
import { type InboxEntry, inboxQuery } from "./queries";
import { type InboxSearch, statuses } from "./search";
import { Summary } from "./Summary";

const route = getRouteApi("/account/$product/inbox");
const shapes = { open: "pending", linked: "delivered", dismissed: "parked" };

/** EntryState shows whether somebody has said whom an entry is about. */
export function EntryState({ status }: { status: InboxEntry["status"] }) {
	const { inbox } = useTexts();
	return <Status status={shapes[status]} text={inbox.statuses[status]} />;
}

/** Inbox lists the events of connected products that matched no patient. */
export function Inbox() {
	const { inbox: texts } = useTexts();
	const { status, entry: shown } = route.useSearch();
	const navigate = route.useNavigate();
	const list = useInfiniteQuery(inboxQuery(useEnvironment(), status));
	const set = (changed: InboxSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const rows = list.data?.pages.flatMap((part) => part.items) ?? [];
	const found = rows.find((row) => row.id === shown);
	// What was decided leaves the list; its window stays and says what came of it.
	const [kept, setKept] = useState(found);
	if (found && found !== kept) setKept(found);
	const entry = found ?? (kept?.id === shown ? kept : undefined);
	// The API has no single entry: one of a shared link is looked for in the list.
	const { fetchNextPage, isFetching, hasNextPage } = list;
	const isComplete = list.isSuccess && !hasNextPage;
	const isSought = shown !== undefined && !entry && hasNextPage && !isFetching && !list.isError;
	useEffect(() => {
		if (isSought) void fetchNextPage();
	}, [isSought, fetchNextPage]);
	const columns: Column<InboxEntry>[] = [
		{ title: texts.status, width: "96px", cell: (row) => <EntryState status={row.status} /> },
		{
			title: texts.event,
			width: "minmax(140px, 1fr)",
			cell: (row) => (
				<button type="button" className={layout.name} data-row-link onClick={() => set({ entry: row.id })}>
					{row.event_type}
				</button>
			),
		},
		{ title: texts.from, width: "92px", cell: (row) => row.product },
		{ title: texts.person, width: "minmax(160px, 1.3fr)", cell: (row) => <Masked value={[row.name, row.phone].filter(Boolean).join(" · ") || "–"} /> },
		{ title: texts.summary, width: "minmax(140px, 2fr)", cell: (row) => <span className="quiet"><Summary entry={row} /></span> },
		status
			? { title: texts.settled, width: "96px", cell: (row) => (row.settled_at ? <Time at={row.settled_at} focusable={false} /> : "–") }
			: { title: texts.suggested, width: "96px", cell: (row) => <span className="quiet">{row.suggested_patient_id ? texts.oneMatches : "–"}</span> },
		{ title: texts.occurred, width: "100px", cell: (row) => <Time at={row.occurred_at} focusable={false} /> },
	];
	return (
		<ListScreen
			title={texts.title}
			lead={texts.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={status !== undefined}
			onClear={() => void navigate({ search: (was) => ({ environment: was.environment }) })}
			empty={{ title: texts.emptyTitle, text: texts.empty, next: null }}
			filters={
				<Filters>
					<Choice required label={texts.status} value={status ?? "open"} values={statuses} texts={texts.statuses} onChange={(chosen) => set({ status: chosen === "open" ? undefined : chosen, entry: undefined })} />
				</Filters>
			}
		>
			{shown && (entry || isComplete) && <EntryDialog key={shown} id={shown} entry={entry} onClose={() => set({ entry: undefined })} />}
		</ListScreen>
	);
}
