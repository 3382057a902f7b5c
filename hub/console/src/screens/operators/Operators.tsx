import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Check, ConfirmDialog, FormDialog, Select, type Values } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { createOperator, deleteOperator, type Operator, operatorsQuery, updateOperator } from "./queries";

const route = getRouteApi("/shell/operators");
type OpenDialog = { name: "create" | "change" | "delete"; operator?: Operator };

export function Operators() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const { environment } = route.useSearch();
	const admin = useAdmin();
	const queries = useQueryClient();
	const list = useInfiniteQuery(operatorsQuery);
	const [act, setAct] = useState<OpenDialog>();
	const columns: Column<Operator>[] = [
		{ title: screens.keys.state, width: "112px", cell: (row) => <Status status={row.disabled ? "parked" : "delivered"} text={row.disabled ? screens.operators.disabled : screens.operators.enabled} /> },
		{
			title: t.ui.name,
			width: "minmax(140px, 1fr)",
			cell: (row) => (
				<Link to="/audit" search={{ environment, actor: row.id }} className={layout.name} title={screens.operators.history} data-row-link>
					{row.name}
				</Link>
			),
		},
		{ title: t.login.email, width: "minmax(180px, 1.4fr)", cell: (row) => row.email },
		{ title: screens.operators.role, width: "minmax(110px, 0.7fr)", cell: (row) => t.app.roles[row.role] },
		{ title: screens.operators.since, width: "104px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
		{
			title: screens.keys.actions,
			width: "160px",
			cell: (row) =>
				admin && (
					<>
						<Button size="compact-xs" variant="default" onClick={() => setAct({ name: "change", operator: row })}>
							{screens.operators.change}
						</Button>{" "}
						<Button size="compact-xs" variant="default" className={layout.bad} onClick={() => setAct({ name: "delete", operator: row })}>
							{t.ui.delete}
						</Button>
					</>
				),
		},
	];
	const onClose = () => setAct(undefined);
	const onDone = () => queries.invalidateQueries({ queryKey: ["operators"] });
	const create = admin ? (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{screens.operators.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen title={screens.operators.title} lead={screens.operators.lead} list={list} columns={columns} keyOf={(row) => row.id} empty={{ title: screens.operators.emptyTitle, text: screens.operators.empty, next: create }} actions={create}>
			{act?.name === "create" && (
				<FormDialog title={screens.operators.create} onClose={onClose} onDone={onDone} send={(values) => createOperator({ ...fieldsOf(values), password: values.raw("password") })}>
					<Fields required />
				</FormDialog>
			)}
			{act?.name === "change" && act.operator && (
				<FormDialog
					title={screens.operators.change}
					onClose={onClose}
					onDone={onDone}
					send={(values) => updateOperator(act.operator!, { ...fieldsOf(values), password: values.raw("password") || undefined, disabled: values.checked("disabled") })}
				>
					<Fields operator={act.operator} />
					<Check name="disabled" label={screens.operators.disable} checked={act.operator.disabled} />
				</FormDialog>
			)}
			{act?.name === "delete" && act.operator && (
				<ConfirmDialog title={t.ui.delete} text={screens.operators.deleteText(act.operator.email)} onClose={onClose} onDone={onDone} send={() => deleteOperator(act.operator?.id ?? "")} />
			)}
		</ListScreen>
	);
}

const fieldsOf = ({ text }: Values) => ({ name: text("name"), email: text("email"), role: text("role") === "admin" ? ("admin" as const) : ("support" as const) });

function Fields({ operator, required }: { operator?: Operator; required?: boolean }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<>
			<TextInput name="name" required maxLength={120} label={t.ui.name} defaultValue={operator?.name} />
			<TextInput name="email" type="email" required maxLength={254} label={t.login.email} defaultValue={operator?.email} />
			<Select
				name="role"
				label={screens.operators.role}
				value={operator?.role ?? "support"}
				options={[
					["support", `${t.app.roles.support}: ${screens.operators.support}`],
					["admin", `${t.app.roles.admin}: ${screens.operators.admin}`],
				]}
			/>
			<PasswordInput name="password" autoComplete="new-password" required={required} minLength={10} maxLength={200} label={t.login.password} description={required ? screens.operators.password : screens.operators.newPassword} />
		</>
	);
}
