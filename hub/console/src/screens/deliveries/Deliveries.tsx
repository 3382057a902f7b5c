import { Button, Switch } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { Choice } from "../../ui/Choice";
import { FilterBar } from "../../ui/FilterBar";
import page from "../../ui/page.module.css";
import { Status } from "../../ui/Status";
import { Empty, Failed, Loading, NothingMatches } from "../../ui/states";
import { Time } from "../../ui/Time";
import { TenantName } from "../../ui/TenantName";
import { type Column, VirtualTable } from "../../ui/VirtualTable";
import { TailStatus } from "./TailStatus";
import { deliveriesQuery, pageSize, type Row } from "./queries";
import { type DeliverySearch, deliverySearch, directions, filterNames, parseToken, statuses, tokensOf } from "./search";
import { useTail } from "./tail";

const route = getRouteApi("/shell/deliveries");

export function Deliveries() {
	const { t } = useLanguage();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const filters = deliverySearch(search);
	const tokens = tokensOf(filters);
	const key = JSON.stringify([environment, filters]);
	// biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for both
	const options = useMemo(() => deliveriesQuery(environment, filters), [key]);
	const list = useInfiniteQuery(options);
	const pages = list.data?.pages ?? [];
	const first = (pages[0]?.number ?? 0) * pageSize;
	const isLive = search.live === "1";
	const panel = useRef<HTMLDivElement>(null);
	const tail = useTail(isLive && list.isSuccess, environment, filters, options.queryKey, panel);
	const fresh = tail.rows.length;
	const count = pages.reduce((sum, part) => sum + part.rows.length, first + fresh);
	const refresh = () => {
		tail.clear();
		void queries.resetQueries({ queryKey: options.queryKey });
	};

	const set = (changed: DeliverySearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const clear = () => void navigate({ search: { environment: search.environment } });

	return (
		<div className={page.full}>
			<div className={page.top}>
				<div>
					<h1>{t.deliveries.title}</h1>
					<p className="quiet">{t.deliveries.lead}</p>
				</div>
				<span role="status" className="quiet">
					{list.isSuccess && t.deliveries.shown(count, list.hasNextPage)}
				</span>
				<Switch
					size="xs"
					label={t.tail.live}
					checked={isLive}
					onChange={(event) => {
						const live = event.currentTarget.checked ? "1" : undefined;
						void navigate({ search: (was) => ({ ...was, live }), replace: true });
					}}
				/>
				<Button size="xs" variant="default" loading={list.isRefetching} onClick={refresh}>
					{t.ui.refresh}
				</Button>
			</div>
			<FilterBar
				tokens={tokens.filter((token) => token.name !== "status" && token.name !== "direction")}
				names={filterNames}
				parse={parseToken}
				onAdd={(token) => set({ [token.name]: token.value })}
				onRemove={(token) => set({ [token.name]: undefined })}
			>
				<Choice label={t.deliveries.status} value={search.status} values={statuses} texts={t.status} onChange={(status) => set({ status })} />
				<Choice label={t.deliveries.direction} value={search.direction} values={directions} texts={t.direction} onChange={(direction) => set({ direction })} />
			</FilterBar>
			{isLive && <TailStatus tail={tail} />}
			<div ref={panel} className={`panel ${page.list}`}>
				{list.isPending ? (
					<Loading rows={14} />
				) : list.isError && pages.length === 0 ? (
					<Failed error={list.error} onRetry={() => void list.refetch()} />
				) : count > 0 ? (
					<Rows
						first={first === 0 ? 0 : first + fresh}
						rows={first === 0 ? [...tail.rows, ...pages.flatMap((part) => part.rows)] : pages.flatMap((part) => part.rows)}
						hasNext={list.hasNextPage}
						fetchNext={() => !list.isFetching && void list.fetchNextPage()}
						fetchPrevious={() => !list.isFetching && void list.fetchPreviousPage()}
					/>
				) : tokens.length > 0 ? (
					<NothingMatches onClear={clear} />
				) : (
					<Empty title={t.deliveries.emptyTitle} next={<a href="/docs">{t.deliveries.emptyStep}</a>}>
						{t.deliveries.empty}
					</Empty>
				)}
			</div>
		</div>
	);
}

type RowsProps = { first: number; rows: Row[]; hasNext: boolean; fetchNext: () => void; fetchPrevious: () => void };

function Rows(props: RowsProps) {
	const { t } = useLanguage();
	const columns: Column<Row>[] = [
		{ title: t.deliveries.status, width: "104px", cell: (row) => <Status status={row.status} /> },
		{
			title: t.deliveries.event,
			width: "minmax(170px, 2fr)",
			cell: (row) => (
				<Link to="/deliveries/$id" params={{ id: row.id }} search={(was) => ({ environment: was.environment })} className={page.name} preload={false} data-row-link>
					{row.event_type}
				</Link>
			),
		},
		{ title: t.deliveries.direction, width: "76px", cell: (row) => <span className="quiet">{t.direction[row.direction]}</span> },
		{ title: t.deliveries.product, width: "minmax(84px, 0.7fr)", cell: (row) => row.product },
		{ title: t.deliveries.tenant, width: "minmax(110px, 1fr)", cell: (row) => <TenantName id={row.tenant_id} /> },
		{
			title: t.deliveries.attempts,
			width: "76px",
			cell: (row) => (
				<>
					{row.status === "pending" && row.retries === 0 && row.status_code === null ? "–" : row.retries + 1}
					{row.status_code !== null && <span className={row.status_code >= 400 ? page.bad : "quiet"}> · {row.status_code}</span>}
				</>
			),
		},
		{ title: t.deliveries.next, width: "108px", cell: (row) => (row.next_attempt_at ? <Time at={row.next_attempt_at} focusable={false} /> : <span className="quiet">–</span>) },
		{ title: t.deliveries.time, width: "96px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	return <VirtualTable label={t.deliveries.title} columns={columns} keyOf={(row) => row.id} {...props} />;
}
