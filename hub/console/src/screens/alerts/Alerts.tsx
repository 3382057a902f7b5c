import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { EventTypeNames } from "../../ui/EventTypeNames";
import { detailOf } from "../../ui/errors";
import { Check, ConfirmDialog, FormDialog, Secret, Select, type Values } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import { Overlap } from "../../ui/Overlap";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { TenantName, tenantQuery } from "../../ui/TenantName";
import { TenantSelect } from "../../ui/TenantSelect";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { productsQuery } from "../tenants/queries";
import { type Alert, alertsQuery, createAlert, deleteAlert, rotateSecret, testAlert, updateAlert } from "./queries";

const route = getRouteApi("/shell/alerts");

/** Alerts lists where operators are notified of operational events. */
export function Alerts() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const texts = screens.alerts;
	const { environment } = route.useSearch();
	const admin = useAdmin();
	const queries = useQueryClient();
	const list = useInfiniteQuery(alertsQuery);
	const [act, setAct] = useState<{ name: "create" | "edit" | "rotate" | "delete"; alert?: Alert }>();
	const test = useMutation({ mutationFn: (alert: Alert) => testAlert(alert.id) });
	const columns: Column<Alert>[] = [
		{ title: screens.keys.state, width: "104px", cell: (row) => <State alert={row} /> },
		{
			title: texts.target,
			width: "minmax(180px, 1.6fr)",
			cell: (row) => (
				<Link to="/audit" search={{ environment, resource: "alerts" }} className={layout.name} title={row.target} data-row-link>
					{row.target}
				</Link>
			),
		},
		{ title: texts.kind, width: "80px", cell: (row) => texts.kinds[row.kind] },
		{ title: screens.endpoints.types, width: "minmax(130px, 1.2fr)", cell: (row) => <span className="quiet">{row.events.join(", ")}</span> },
		{ title: texts.about, width: "minmax(140px, 1.4fr)", cell: (row) => <About alert={row} /> },
		{
			title: screens.keys.actions,
			width: "250px",
			cell: (row) =>
				admin && (
					<>
						<Button size="compact-xs" variant="default" disabled={!row.enabled || row.disabled_reason !== null} loading={test.isPending && test.variables.id === row.id} onClick={() => test.mutate(row)}>
							{t.integrations.test}
						</Button>{" "}
						<Button size="compact-xs" variant="default" onClick={() => setAct({ name: "edit", alert: row })}>
							{screens.operators.change}
						</Button>{" "}
						{row.kind === "webhook" && (
							<Button size="compact-xs" variant="default" onClick={() => setAct({ name: "rotate", alert: row })}>
								{screens.keys.rotate}
							</Button>
						)}{" "}
						<Button size="compact-xs" variant="default" className={layout.bad} onClick={() => setAct({ name: "delete", alert: row })}>
							{t.ui.delete}
						</Button>
					</>
				),
		},
	];
	const onClose = () => setAct(undefined);
	const onDone = () => queries.invalidateQueries({ queryKey: ["alerts"] });
	const create = admin ? (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{texts.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen title={texts.title} lead={texts.lead} list={list} columns={columns} keyOf={(row) => row.id} empty={{ title: texts.emptyTitle, text: texts.empty, next: create }} actions={create}>
			<p role="status" className={test.isError ? layout.bad : undefined}>
				{test.isSuccess && texts.tested}
				{test.isError && `${t.ui.failed} ${detailOf(test.error)}`}
			</p>
			{act?.name === "create" && <Creating onClose={onClose} onDone={onDone} />}
			{act?.name === "edit" && act.alert && <Editing alert={act.alert} onClose={onClose} onDone={onDone} />}
			{act?.name === "rotate" && act.alert && <Rotating alert={act.alert} onClose={onClose} onDone={onDone} />}
			{act?.name === "delete" && act.alert && <ConfirmDialog title={t.ui.delete} text={texts.deleteText(act.alert.target)} onClose={onClose} onDone={onDone} send={() => deleteAlert(act.alert?.id ?? "")} />}
		</ListScreen>
	);
}

function State({ alert }: { alert: Alert }) {
	const screens = useScreenTexts();
	const runs = alert.enabled && alert.disabled_reason === null;
	return <Status status={runs ? "delivered" : "parked"} text={runs ? screens.keys.states.active : screens.endpoints.states.disabled} />;
}

