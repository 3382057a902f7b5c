import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { useLanguage } from "../../../i18n";
import { type Fact, Facts } from "../../../ui/Detail";
import { Dialog } from "../../../ui/Dialog";
import { detailOf } from "../../../ui/errors";
import { Masked } from "../../../ui/Masked";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import { useTexts } from "../../i18n";
import classes from "./Inbox.module.css";
import { PatientChoice } from "./PatientChoice";
import { dismissEntry, type InboxEntry, inboxKey, linkEntry, patientQuery } from "./queries";
import { Summary } from "./Summary";

/** EntryDialog is the window of one entry: what it says, and who it may be about. */
export function EntryDialog({ id, entry, onClose }: { id: string; entry?: InboxEntry; onClose: () => void }) {
	const { t } = useLanguage();
	const { inbox: texts } = useTexts();
	const [settled, setSettled] = useState("");
	return (
		<Dialog title={entry ? `${entry.event_type} · ${entry.product}` : texts.what} size="xl" onClose={onClose}>
			<div className={classes.entry}>
				{entry ? <EntryFacts entry={entry} /> : <p>{t.states.missing(texts.what, id)}</p>}
				{settled ? (
					<>
						<p role="status">{settled}</p>
						<Button size="xs" variant="default" onClick={onClose}>
							{t.help.close}
						</Button>
					</>
				) : (
					entry?.status === "open" && <Decision entry={entry} onSettled={setSettled} />
				)}
			</div>
		</Dialog>
	);
}

function EntryFacts({ entry }: { entry: InboxEntry }) {
	const { inbox: texts } = useTexts();
	const facts: Fact[] = [];
	if (entry.status === "open") facts.push([texts.name, <Masked key="name" value={entry.name ?? "–"} />], [texts.phone, <Masked key="phone" value={entry.phone ?? "–"} />], [texts.summary, <Summary key="summary" entry={entry} />]);
	if (entry.patient_id) facts.push([texts.patient, <LinkedPatient key="patient" id={entry.patient_id} />]);
	facts.push([texts.occurred, <Time key="occurred" at={entry.occurred_at} />], [texts.received, <Time key="received" at={entry.received_at} />]);
	if (entry.settled_at) facts.push([texts.settled, <Time key="settled" at={entry.settled_at} />]);
	facts.push([texts.eventID, <span key="event" className="mono">{entry.event_id}</span>]);
	return <Facts facts={facts} />;
}

function LinkedPatient({ id }: { id: string }) {
	const patient = useQuery(patientQuery(useEnvironment(), id));
	return patient.data?.name ?? <span className="mono">{id}</span>;
}

/** Decision links an open entry to a patient, or dismisses it. */
function Decision({ entry, onSettled }: { entry: InboxEntry; onSettled: (text: string) => void }) {
	const { t } = useLanguage();
	const { inbox: texts } = useTexts();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const [patient, setPatient] = useState(entry.suggested_patient_id ?? undefined);
	const act = useMutation({
		mutationFn: async (act: "link" | "dismiss") => {
			if (act === "dismiss" || !patient) return dismissEntry(environment, entry.id).then(() => texts.dismissed);
			const linked = await linkEntry(environment, entry.id, patient);
			return [texts.linked(linked.also_linked), linked.still_linking && texts.stillLinking].filter(Boolean).join(" ");
		},
		onSuccess: async (text) => {
			onSettled(text);
			await queries.invalidateQueries({ queryKey: inboxKey });
		},
	});
	return (
		<>
			<PatientChoice suggested={entry.suggested_patient_id} value={patient} onChange={setPatient} />
			<div className={classes.decision}>
				<Button size="xs" disabled={!patient} loading={act.isPending && act.variables === "link"} onClick={() => act.mutate("link")}>
					{texts.link}
				</Button>
				<Button size="xs" variant="default" loading={act.isPending && act.variables === "dismiss"} onClick={() => act.mutate("dismiss")}>
					{texts.dismiss}
				</Button>
				<span className="quiet">{texts.dismissHelp}</span>
			</div>
			<p role="alert" className={layout.bad}>
				{act.isError && `${t.ui.failed} ${detailOf(act.error)}`}
			</p>
		</>
	);
}
