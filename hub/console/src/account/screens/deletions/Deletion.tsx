import { Button, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { uuid } from "../../../app/search";
import { useLanguage } from "../../../i18n";
import { Copy } from "../../../ui/Copy";
import { Detail, type Fact, Facts, Loaded } from "../../../ui/Detail";
import { ConfirmDialog } from "../../../ui/Form";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import { useTexts } from "../../i18n";
import { DeletionState, PeerState } from "./DeletionState";
import { acknowledge, type Deletion as Shown, type DeletionPeer, deletionQuery, deletionsKey, usersQuery } from "./queries";

const route = getRouteApi("/account/$product/deletions/$id");

/** Deletion is one request to erase a patient, with what each connected product said. */
export function Deletion() {
	const { deletions: texts } = useTexts();
	const { id, product } = route.useParams();
	const environment = useEnvironment();
	const deletion = useQuery({ ...deletionQuery(environment, id), enabled: uuid.test(id) });
	return (
		<Loaded query={deletion} what={texts.what} id={id}>
			{(data) => (
				<Detail
					back={
						<Link to="/account/$product/deletions" params={{ product }} search={(was) => ({ environment: was.environment })}>
							{texts.title}
						</Link>
					}
					title={texts.heading}
					state={<DeletionState status={data.status} />}
				>
					<DeletionFacts deletion={data} />
					<Peers deletion={data} />
				</Detail>
			)}
		</Loaded>
	);
}

function DeletionFacts({ deletion }: { deletion: Shown }) {
	const { deletions: texts } = useTexts();
	const id = (value: string) => (
		<>
			<span className="mono">{value}</span> <Copy text={value} />
		</>
	);
	const facts: Fact[] = [
		[texts.request, id(deletion.id)],
		[texts.patient, id(deletion.patient_id)],
		[texts.requested, <Time key="requested" at={deletion.requested_at} />],
		[texts.completed, deletion.completed_at ? <Time key="completed" at={deletion.completed_at} /> : texts.notYet],
	];
	return <Facts facts={facts} />;
}

function Peers({ deletion }: { deletion: Shown }) {
	const { deletions: texts } = useTexts();
	const [asked, setAsked] = useState<DeletionPeer>();
	const users = useQuery({ ...usersQuery, enabled: deletion.peers.some((peer) => peer.acknowledged_by) });
	const name = (id: string) => users.data?.find((user) => user.id === id)?.name ?? id;
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="peers">
			<h2 id="peers">{texts.peers}</h2>
			{deletion.peers.length === 0 ? (
				<p className="quiet">{texts.noPeers}</p>
			) : (
				<div className={layout.scroll}>
					<table className={layout.table}>
						<thead>
							<tr>
								<th scope="col">{texts.peer}</th>
								<th scope="col">{texts.status}</th>
								<th scope="col">{texts.acknowledged}</th>
								<th scope="col">{texts.note}</th>
								<th scope="col">
									<span className="visually-hidden">{texts.acknowledge}</span>
								</th>
							</tr>
						</thead>
						<tbody>
							{deletion.peers.map((peer) => (
								<tr key={peer.product}>
									<td>{peer.product}</td>
									<td>
										<PeerState status={peer.status} />
										{peer.disconnected_at && peer.status !== "acknowledged" && (
											<div className="quiet">
												{texts.ended} <Time at={peer.disconnected_at} />: {texts.endedHelp}
											</div>
										)}
									</td>
									<td>
										{peer.acknowledged_at ? <Time at={peer.acknowledged_at} /> : "–"}
										{peer.acknowledged_at && <span className="quiet"> · {peer.acknowledged_by ? name(peer.acknowledged_by) : texts.byProduct}</span>}
									</td>
									<td>{peer.note ?? "–"}</td>
									<td>
										{peer.status !== "acknowledged" && (
											<Button size="compact-xs" variant="default" onClick={() => setAsked(peer)} aria-label={`${texts.acknowledge}: ${peer.product}`}>
												{texts.acknowledge}
											</Button>
										)}
									</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
			)}
			<p className="quiet">{texts.help[deletion.status]}</p>
			{asked && <Acknowledge deletion={deletion} peer={asked} onClose={() => setAsked(undefined)} />}
		</section>
	);
}

/** Acknowledge records that a product was informed by other means. */
function Acknowledge({ deletion, peer, onClose }: { deletion: Shown; peer: DeletionPeer; onClose: () => void }) {
	const { t } = useLanguage();
	const { deletions: texts } = useTexts();
	const environment = useEnvironment();
	const queries = useQueryClient();
	return (
		<ConfirmDialog
			title={texts.acknowledge}
			text={texts.acknowledgeText(peer.product)}
			name={peer.product}
			nameLabel={`${t.ui.product}: ${peer.product}`}
			onClose={onClose}
			send={async ({ maybe }) => queries.setQueryData(deletionQuery(environment, deletion.id).queryKey, await acknowledge(environment, deletion.id, peer.product, maybe("note")))}
			onDone={() => queries.invalidateQueries({ queryKey: deletionsKey })}
		>
			<TextInput name="note" maxLength={500} label={texts.note} description={texts.noteHelp} />
		</ConfirmDialog>
	);
}
