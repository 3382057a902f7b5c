import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { FilterBar } from "../../ui/FilterBar";
import { ConfirmDialog, FormDialog, Secret } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import { Overlap } from "../../ui/Overlap";
import page from "../../ui/page.module.css";
import { Status } from "../../ui/Status";
import { TenantName } from "../../ui/TenantName";
import { TenantSelect } from "../../ui/TenantSelect";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import classes from "./Keys.module.css";
import { createKey, type Key, keysQuery, revokeKey, rotateKey, stateOf } from "./queries";
import { keysSearch, parseToken, tokenNames } from "./search";

const route = getRouteApi("/shell/keys");
const shapes = { active: "delivered", replaced: "pending", expired: "parked", revoked: "failed" };
type Act = { name: "create" | "rotate" | "revoke"; key?: Key };

export function Keys() {
	const { t } = useLanguage();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const admin = useAdmin();
	const filters = keysSearch(search);
	const list = useInfiniteQuery(keysQuery(environment, filters));
	const [act, setAct] = useState<Act>();
	const columns: Column<Key>[] = [
		{ title: t.keys.state, width: "108px", cell: (row) => <Status status={shapes[stateOf(row)]} text={t.keys.states[stateOf(row)]} /> },
		{
			title: t.keys.key,
			width: "minmax(190px, 1.4fr)",
			cell: (row) => (
				<Link to="/audit" search={{ environment: search.environment, id: row.id, tenant: row.tenant_id }} className={page.name} title={t.keys.history} data-row-link>
					<span className="mono">
						{row.prefix}…{row.last4}
					</span>{" "}
					<span className="quiet">{row.name}</span>
				</Link>
			),
		},
		{ title: t.ui.tenant, width: "minmax(100px, 1fr)", cell: (row) => <TenantName id={row.tenant_id} /> },
		{ title: t.keys.use, width: "172px", cell: (row) => <Use row={row} /> },
		{ title: t.keys.used, width: "92px", cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} focusable={false} /> : <span className="quiet">{t.keys.never}</span>) },
		{ title: t.keys.until, width: "92px", cell: (row) => (row.expires_at ? <Time at={row.expires_at} focusable={false} /> : <span className="quiet">–</span>) },
		{
			title: t.keys.actions,
			width: "150px",
			cell: (row) =>
				admin &&
				!row.revoked_at && (
					<>
						{stateOf(row) === "active" && (
							<Button size="compact-xs" variant="default" onClick={() => setAct({ name: "rotate", key: row })}>
								{t.keys.rotate}
							</Button>
						)}{" "}
						<Button size="compact-xs" variant="default" className={page.bad} onClick={() => setAct({ name: "revoke", key: row })}>
							{t.keys.revoke}
						</Button>
					</>
				),
		},
	];
	const create = admin ? (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{t.keys.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen
			title={t.keys.title}
			lead={t.keys.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: t.keys.emptyTitle, text: t.keys.empty, next: create }}
			actions={create}
			filters={
				<FilterBar
					tokens={tokenNames.flatMap((name) => (filters[name] ? [{ name, value: filters[name] }] : []))}
					names={tokenNames}
					parse={parseToken}
					onAdd={(token) => void navigate({ search: (was) => ({ ...was, [token.name]: token.value }), replace: true })}
					onRemove={(token) => void navigate({ search: (was) => ({ ...was, [token.name]: undefined }), replace: true })}
				/>
			}
		>
			{act && <Acting act={act} tenant={filters.tenant} onClose={() => setAct(undefined)} />}
		</ListScreen>
	);
}

/** Use shows what a key used of its rate, as a bar and in words. */
function Use({ row }: { row: Key }) {
	const { t } = useLanguage();
	if (row.rate === "0") return <span className="quiet">{t.keys.unlimited}</span>;
	const [limit = "", period = ""] = row.rate.split("-");
	const text = `${row.used ?? "–"} / ${limit} ${t.keys.periods[period] ?? period}`;
	if (row.used === null) return <span className="quiet">{text}</span>;
	return (
		<span className={classes.use}>
			<meter min={0} max={Number(limit)} value={row.used} aria-label={t.keys.use} />
			<span>{text}</span>
		</span>
	);
}

function Acting({ act, tenant, onClose }: { act: Act; tenant?: string; onClose: () => void }) {
	const { t } = useLanguage();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const onDone = () => queries.invalidateQueries({ queryKey: ["keys"] });
	const result = ({ api_key }: { api_key: string }) => <Secret text={t.keys.made} value={api_key} label={t.keys.key} onClose={onClose} />;
	const { key } = act;
	if (!key)
		return (
			<FormDialog
				title={t.keys.create}
				onClose={onClose}
				onDone={onDone}
				result={result}
				send={({ text, maybe }) => {
					const until = maybe("until");
					return createKey({ tenant_id: text("tenant"), name: maybe("name"), environment, scopes: maybe("scopes")?.split(/[\s,]+/), rate: maybe("rate"), expires_at: until && new Date(until).toISOString() });
				}}
			>
				<TenantSelect tenant={tenant} />
				<TextInput name="name" maxLength={120} label={t.keys.name} description={t.keys.nameHelp} />
				<TextInput name="scopes" maxLength={500} label={t.keys.scopes} description={t.keys.scopesHelp} />
				<TextInput name="rate" maxLength={20} pattern="0|[1-9]\d*-[SMHD]" label={t.keys.rate} description={t.keys.rateHelp} />
				<TextInput name="until" type="datetime-local" label={t.keys.until} description={t.keys.untilHelp} />
			</FormDialog>
		);
	const shown = `${key.prefix}…${key.last4}`;
	if (act.name === "revoke") return <ConfirmDialog title={t.keys.revoke} text={t.keys.revokeText(shown)} onClose={onClose} onDone={onDone} send={() => revokeKey(key.id)} />;
	return (
		<FormDialog title={t.keys.rotate} onClose={onClose} onDone={onDone} result={result} send={({ text }) => rotateKey(key.id, Number(text("overlap")))}>
			<p>{t.keys.rotateText(shown)}</p>
			<Overlap />
		</FormDialog>
	);
}