/** About shows whose events an alert is about: everybody's, those of a product's tenants, or one tenant's. */
function About({ alert }: { alert: Alert }) {
	const { alerts: texts } = useScreenTexts();
	const tenant = useQuery({ ...tenantQuery(alert.tenant_id ?? ""), enabled: alert.tenant_id !== null });
	if (alert.tenant_id === null) return alert.product ?? <span className="quiet">{texts.all}</span>;
	return (
		<>
			<TenantName id={alert.tenant_id} />
			{tenant.data && ` · ${tenant.data.product}`}
		</>
	);
}

const settingsOf = ({ text, maybe, checked }: Values) => ({
	target: text("target"),
	events: text("types").split(/[\s,]+/),
	product: maybe("product"),
	tenant_id: maybe("tenant"),
	enabled: checked("enabled"),
});

/** Creating makes an alert; the secret of a webhook is shown once. */
function Creating({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	const { alerts: texts } = useScreenTexts();
	const [kind, setKind] = useState<"email" | "webhook">("email");
	return (
		<FormDialog
			title={texts.create}
			onClose={onClose}
			onDone={onDone}
			send={(values) => createAlert({ kind, ...settingsOf(values) })}
			result={({ secret }: { secret: string | null }) => (secret ? <Secret text={t.ui.newSecret} value={secret} label={t.integrations.secret} onClose={onClose} /> : <p role="status">{texts.made}</p>)}
		>
			<Select
				name="kind"
				label={texts.kind}
				value={kind}
				onChange={(value) => setKind(value === "webhook" ? "webhook" : "email")}
				options={[
					["email", texts.kinds.email],
					["webhook", texts.kinds.webhook],
				]}
			/>
			<Fields kind={kind} />
		</FormDialog>
	);
}

/** Rotating replaces the secret of an alert's webhooks; the new one is shown once. */
function Rotating({ alert, onClose, onDone }: { alert: Alert; onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<FormDialog
			title={t.integrations.rotate}
			onClose={onClose}
			onDone={onDone}
			send={({ text }) => rotateSecret(alert.id, Number(text("overlap")))}
			result={({ secret }) => <Secret text={t.ui.newSecret} value={secret ?? ""} label={t.integrations.secret} onClose={onClose} />}
		>
			<p>{screens.endpoints.rotateText}</p>
			<Overlap />
		</FormDialog>
	);
}

/** Editing changes an alert; its kind stays. */
function Editing({ alert, onClose, onDone }: { alert: Alert; onClose: () => void; onDone: () => unknown }) {
	const screens = useScreenTexts();
	return (
		<FormDialog
			title={screens.endpoints.edit}
			onClose={onClose}
			onDone={onDone}
			send={(values) => updateAlert(alert, settingsOf(values))}
		>
			<Fields kind={alert.kind} alert={alert} />
		</FormDialog>
	);
}

const scopes = ["all", "product", "tenant"] as const;

function Fields({ kind, alert }: { kind: Alert["kind"]; alert?: Alert }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const texts = screens.alerts;
	const [about, setAbout] = useState<(typeof scopes)[number]>(alert?.tenant_id ? "tenant" : alert?.product ? "product" : "all");
	const products = useQuery({ ...productsQuery, enabled: about === "product" });
	const names = products.data?.items.map(({ name }) => name) ?? (alert?.product ? [alert.product] : []);
	return (
		<>
			<TextInput name="target" type={kind === "email" ? "email" : "url"} required maxLength={2048} defaultValue={alert?.target} label={texts.targets[kind]} />
			<EventTypeNames value={alert?.events.join(", ") ?? "hub.*"} product="hub" />
			<Select
				name="about"
				label={texts.about}
				value={about}
				onChange={(value) => setAbout(scopes.find((scope) => scope === value) ?? "all")}
				options={scopes.map((scope) => [scope, texts.scopes[scope]])}
			/>
			{about === "product" && <Select key={products.data?.items.length} name="product" required label={t.ui.product} value={alert?.product ?? ""} options={[["", screens.connect.choose], ...names.map((name): [string, string] => [name, name])]} />}
			{about === "tenant" && <TenantSelect tenant={alert?.tenant_id ?? undefined} />}
			<Check name="enabled" label={texts.enabled} checked={alert?.enabled ?? true} />
		</>
	);
}
