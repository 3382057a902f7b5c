import { Button } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Choice } from "../../ui/Choice";
import { detailOf } from "../../ui/errors";
import { FilterBar } from "../../ui/FilterBar";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Time } from "../../ui/Time";
import { useForgetting } from "../../ui/useForgetting";
import type { Column } from "../../ui/VirtualTable";
import { countReplay, filterOf, filterText, type Replay, replaysQuery, startReplay } from "./queries";
import { ReplayState } from "./ReplayState";
import classes from "./Replays.module.css";
import { parseToken, type ReplaysSearch, replaysSearch, statuses, tokenNames } from "./search";

const route = getRouteApi("/shell/replays");

export function Replays() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const list = useInfiniteQuery(replaysQuery);
	const columns: Column<Replay>[] = [
		{ title: screens.replays.state, width: "112px", cell: (row) => <ReplayState replay={row} /> },
		{
			title: screens.replays.filter,
			width: "minmax(220px, 2fr)",
			cell: (row) => (
				<Link to="/replays/$id" params={{ id: row.id }} search={{ environment: search.environment }} className={layout.name} preload={false} data-row-link>
					{row.kind === "recover" ? `${screens.endpoints.recover} · ` : ""}
					{filterText(row)}
				</Link>
			),
		},
		{ title: screens.replays.progress, width: "120px", cell: (row) => `${row.done} / ${row.total}` },
		{ title: t.status.delivered ?? "", width: "90px", cell: (row) => row.delivered },
		{ title: screens.replays.by, width: "minmax(120px, 1fr)", cell: (row) => <span className="quiet">{row.created_by}</span> },
		{ title: screens.replays.started, width: "104px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	return (
		<ListScreen title={screens.replays.title} lead={screens.replays.lead} list={list} columns={columns} keyOf={(row) => row.id} empty={{ title: screens.replays.emptyTitle, text: screens.replays.empty, next: null }} filters={<NewReplay />} />
	);
}

/** New chooses a filter, counts exactly, and asks before it sends. */
function NewReplay() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const filters = replaysSearch(search);
	const filter = filterOf(environment, filters);
	const key = JSON.stringify(filter);
	const count = useMutation({ mutationFn: async () => ({ key, count: await countReplay(filter) }) });
	useForgetting(count.data, count.reset);
	const start = useMutation({
		mutationFn: () => startReplay(filter),
		onSuccess: async (replay) => {
			await queries.invalidateQueries({ queryKey: ["replays"] });
			await navigate({ to: "/replays/$id", params: { id: replay.id }, search: { environment: search.environment } });
		},
	});
	const set = (changed: ReplaysSearch) => void navigate({ search: (was) => ({ ...was, ignored: undefined, ...changed }), replace: true });
	const counted = count.data?.key === key ? count.data.count : undefined;
	const error = count.error ?? start.error;
	return (
		<section className={`panel ${layout.section} ${classes.new}`} aria-labelledby="new">
			<h2 id="new">{screens.replays.create}</h2>
			<FilterBar
				tokens={tokenNames.flatMap((name) => (filters[name] ? [{ name, value: filters[name] }] : []))}
				names={tokenNames}
				notice={search.ignored && t.deliveries.ignored(search.ignored)}
				parse={parseToken}
				onAdd={set}
				onRemove={(token) => set({ [token.name]: undefined })}
			>
				<Choice required label={t.deliveries.status} value={filters.status ?? "failing"} values={statuses} texts={{ ...t.status, failing: screens.replays.failing }} onChange={(status) => set({ status: status === "failing" ? undefined : status })} />
			</FilterBar>
			<div className={classes.confirm}>
				{search.ignored && (
					<Button size="xs" variant="default" onClick={() => void navigate({ search: { environment: search.environment }, replace: true })}>
						{t.states.clear}
					</Button>
				)}
				{counted === undefined || search.ignored ? (
					<Button size="xs" loading={count.isPending} disabled={search.ignored !== undefined} onClick={() => count.mutate()}>
						{screens.replays.count}
					</Button>
				) : (
					<Button size="xs" loading={start.isPending} disabled={counted === 0} onClick={() => start.mutate()}>
						{screens.replays.start(counted)}
					</Button>
				)}
				<span role="status">{counted !== undefined && screens.replays.matches(counted)}</span>
				<span role="alert" className={layout.bad}>
					{error && `${t.ui.failed} ${detailOf(error)}`}
				</span>
			</div>
		</section>
	);
}
