import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Choice } from "../../ui/Choice";
import { EventTypeNames } from "../../ui/EventTypeNames";
import { FilterBar } from "../../ui/FilterBar";
import { Check, FormDialog, Secret } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Sparkline } from "../../ui/Sparkline";
import { TenantName } from "../../ui/TenantName";
import { TenantSelect } from "../../ui/TenantSelect";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { receiversQuery } from "../integrations/queries";
import { EndpointState } from "./EndpointState";
import { createEndpoint, type Endpoint, endpointsQuery } from "./queries";
import { ReceiverFields, receiverSettings } from "./ReceiverFields";
import { type EndpointsSearch, endpointsSearch, parseToken, states, tokenNames } from "./search";

const route = getRouteApi("/shell/endpoints");

export function Endpoints() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const admin = useAdmin();
	const filters = endpointsSearch(search);
	const list = useInfiniteQuery(endpointsQuery(environment, filters));
	const receivers = useQuery(receiversQuery);
	const [creating, setCreating] = useState(false);
	const set = (changed: EndpointsSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const columns: Column<Endpoint>[] = [
		{ title: screens.endpoints.state, width: "112px", cell: (row) => <EndpointState endpoint={row} brief /> },
		{
			title: screens.endpoints.url,
			width: "minmax(220px, 2fr)",
			cell: (row) => (
				<Link to="/endpoints/$id" params={{ id: row.id }} search={{ environment: search.environment }} className={layout.name} title={row.url} preload={false} data-row-link>
					{row.url}
				</Link>
			),
		},
		{ title: t.ui.tenant, width: "minmax(100px, 1fr)", cell: (row) => <TenantName id={row.tenant_id} /> },
		{ title: screens.endpoints.types, width: "minmax(100px, 1fr)", cell: (row) => <span className="quiet">{row.event_types.join(", ")}</span> },
		{
			title: t.integrations.day,
			width: "140px",
			cell: (row) => {
				const receiver = receivers.data?.get(row.id);
				return receiver?.attempts ? <Sparkline totals={receiver.attempts_by_hour} errors={receiver.errors_by_hour} label={t.integrations.attempts(receiver.attempts, receiver.errors)} /> : <span className="quiet">–</span>;
			},
		},
	];
	const create = admin ? (
		<Button size="xs" onClick={() => setCreating(true)}>
			{screens.endpoints.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen
			title={screens.endpoints.title}
			lead={screens.endpoints.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: screens.endpoints.emptyTitle, text: screens.endpoints.empty, next: create }}
			actions={create}
			filters={
				<FilterBar
					tokens={tokenNames.flatMap((name) => (filters[name] ? [{ name, value: filters[name] }] : []))}
					names={tokenNames}
					parse={parseToken}
					onAdd={set}
					onRemove={(token) => set({ [token.name]: undefined })}
				>
					<Choice label={screens.endpoints.state} value={search.state} values={states} texts={screens.endpoints.states} onChange={(state) => set({ state })} />
				</FilterBar>
			}
		>
			{creating && <Create tenant={filters.tenant} onClose={() => setCreating(false)} />}
		</ListScreen>
	);
}

function Create({ tenant, onClose }: { tenant?: string; onClose: () => void }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const [chosen, setChosen] = useState(tenant);
	return (
		<FormDialog
			title={screens.endpoints.create}
			onClose={onClose}
			onDone={() => queries.invalidateQueries({ queryKey: ["endpoints"] })}
			send={(values) => createEndpoint({ tenant_id: values.text("tenant"), environment, url: values.text("url"), event_types: values.text("types").split(/[\s,]+/), description: values.maybe("description"), filter: values.maybe("filter"), ordered: values.checked("ordered"), ...receiverSettings(values) })}
			result={({ secret }) => <Secret text={t.ui.newSecret} value={secret} label={t.integrations.secret} onClose={onClose} />}
		>
			<TenantSelect tenant={tenant} onChange={setChosen} />
			<TextInput name="url" type="url" required maxLength={2048} label={screens.endpoints.url} description={screens.endpoints.urlHelp} />
			<EventTypeNames tenant={chosen} />
			<TextInput name="filter" maxLength={2048} label={screens.endpoints.filter} description={screens.endpoints.filterHelp} />
			<Check name="ordered" label={screens.order.ordered} help={screens.order.orderedHelp} />
			<TextInput name="description" maxLength={500} label={screens.endpoints.description} />
			<ReceiverFields />
		</FormDialog>
	);
}
