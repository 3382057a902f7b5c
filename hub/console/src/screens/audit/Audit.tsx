import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Choice } from "../../ui/Choice";
import { FilterBar } from "../../ui/FilterBar";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { TenantName } from "../../ui/TenantName";
import { Time } from "../../ui/Time";
import type { Column } from "../../ui/VirtualTable";
import { auditQuery, type Entry } from "./queries";
import { type AuditSearch, actions, auditSearch, parseToken, tokenNames } from "./search";

const route = getRouteApi("/shell/audit");

export function Audit() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const queries = useQueryClient();
	const filters = auditSearch(search);
	const list = useInfiniteQuery(auditQuery(filters));
	const set = (changed: AuditSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const columns: Column<Entry>[] = [
		{ title: screens.audit.when, width: "104px", cell: (row) => <Time at={row.at} focusable={false} /> },
		{
			title: screens.audit.who,
			width: "minmax(150px, 1.4fr)",
			cell: (row) => {
				const who = row.actor.label || row.actor.id.slice(0, 8) || screens.audit.actors[row.actor.type];
				return row.actor.id ? (
					<Link to="/audit" search={(was) => ({ ...was, actor: row.actor.id })} className={layout.name} title={screens.audit.actors[row.actor.type]} data-row-link>
						{who}
					</Link>
				) : (
					<span title={screens.audit.actors[row.actor.type]}>{who}</span>
				);
			},
		},
		{
			title: screens.audit.what,
			width: "minmax(140px, 1.2fr)",
			cell: (row) => (
				<>
					<span className="mono">{row.action}</span>
					{row.count > 1 && <span className="quiet"> × {row.count}</span>}
				</>
			),
		},
		{
			title: screens.audit.on,
			width: "96px",
			cell: (row) =>
				row.resource_id && (
					<Link to="/audit" search={(was) => ({ ...was, id: row.resource_id })} className="mono" title={row.resource_id}>
						…{row.resource_id.slice(-8)}
					</Link>
				),
		},
		{ title: t.ui.tenant, width: "minmax(100px, 1fr)", cell: (row) => (row.tenant_id ? <TenantName id={row.tenant_id} /> : <span className="quiet">–</span>) },
		{ title: screens.audit.outcome, width: "72px", cell: (row) => <span className={row.status >= 400 ? layout.bad : "quiet"}>{row.status}</span> },
		{ title: screens.audit.from, width: "120px", cell: (row) => <span className="quiet">{row.ip || "–"}</span> },
	];
	return (
		<ListScreen
			title={screens.audit.title}
			lead={screens.audit.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: screens.audit.emptyTitle, text: screens.audit.empty, next: null }}
			actions={
				<Button size="xs" variant="default" loading={list.isRefetching} onClick={() => void queries.resetQueries({ queryKey: auditQuery(filters).queryKey })}>
					{t.ui.refresh}
				</Button>
			}
			filters={
				<FilterBar
					tokens={tokenNames.flatMap((name) => (filters[name] && (name !== "action" || !actions.some((action) => action === filters.action)) ? [{ name, value: filters[name] }] : []))}
					names={tokenNames}
					example="actor"
					parse={parseToken}
					onAdd={set}
					onRemove={(token) => set({ [token.name]: undefined })}
				>
					<Choice label={screens.audit.what} value={actions.find((action) => action === filters.action)} values={actions} texts={Object.fromEntries(actions.map((action) => [action, action]))} onChange={(action) => set({ action })} />
					<label className={`quiet ${layout.option}`}>
						<input type="checkbox" checked={Boolean(filters.routine)} onChange={(event) => set({ routine: event.target.checked ? "1" : undefined })} /> {screens.audit.routine}
					</label>
				</FilterBar>
			}
		/>
	);
}
