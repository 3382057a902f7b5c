import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Actions } from "../../ui/Detail";
import { detailOf } from "../../ui/errors";
import { EventTypeNames } from "../../ui/EventTypeNames";
import { Check, ConfirmDialog, FormDialog, Secret, Select } from "../../ui/Form";
import { Overlap } from "../../ui/Overlap";
import layout from "../../ui/layout.module.css";
import { TimeField, useInstant } from "../../ui/TimeField";
import { useAdmin } from "../../ui/useAdmin";
import { useForgetting } from "../../ui/useForgetting";
import type { Endpoint } from "../endpoints/queries";
import { ReceiverFields, receiverSettings } from "../endpoints/ReceiverFields";
import { Ping } from "./Ping";
import { changeSettings, countMissed, deleteEndpoint, recover, rotateSecret, setEnabled } from "./queries";

export function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const admin = useAdmin();
	const queries = useQueryClient();
	const navigate = useNavigate();
	const [dialog, setDialog] = useState<"ping" | "edit" | "rotate" | "recover" | "delete">();
	const onClose = () => setDialog(undefined);
	const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ["endpoint", endpoint.id] }), queries.invalidateQueries({ queryKey: ["endpoints"] })]);
	const [done, setDone] = useState("");
	const act = useMutation({
		mutationFn: (name: "enable" | "disable") => setEnabled(endpoint.id, name === "enable"),
		onMutate: () => setDone(""),
		onSuccess: (_, name) => setDone(screens.endpoints.done[name]),
		onSettled: refresh,
	});
	const openPing = () => {
		act.reset();
		setDone("");
		setDialog("ping");
	};
	const pinged = (eventType: string) => {
		setDone(screens.endpoints.pinged(eventType));
		void refresh();
	};
	const other = endpoint.enabled ? "disable" : "enable";
	return (
		<Actions bad={act.isError} said={act.isError ? `${t.ui.failed} ${detailOf(act.error)}` : done}>
			{admin && (
				<>
					<Button size="xs" disabled={!endpoint.enabled} onClick={openPing}>
						{screens.endpoints.ping}
					</Button>
					<Button size="xs" variant="default" onClick={() => setDialog("edit")}>
						{screens.endpoints.edit}
					</Button>
					<Button size="xs" variant="default" onClick={() => setDialog("rotate")}>
						{t.integrations.rotate}
					</Button>
				</>
			)}
			<Button size="xs" variant="default" onClick={() => setDialog("recover")}>
				{screens.endpoints.recover}
			</Button>
			{admin && (
				<>
					<Button size="xs" variant={endpoint.enabled ? "default" : "filled"} loading={act.isPending && act.variables === other} onClick={() => act.mutate(other)}>
						{t.integrations[other]}
					</Button>
					<Button size="xs" variant="default" className={layout.bad} onClick={() => setDialog("delete")}>
						{t.ui.delete}
					</Button>
				</>
			)}
			{dialog === "ping" && <Ping endpoint={endpoint} onClose={onClose} onDone={pinged} />}
			{dialog === "edit" && <Settings endpoint={endpoint} onClose={onClose} onDone={refresh} />}
			{dialog === "rotate" && (
				<FormDialog
					title={t.integrations.rotate}
					onClose={onClose}
					onDone={refresh}
					send={({ text }) => rotateSecret(endpoint.id, Number(text("overlap")), text("switch") === "end" ? "end" : "now")}
					result={({ secret, notices }) => (
						<>
							{notices.map((notice) => (
								<p key={notice}>{notice}</p>
							))}
							<Secret text={t.ui.newSecret} value={secret} label={t.integrations.secret} onClose={onClose} />
						</>
					)}
				>
					<p>{screens.endpoints.rotateText}</p>
					<Overlap />
					<Select name="switch" label={screens.endpoints.switch} value="now" options={[["now", screens.endpoints.switches.now], ["end", screens.endpoints.switches.end]]} />
				</FormDialog>
			)}
			{dialog === "recover" && <Recover endpoint={endpoint} onClose={onClose} />}
			{dialog === "delete" && (
				<ConfirmDialog title={t.ui.delete} text={screens.endpoints.deleteText(new URL(endpoint.url).host)} name={new URL(endpoint.url).host} onClose={onClose} send={() => deleteEndpoint(endpoint.id)} onDone={() => navigate({ to: "/endpoints" })} />
			)}
		</Actions>
	);
}

/** Settings changes what an endpoint gets, and where. */
function Settings({ endpoint, onClose, onDone }: { endpoint: Endpoint; onClose: () => void; onDone: () => unknown }) {
	const screens = useScreenTexts();
	return (
		<FormDialog title={screens.endpoints.edit} onClose={onClose} onDone={onDone} send={(values) => changeSettings(endpoint, { url: values.text("url"), event_types: values.text("types").split(/[\s,]+/), description: values.text("description"), filter: values.text("filter"), ordered: values.checked("ordered"), ...receiverSettings(values) })}>
			<TextInput name="url" type="url" required maxLength={2048} defaultValue={endpoint.url} label={screens.endpoints.url} description={screens.endpoints.urlHelp} />
			<EventTypeNames value={endpoint.event_types.join(", ")} tenant={endpoint.tenant_id} />
			<TextInput name="filter" maxLength={2048} defaultValue={endpoint.filter ?? ""} label={screens.endpoints.filter} description={screens.endpoints.filterHelp} />
			<Check name="ordered" label={screens.order.ordered} help={screens.order.orderedHelp} checked={endpoint.ordered} />
			<TextInput name="description" maxLength={500} defaultValue={endpoint.description} label={screens.endpoints.description} />
			<ReceiverFields hasHeaders={Object.keys(endpoint.headers).length > 0} hasCertificate={endpoint.client_certificate !== null} />
		</FormDialog>
	);
}

/** Recover counts what the endpoint missed, and then sends it. */
function Recover({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
	const screens = useScreenTexts();
	const navigate = useNavigate();
	const instant = useInstant();
	const [counted, setCounted] = useState<{ since: string; count: number }>();
	useForgetting(counted, () => setCounted(undefined));
	return (
		<FormDialog
			title={screens.endpoints.recover}
			submit={counted ? screens.endpoints.sendMissed(counted.count) : screens.replays.count}
			disabled={counted?.count === 0}
			onClose={onClose}
			send={async ({ text }) => {
				const since = instant(text("since")) ?? "";
				if (counted?.since === since) {
					await navigate({ to: "/replays/$id", params: { id: await recover(endpoint.id, since) } });
					return;
				}
				setCounted({ since, count: await countMissed(endpoint.id, since) });
			}}
			stay={!counted}
		>
			<p>{screens.endpoints.recoverText}</p>
			<TimeField name="since" required label={screens.endpoints.since} onChange={() => setCounted(undefined)} />
			{counted && <p role="status">{screens.endpoints.missed(counted.count)}</p>}
		</FormDialog>
	);
}
