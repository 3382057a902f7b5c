import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { Choice } from "../../../ui/Choice";
import { Filters } from "../../../ui/FilterBar";
import { ListScreen } from "../../../ui/ListScreen";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import type { Column } from "../../../ui/VirtualTable";
import { useTexts } from "../../i18n";
import { DeletionState } from "./DeletionState";
import { type Deletion, deletionsQuery } from "./queries";
import { statuses } from "./search";

const route = getRouteApi("/account/$product/deletions");

/** Deletions is the list of requests to erase patients. */
export function Deletions() {
	const { deletions: texts } = useTexts();
	const { status, environment: _ } = route.useSearch();
	const { product } = route.useParams();
	const navigate = route.useNavigate();
	const list = useInfiniteQuery(deletionsQuery(useEnvironment(), { status }));
	const columns: Column<Deletion>[] = [
		{ title: texts.status, width: "150px", cell: (row) => <DeletionState status={row.status} /> },
		{
			title: texts.request,
			width: "minmax(130px, 1fr)",
			cell: (row) => (
				<Link to="/account/$product/deletions/$id" params={{ product, id: row.id }} search={(was) => ({ environment: was.environment })} className={`${layout.name} mono`} preload={false} data-row-link>
					{row.id.slice(-12)}
				</Link>
			),
		},
		{ title: texts.peers, width: "minmax(200px, 2fr)", cell: (row) => <span className="quiet">{row.peers.map((peer) => `${peer.product}: ${texts.peerStatuses[peer.status]}`).join(", ") || texts.noPeers}</span> },
		{ title: texts.requested, width: "120px", cell: (row) => <Time at={row.requested_at} focusable={false} /> },
		{ title: texts.completed, width: "120px", cell: (row) => (row.completed_at ? <Time at={row.completed_at} focusable={false} /> : <span className="quiet">–</span>) },
	];
	return (
		<ListScreen
			title={texts.title}
			lead={texts.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={status !== undefined}
			onClear={() => void navigate({ search: (was) => ({ environment: was.environment }) })}
			empty={{ title: texts.emptyTitle, text: texts.empty, next: null }}
			filters={
				<Filters>
					<Choice label={texts.status} value={status} values={statuses} texts={texts.statuses} onChange={(status) => void navigate({ search: (was) => ({ ...was, status }), replace: true })} />
				</Filters>
			}
		/>
	);
}
