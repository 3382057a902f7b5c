import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Empty, Failed, Loading } from "../../ui/states";
import { receiversQuery } from "../integrations/queries";
import { State } from "../../ui/integration/State";
import { box, curveOf, type Drawing, type Graph, graphOf, maxDrawn, placeAccounts } from "./graph";
import classes from "./Map.module.css";
import { connectionsQuery } from "./queries";

const route = getRouteApi("/shell/map");
const states = ["good", "some", "bad", "idle"] as const;

/** ConnectionMap shows accounts and their connections, as a diagram and as a table. */
export function ConnectionMap() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const { environment } = route.useSearch();
	const connections = useQuery(connectionsQuery(useEnvironment()));
	const receivers = useQuery(receiversQuery);
	const graph = useMemo(() => graphOf(connections.data?.items ?? [], receivers.data ?? new Map()), [connections.data, receivers.data]);
	const failed = connections.error ?? receivers.error;
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={screens.map.title} />
					<p className="quiet">{screens.map.lead}</p>
				</div>
				{connections.data?.more && <span className="quiet">{screens.map.partial}</span>}
			</div>
			{connections.isPending || receivers.isPending ? (
				<div className="panel">
					<Loading rows={10} />
				</div>
			) : failed && !(connections.data && receivers.data) ? (
				<div className="panel">
					<Failed
						error={failed}
						onRetry={() => {
							void connections.refetch();
							void receivers.refetch();
						}}
					/>
				</div>
			) : graph.edges.length === 0 ? (
				<div className="panel">
					<Empty
						title={screens.map.emptyTitle}
						next={
							<Link to="/connect" search={{ environment }}>
								{t.integrations.connect}
							</Link>
						}
					>
						{screens.map.empty}
					</Empty>
				</div>
			) : (
				<>
					<Diagram graph={graph} />
					<Table graph={graph} />
				</>
			)}
		</div>
	);
}

function Diagram({ graph }: { graph: Graph }) {
	const screens = useScreenTexts();
	const drawing = useMemo(() => placeAccounts(graph), [graph]);
	const drawn = graph.accounts.filter(({ id }) => drawing.places.has(id));
	return (
		<section className={`panel ${layout.section}`} aria-label={screens.map.title}>
			<div className={classes.legend}>
				{states.map((state) => (
					<span key={state}>
						<svg viewBox="0 0 24 8" width="24" height="8" aria-hidden>
							<path className={classes.edge} data-state={state} d="M0 4H24" />
						</svg>
						{screens.map.legend[state]}
					</span>
				))}
				{graph.edges.length > maxDrawn && <span className="quiet">{screens.map.more(maxDrawn, graph.edges.length)}</span>}
			</div>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
			<div className={classes.scroll} tabIndex={0} role="group" aria-label={screens.map.diagram(drawn.length, drawing.edges.length)}>
				<svg width={drawing.width + 2} height={drawing.height} viewBox={`-1 0 ${drawing.width + 2} ${drawing.height}`} role="img" aria-label={screens.map.diagram(drawn.length, drawing.edges.length)}>
					<Nodes drawing={drawing} accounts={drawn} />
				</svg>
			</div>
		</section>
	);
}

function Nodes({ drawing, accounts }: { drawing: Drawing; accounts: Graph["accounts"] }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<>
			{drawing.columns.map(({ product, x }) => (
				<text key={product} className={classes.product} x={x} y={14}>
					{product}
				</text>
			))}
			{drawing.edges.map((edge) => (
				<path key={edge.integration.id} className={classes.edge} data-state={edge.state} d={curveOf(edge, drawing)}>
					<title>{`${edge.integration.tenant_name} → ${edge.integration.product}: ${t.integrations.attempts(edge.attempts, edge.errors)}`}</title>
				</path>
			))}
			{accounts.map((account) => {
				const { x, y } = drawing.places.get(account.id)!;
				return (
					<g key={account.id} transform={`translate(${x} ${y})`}>
						<rect className={classes.account} data-external={account.external || undefined} width={box.width} height={box.height} rx={8} />
						<text className={classes.name} x={12} y={box.height / 2 + 4}>
							{short(account.external ? `${account.name} · ${screens.map.external}` : account.name)}
						</text>
					</g>
				);
			})}
		</>
	);
}

const maxName = 24; // characters that fit into a box
const short = (name: string) => (name.length > maxName ? `${name.slice(0, maxName - 1)}…` : name);

function Table({ graph }: { graph: Graph }) {
	const { t, language } = useLanguage();
	const screens = useScreenTexts();
	const { environment } = route.useSearch();
	const number = new Intl.NumberFormat(language);
	const names = new Map(graph.accounts.map((account) => [account.id, account]));
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="connections">
			<h2 id="connections">{screens.map.table}</h2>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
			<div className={layout.scroll} tabIndex={0} role="group" aria-labelledby="connections">
				<table className={`${layout.table} ${classes.table}`}>
					<thead>
						<tr>
							<th>{screens.map.from}</th>
							<th>{screens.map.to}</th>
							<th>{t.integrations.status}</th>
							<th className={layout.number}>{screens.map.attempts}</th>
							<th className={layout.number}>{screens.map.errors}</th>
							<th>{screens.map.state}</th>
						</tr>
					</thead>
					<tbody>
						{graph.edges.map((edge) => {
							const to = names.get(edge.to)!;
							return (
								<tr key={edge.integration.id}>
									<td>
										<Link to="/integrations/$id" params={{ id: edge.integration.id }} search={{ environment }}>
											{edge.integration.tenant_name}
										</Link>{" "}
										<span className="quiet">· {edge.integration.own_product}</span>
									</td>
									<td>{to.external ? `${to.name} · ${screens.map.external}` : `${to.name} · ${to.product}`}</td>
									<td>
										<State integration={edge.integration} />
									</td>
									<td className={layout.number}>{number.format(edge.attempts)}</td>
									<td className={layout.number}>{number.format(edge.errors)}</td>
									<td>{screens.map.legend[edge.state]}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</section>
	);
}
