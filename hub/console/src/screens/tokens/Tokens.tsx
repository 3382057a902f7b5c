import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { ConfirmDialog, FormDialog, Secret, Select } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { TimeField, useInstant } from "../../ui/TimeField";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { createToken, deleteToken, type Token, tokensQuery } from "./queries";

const route = getRouteApi("/shell/tokens");

/** Tokens lists the API tokens of programs that administer the hub. */
export function Tokens() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const { environment } = route.useSearch();
	const admin = useAdmin();
	const queries = useQueryClient();
	const list = useInfiniteQuery(tokensQuery);
	const [act, setAct] = useState<{ name: "create" | "delete"; token?: Token }>();
	const columns: Column<Token>[] = [
		{ title: screens.keys.state, width: "108px", cell: (row) => <State token={row} /> },
		{
			title: t.ui.name,
			width: "minmax(150px, 1.4fr)",
			cell: (row) => (
				<Link to="/audit" search={{ environment, actor: row.id }} className={layout.name} title={screens.tokens.history} data-row-link>
					{row.name} <span className="mono quiet">…{row.last4}</span>
				</Link>
			),
		},
		{ title: screens.operators.role, width: "minmax(110px, 0.7fr)", cell: (row) => t.app.roles[row.role] },
		{ title: screens.tokens.createdBy, width: "minmax(140px, 1fr)", cell: (row) => row.created_by },
		{ title: screens.keys.used, width: "100px", cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} focusable={false} /> : <span className="quiet">{screens.keys.never}</span>) },
		{ title: screens.keys.until, width: "100px", cell: (row) => (row.expires_at ? <Time at={row.expires_at} focusable={false} /> : <span className="quiet">–</span>) },
		{
			title: screens.keys.actions,
			width: "100px",
			cell: (row) =>
				admin && (
					<Button size="compact-xs" variant="default" className={layout.bad} onClick={() => setAct({ name: "delete", token: row })}>
						{t.ui.delete}
					</Button>
				),
		},
	];
	const onClose = () => setAct(undefined);
	const onDone = () => queries.invalidateQueries({ queryKey: ["tokens"] });
	const create = admin ? (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{screens.tokens.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen title={screens.tokens.title} lead={screens.tokens.lead} list={list} columns={columns} keyOf={(row) => row.id} empty={{ title: screens.tokens.emptyTitle, text: screens.tokens.empty, next: create }} actions={create}>
			{act?.name === "create" && <Creating onClose={onClose} onDone={onDone} />}
			{act?.token && <ConfirmDialog title={t.ui.delete} text={screens.tokens.deleteText(act.token.name)} onClose={onClose} onDone={onDone} send={() => deleteToken(act.token?.id ?? "")} />}
		</ListScreen>
	);
}

function State({ token }: { token: Token }) {
	const screens = useScreenTexts();
	const expired = token.expires_at !== null && new Date(token.expires_at) <= new Date();
	return <Status status={expired ? "parked" : "delivered"} text={expired ? screens.keys.states.expired : screens.keys.states.active} />;
}

/** Creating makes a token, which is shown once. */
function Creating({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
	const instant = useInstant();
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<FormDialog
			title={screens.tokens.create}
			onClose={onClose}
			onDone={onDone}
			result={({ token }: { token: string }) => <Secret text={screens.tokens.created} value={token} label={screens.tokens.token} onClose={onClose} />}
			send={({ text, maybe }) => createToken({ name: text("name"), role: text("role") === "admin" ? "admin" : "support", expires_at: instant(maybe("until")) })}
		>
			<TextInput name="name" required maxLength={120} label={t.ui.name} description={screens.tokens.nameHelp} />
			<Select
				name="role"
				label={screens.operators.role}
				value="support"
				options={[
					["support", `${t.app.roles.support}: ${screens.operators.support}`],
					["admin", `${t.app.roles.admin}: ${screens.tokens.admin}`],
				]}
			/>
			<TimeField name="until" label={screens.keys.until} description={screens.keys.untilHelp} />
		</FormDialog>
	);
}
