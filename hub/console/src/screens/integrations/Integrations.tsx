import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { Choice } from "../../ui/Choice";
import { FilterBar } from "../../ui/FilterBar";
import { useIntegrationColumns } from "../../ui/integration/columns";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Sparkline } from "../../ui/Sparkline";
import type { Column } from "../../ui/VirtualTable";
import { type Integration, integrationsQuery, receiversQuery } from "./queries";
import { type IntegrationsSearch, integrationsSearch, parseToken, statuses, tokenNames } from "./search";

const route = getRouteApi("/shell/integrations");

export function Integrations() {
	const { t } = useLanguage();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const filters = integrationsSearch(search);
	const list = useInfiniteQuery(integrationsQuery(environment, filters));
	const receivers = useQuery(receiversQuery);
	const set = (changed: IntegrationsSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const connect = (
		<Button size="xs" renderRoot={(props) => <Link to="/connect" search={{ environment: search.environment }} {...props} />}>
			{t.integrations.connect}
		</Button>
	);
	const shared = useIntegrationColumns();
	const columns: Column<Integration>[] = [
		shared.state,
		{
			title: t.integrations.tenant,
			width: "minmax(170px, 1.4fr)",
			cell: (row) => (
				<Link to="/integrations/$id" params={{ id: row.id }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
					{row.tenant_name} <span className="quiet">· {row.own_product}</span>
				</Link>
			),
		},
		{ title: t.integrations.peer, width: "minmax(100px, 0.8fr)", cell: (row) => row.product },
		{
			title: t.integrations.day,
			width: "150px",
			cell: (row) => {
				const receiver = receivers.data?.get(row.id);
				return receiver?.attempts ? <Sparkline totals={receiver.attempts_by_hour} errors={receiver.errors_by_hour} label={t.integrations.attempts(receiver.attempts, receiver.errors)} /> : <span className="quiet">–</span>;
			},
		},
		shared.checked,
		shared.features,
	];
	return (
		<ListScreen
			title={t.integrations.title}
			lead={t.integrations.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: t.integrations.emptyTitle, text: t.integrations.empty, next: connect }}
			actions={connect}
			filters={
				<FilterBar
					tokens={tokenNames.flatMap((name) => (filters[name] ? [{ name, value: filters[name] }] : []))}
					names={tokenNames}
					parse={parseToken}
					onAdd={set}
					onRemove={(token) => set({ [token.name]: undefined })}
				>
					<Choice label={t.integrations.status} value={search.status} values={statuses} texts={t.integrations.statuses} onChange={(status) => set({ status })} />
				</FilterBar>
			}
		/>
	);
}
