import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useDeliveryColumns } from "../../ui/deliveries/columns";
import { DeliveryFilters } from "../../ui/deliveries/Filters";
import { pageSize } from "../../ui/deliveries/paging";
import { type DeliverySearch, deliverySearch, filterNames, tokensOf } from "../../ui/deliveries/search";
import layout from "../../ui/layout.module.css";
import { moreOf } from "../../ui/more";
import { PageTitle } from "../../ui/PageTitle";
import { Empty, Failed, Loading, NothingMatches } from "../../ui/states";
import { VirtualTable } from "../../ui/VirtualTable";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { logQuery } from "./queries";

const names = filterNames.filter((name) => name !== "tenant");

/** AccountLog is the log of webhooks of one tenant, both directions. */
export function AccountLog() {
	const { t } = useLanguage();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const navigate = useNavigate({ from: "/account/$product/log" });
	const search = useSearch({ from: "/account/$product/log" });
	const filters = deliverySearch(search);
	const [phone, setPhone] = useState(""); // a person's number is no part of the address
	const key = JSON.stringify([product, environment, filters, phone]);
	// biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for all
	const options = useMemo(() => logQuery(product, environment, filters, phone), [key]);
	const list = useInfiniteQuery(options);
	const pages = list.data?.pages ?? [];
	const first = (pages[0]?.number ?? 0) * pageSize;
	const count = pages.reduce((sum, part) => sum + part.rows.length, first);
	const set = (changed: DeliverySearch) => void navigate({ search: (was) => ({ ...was, ignored: undefined, ...changed }), replace: true });
	const clear = () => {
		setPhone("");
		void navigate({ search: { environment: search.environment } });
	};
	const columns = useDeliveryColumns((row) => (
		<Link to="/account/$product/log/$id" params={{ product, id: row.id }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
			{row.event_type || "–"}
		</Link>
	));
	return (
		<div className={layout.full}>
			<div className={layout.top}>
				<div>
					<PageTitle title={texts.log.title} />
					<p className="quiet">{texts.log.lead}</p>
				</div>
				<span role="status" className="quiet">
					{list.isSuccess && t.deliveries.shown(count, list.hasNextPage)}
				</span>
				<form
					onSubmit={(event) => {
						event.preventDefault();
						setPhone(String(new FormData(event.currentTarget).get("phone") ?? "").trim());
					}}
				>
					<input key={phone} className={layout.select} name="phone" type="search" inputMode="tel" maxLength={40} autoComplete="off" aria-label={texts.log.phone} placeholder={texts.log.phone} title={texts.log.phoneHelp} defaultValue={phone} />
				</form>
				<Button size="xs" variant="default" loading={list.isRefetching} onClick={() => void queries.resetQueries({ queryKey: options.queryKey })}>
					{t.ui.refresh}
				</Button>
			</div>
			<DeliveryFilters search={filters} ignored={search.ignored} onChange={set} names={names} />
			<div className={`panel ${layout.list}`}>
				{list.isPending ? (
					<Loading rows={14} />
				) : list.isError && pages.length === 0 ? (
					<Failed error={list.error} onRetry={() => void list.refetch()} />
				) : count > 0 ? (
					<VirtualTable
						label={texts.log.title}
						columns={columns}
						keyOf={(row) => row.id}
						first={first}
						rows={pages.flatMap((part) => part.rows)}
						more={moreOf(list)}
					/>
				) : tokensOf(filters).length > 0 || phone ? (
					<NothingMatches onClear={clear} />
				) : (
					<Empty
						title={texts.log.emptyTitle}
						next={
							<Link to="/account/$product/connect" params={{ product }} search={{ environment: search.environment }}>
								{texts.integrations.connect}
							</Link>
						}
					>
						{texts.log.empty}
					</Empty>
				)}
			</div>
		</div>
	);
}
