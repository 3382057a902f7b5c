import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { FilterBar } from "../../ui/FilterBar";
import { KeyDialog } from "../../ui/keys/KeyDialog";
import { type KeyAct, KeyName, useKeyColumns } from "../../ui/keys/keyColumns";
import classes from "./Keys.module.css";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { TenantName } from "../../ui/TenantName";
import { TenantSelect } from "../../ui/TenantSelect";
import { useAdmin } from "../../ui/useAdmin";
import { createKey, type Key, keysQuery, revokeKey, rotateKey } from "./queries";
import { keysSearch, parseToken, tokenNames } from "./search";

const route = getRouteApi("/shell/keys");

export function Keys() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const admin = useAdmin();
	const filters = keysSearch(search);
	const list = useInfiniteQuery(keysQuery(environment, filters));
	const [act, setAct] = useState<KeyAct<Key>>();
	const columns = useKeyColumns<Key>({
		name: (row) => (
			<Link to="/audit" search={{ environment: search.environment, id: row.id, tenant: row.tenant_id }} className={layout.name} title={screens.keys.history} data-row-link>
				<KeyName row={row} />
			</Link>
		),
		between: [
			{ title: t.ui.tenant, width: "minmax(100px, 1fr)", cell: (row) => <TenantName id={row.tenant_id} /> },
			{ title: screens.keys.use, width: "172px", cell: (row) => <Use row={row} /> },
		],
		canChange: admin,
		onAct: setAct,
	});
	const create = admin ? (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{screens.keys.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen
			title={screens.keys.title}
			lead={screens.keys.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: screens.keys.emptyTitle, text: screens.keys.empty, next: create }}
			actions={create}
			filters={
				<FilterBar
					tokens={tokenNames.flatMap((name) => (filters[name] ? [{ name, value: filters[name] }] : []))}
					names={tokenNames}
					parse={parseToken}
					onAdd={(added) => void navigate({ search: (was) => ({ ...was, ...added }), replace: true })}
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
	const screens = useScreenTexts();
	if (row.rate === "0") return <span className="quiet">{screens.keys.unlimited}</span>;
	const [limit = "", period = ""] = row.rate.split("-");
	const text = `${row.used ?? "–"} / ${limit} ${screens.keys.periods[period] ?? period}`;
	if (row.used === null) return <span className="quiet">{text}</span>;
	return (
		<span className={classes.use}>
			<meter min={0} max={Number(limit)} value={row.used} aria-label={screens.keys.use} />
			<span>{text}</span>
		</span>
	);
}

function Acting({ act, tenant, onClose }: { act: KeyAct<Key>; tenant?: string; onClose: () => void }) {
	const screens = useScreenTexts();
	const environment = useEnvironment();
	const queries = useQueryClient();
	return (
		<KeyDialog
			act={act}
			onClose={onClose}
			onDone={() => queries.invalidateQueries({ queryKey: ["keys"] })}
			create={(draft, { text, maybe }) => createKey({ ...draft, tenant_id: text("tenant"), environment, rate: maybe("rate") })}
			rotate={rotateKey}
			revoke={revokeKey}
			before={<TenantSelect tenant={tenant} />}
			more={<TextInput name="rate" maxLength={20} pattern="0|[1-9]\d*-[SMHD]" label={screens.keys.rate} description={screens.keys.rateHelp} />}
		/>
	);
}
