import { Button, Switch } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useDeliveryColumns } from "../../ui/deliveries/columns";
import { DeliveryFilters } from "../../ui/deliveries/Filters";
import { pageSize, type Row } from "../../ui/deliveries/paging";
import { type DeliverySearch, deliverySearch, tokensOf } from "../../ui/deliveries/search";
import layout from "../../ui/layout.module.css";
import { type More, moreOf } from "../../ui/more";
import { PageTitle } from "../../ui/PageTitle";
import { Empty, Failed, Loading, NothingMatches } from "../../ui/states";
import { VirtualTable } from "../../ui/VirtualTable";
import { askedKey } from "../lookup/queries";
import { TailStatus } from "./TailStatus";
import { deliveriesQuery } from "./queries";
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
	const newRows = tail.rows.length;
	const count = pages.reduce((sum, part) => sum + part.rows.length, first + newRows);
	const refresh = () => {
		tail.clear();
		void queries.resetQueries({ queryKey: options.queryKey });
	};

	const set = (changed: DeliverySearch) => void navigate({ search: (was) => ({ ...was, ignored: undefined, ...changed }), replace: true });
	const findPerson = (phone: string) => {
		queries.setQueryData(askedKey, phone); // not in the URL: addresses are logged
		void navigate({ to: "/lookup" });
	};
	const clear = () => void navigate({ search: { environment: search.environment } });

	return (
		<div className={layout.full}>
			<div className={layout.top}>
				<div>
					<PageTitle title={t.deliveries.title} />
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
			<DeliveryFilters search={filters} ignored={search.ignored} onChange={set} onPhone={findPerson} />
			{isLive && <TailStatus tail={tail} />}
			<div ref={panel} className={`panel ${layout.list}`}>
				{list.isPending ? (
					<Loading rows={14} />
				) : list.isError && pages.length === 0 ? (
					<Failed error={list.error} onRetry={() => void list.refetch()} />
				) : count > 0 ? (
					<Rows
						first={first === 0 ? 0 : first + newRows}
						rows={first === 0 ? [...tail.rows, ...pages.flatMap((part) => part.rows)] : pages.flatMap((part) => part.rows)}
						more={moreOf(list)}
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

type RowsProps = { first: number; rows: Row[]; more: More };

function Rows(props: RowsProps) {
	const { t } = useLanguage();
	const columns = useDeliveryColumns(
		(row) => (
			<Link to="/deliveries/$id" params={{ id: row.id }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
				{row.event_type}
			</Link>
		),
		(row) => (row.tenant_id ? <span title={row.tenant_id}>{row.tenant_name}</span> : <span className="quiet">–</span>),
	);
	return <VirtualTable label={t.deliveries.title} columns={columns} keyOf={(row) => row.id} {...props} />;
}
