import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useSession } from "../../app/session";
import { useScreenTexts } from "../../i18n/screens";
import { Checklist, type Connecting } from "../../ui/connect/Checklist";
import classes from "../../ui/connect/Connect.module.css";
import { PeerForm } from "../../ui/connect/PeerForm";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Failed, Forbidden, Loading } from "../../ui/states";
import { integrationQuery } from "../integration/queries";
import type { Integration } from "../integrations/queries";
import { connect, connectedQuery, link, localTenantsQuery, type Tenant, type Wanted } from "./queries";

const route = getRouteApi("/shell/connect");
const maxPairs = 12; // that are offered; beyond them accounts are chosen from lists

export function Connect() {
	const screens = useScreenTexts();
	const session = useSession();
	const { q = "" } = route.useSearch();
	const tenants = useQuery(localTenantsQuery(q));
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={screens.connect.title} />
					<p className="quiet">{screens.connect.lead}</p>
				</div>
			</div>
			{session.operator.role !== "admin" ? (
				<div className="panel">
					<Forbidden />
				</div>
			) : tenants.isPending ? (
				<div className="panel">
					<Loading rows={10} />
				</div>
			) : !tenants.data ? (
				<div className="panel">
					<Failed error={tenants.error} onRetry={() => void tenants.refetch()} />
				</div>
			) : (
				<div className={classes.columns}>
					<Local tenants={tenants.data} />
					<Other tenants={tenants.data} />
				</div>
			)}
		</div>
	);
}

/** useConnecting runs a way to connect and reads again what it changed. */
function useConnecting<V>(mutationFn: (wanted: V) => Promise<Integration>) {
	const queries = useQueryClient();
	return useMutation({ mutationFn, gcTime: 0, onSettled: () => queries.invalidateQueries({ queryKey: ["integrations"] }) });
}

const nameOf = (tenant: Tenant) => `${tenant.name} (${tenant.product})`;

function Local({ tenants }: { tenants: Tenant[] }) {
	const screens = useScreenTexts();
	const { q } = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const connected = useQuery(connectedQuery(environment));
	const [pair, setPair] = useState<[string, string]>(["", ""]);
	const connecting = useConnecting(([a, b]: [Tenant, Tenant]) => link(environment, a, b));
	const find = (id: string) => tenants.find((tenant) => tenant.id === id);
	const [a, b] = [find(pair[0]), find(pair[1])];
	const pairs = tenants.flatMap((first, index) => tenants.slice(index + 1).flatMap((second) => (first.product === second.product ? [] : [[first, second] as const])));
	const isConnected = (first: Tenant, second: Tenant) => Boolean(connected.data?.has(`${first.id} ${second.id}`) || connected.data?.has(`${second.id} ${first.id}`));
	const choose = (next: [string, string]) => {
		setPair(next);
		connecting.reset();
	};
	return (
		<section className={`panel ${layout.section} ${classes.section}`} aria-labelledby="local">
			<h2 id="local">{screens.connect.local}</h2>
			<p className="quiet">{screens.connect.localLead}</p>
			{(tenants.length > 20 || q) && (
				<form
					onSubmit={(event) => {
						event.preventDefault();
						const value = new FormData(event.currentTarget).get("q");
						void navigate({ search: (was) => ({ ...was, q: String(value).trim() || undefined }), replace: true });
					}}
				>
					<TextInput name="q" size="xs" type="search" maxLength={120} label={screens.connect.findTenant} defaultValue={q} />
				</form>
			)}
			{pairs.length === 0 ? (
				<p>{screens.connect.noneLocal}</p>
			) : pairs.length <= maxPairs ? (
				<fieldset className={classes.pairs}>
					<legend className="visually-hidden">{screens.connect.local}</legend>
					{pairs.map(([first, second]) => (
						<label key={`${first.id} ${second.id}`} className={classes.pair}>
							<input type="radio" name="pair" checked={pair[0] === first.id && pair[1] === second.id} onChange={() => choose([first.id, second.id])} />
							<span>{screens.connect.pair(nameOf(first), nameOf(second))}</span>
							{isConnected(first, second) && <span className="quiet">{screens.connect.connected}</span>}
						</label>
					))}
				</fieldset>
			) : (
				<div className={classes.lists}>
					<Accounts label={screens.connect.first} value={pair[0]} tenants={tenants} onChange={(id) => choose([id, ""])} />
					<Accounts label={screens.connect.second} value={pair[1]} tenants={tenants.filter((tenant) => a && tenant.product !== a.product)} onChange={(id) => choose([pair[0], id])} />
				</div>
			)}
			<Button size="sm" disabled={!a || !b} loading={connecting.isPending} onClick={() => a && b && connecting.mutate([a, b])}>
				{screens.connect.submit}
			</Button>
			{!connecting.isIdle && <Followed connecting={connecting} />}
		</section>
	);
}

function Accounts(props: { label: string; value: string; tenants: Tenant[]; onChange: (id: string) => void; name?: string }) {
	const screens = useScreenTexts();
	return (
		<label className={classes.account}>
			{props.label}
			<select className={layout.select} name={props.name} required value={props.value} onChange={(event) => props.onChange(event.target.value)}>
				<option value="">{screens.connect.choose}</option>
				{props.tenants.map((tenant) => (
					<option key={tenant.id} value={tenant.id}>
						{nameOf(tenant)}
					</option>
				))}
			</select>
		</label>
	);
}

function Other({ tenants }: { tenants: Tenant[] }) {
	const screens = useScreenTexts();
	const environment = useEnvironment();
	const [tenant, setTenant] = useState(tenants.length === 1 ? tenants[0]!.id : "");
	const connecting = useConnecting((wanted: Wanted) => connect(environment, wanted));
	return (
		<section className={`panel ${layout.section} ${classes.section}`} aria-labelledby="other">
			<h2 id="other">{screens.connect.other}</h2>
			<p className="quiet">{screens.connect.otherLead}</p>
			<PeerForm busy={connecting.isPending} onSubmit={(wanted) => connecting.mutate({ tenant_id: tenant, ...wanted })}>
				<Accounts name="tenant" label={screens.connect.tenant} value={tenant} tenants={tenants} onChange={setTenant} />
			</PeerForm>
			{!connecting.isIdle && <Followed connecting={connecting} />}
		</section>
	);
}

/** Followed is the checklist of what was asked for here, with the link to what was made. */
function Followed({ connecting }: { connecting: Connecting<Integration> }) {
	const { environment } = route.useSearch();
	const id = connecting.data?.id ?? "";
	const followed = useQuery({ ...integrationQuery(id), enabled: id !== "" && connecting.data?.status !== "active" });
	return (
		<Checklist
			connecting={connecting}
			followed={followed}
			link={(id, text) => (
				<Link to="/integrations/$id" params={{ id }} search={{ environment }}>
					{text}
				</Link>
			)}
		/>
	);
}
