import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { ListScreen } from "../../../ui/ListScreen";
import layout from "../../../ui/layout.module.css";
import type { Column } from "../../../ui/VirtualTable";
import { useTexts } from "../../i18n";
import { ConnectionState, LiveState } from "./ConnectionState";
import { pollingOf, useLiveConnections } from "./live";
import { NewConnection } from "./NewConnection";
import { type Connection, connectionsQuery } from "./queries";

const route = getRouteApi("/account/$product/connections");

/** Connections lists the company's sessions of chat networks, as they stand now. */
export function Connections() {
	const { connections: texts } = useTexts();
	const { product } = route.useParams();
	const live = useLiveConnections();
	const list = useQuery(connectionsQuery(pollingOf(live)));
	const [creating, setCreating] = useState(false);
	const columns: Column<Connection>[] = [
		{ title: texts.status, width: "210px", cell: (row) => <ConnectionState status={row.status} /> },
		{
			title: texts.name,
			width: "minmax(150px, 1.2fr)",
			cell: (row) => (
				<Link to="/account/$product/connections/$id" params={{ product, id: String(row.id) }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
					{row.name} {row.isDefault && <span className="quiet">· {texts.default}</span>}
				</Link>
			),
		},
		{ title: texts.driver, width: "minmax(120px, 0.8fr)", cell: (row) => texts.drivers[row.driver] ?? row.driver },
		{ title: texts.number, width: "150px", cell: (row) => row.number ?? <span className="quiet">–</span> },
		{ title: texts.queues, width: "minmax(110px, 1fr)", cell: (row) => <span className="quiet">{row.queues.map((queue) => queue.name).join(", ") || "–"}</span> },
		{ title: texts.error, width: "minmax(150px, 1.4fr)", cell: (row) => <span className="quiet">{row.lastError ?? "–"}</span> },
	];
	const create = (
		<Button size="xs" onClick={() => setCreating(true)}>
			{texts.create}
		</Button>
	);
	return (
		<ListScreen
			title={texts.title}
			lead={texts.lead}
			list={list}
			columns={columns}
			keyOf={(row) => String(row.id)}
			empty={{ title: texts.emptyTitle, text: texts.empty, next: create }}
			actions={
				<>
					<LiveState live={live} />
					{(list.data?.length ?? 0) > 0 && create}
				</>
			}
		>
			{creating && <NewConnection onClose={() => setCreating(false)} />}
		</ListScreen>
	);
}
