import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../../i18n";
import { Actions } from "../../../ui/Detail";
import { detailOf } from "../../../ui/errors";
import { ConfirmDialog, FormDialog } from "../../../ui/Form";
import layout from "../../../ui/layout.module.css";
import { useTexts } from "../../i18n";
import { AccountFields, accountOf, hasAccount } from "./AccountFields";
import { type Connection, connectionQuery, connectionsKey, deleteConnection, endSession, renewSession, startSession, updateConnection } from "./queries";
import { SettingsDialog } from "./SettingsDialog";

type Window = "settings" | "account" | "renew" | "logOut" | "delete";

/** ConnectionActions starts, pairs anew, logs out, changes and deletes a connection. */
export function ConnectionActions({ connection }: { connection: Connection }) {
	const { t } = useLanguage();
	const { connections: texts } = useTexts();
	const { product } = useParams({ from: "/account/$product" });
	const navigate = useNavigate();
	const queries = useQueryClient();
	const [open, setOpen] = useState<Window>();
	const onClose = () => setOpen(undefined);
	const keep = (changed: Connection) => {
		queries.setQueryData(connectionQuery(connection.id).queryKey, changed);
		void queries.invalidateQueries({ queryKey: connectionsKey });
	};
	const start = useMutation({ mutationFn: () => startSession(connection.id), onSuccess: keep });
	const sessions = { renew: renewSession, logOut: endSession };
	return (
		<Actions bad={start.isError} said={start.isError && `${t.ui.failed} ${detailOf(start.error)}`}>
			{connection.status !== "CONNECTED" && (
				<Button size="xs" loading={start.isPending} onClick={() => start.mutate()}>
					{texts.start}
				</Button>
			)}
			<Button size="xs" variant="default" onClick={() => setOpen("settings")}>
				{texts.settings}
			</Button>
			{hasAccount(connection.driver) && (
				<Button size="xs" variant="default" onClick={() => setOpen("account")}>
					{texts.changeAccount}
				</Button>
			)}
			<Button size="xs" variant="default" onClick={() => setOpen("renew")}>
				{texts.renew}
			</Button>
			<Button size="xs" variant="default" onClick={() => setOpen("logOut")}>
				{texts.logOut}
			</Button>
			<Button size="xs" variant="default" className={layout.bad} onClick={() => setOpen("delete")}>
				{t.ui.delete}
			</Button>
			{open === "settings" && <SettingsDialog connection={connection} onClose={onClose} onSaved={keep} />}
			{open === "account" && (
				<FormDialog title={texts.changeAccount} submit={t.ui.save} onClose={onClose} send={async (values) => keep(await updateConnection(connection.id, accountOf(connection.driver, values)))}>
					<p className="quiet">{texts.changeAccountHelp}</p>
					<AccountFields driver={connection.driver} />
				</FormDialog>
			)}
			{(open === "renew" || open === "logOut") && <ConfirmDialog title={texts[open]} text={texts[`${open}Text`]} onClose={onClose} send={async () => keep(await sessions[open](connection.id))} />}
			{open === "delete" && (
				<ConfirmDialog
					title={t.ui.delete}
					text={texts.deleteText(connection.name)}
					name={connection.name}
					onClose={onClose}
					send={async () => {
						await deleteConnection(connection.id);
						await navigate({ to: "/account/$product/connections", params: { product }, search: (was) => ({ environment: was.environment }) });
						await queries.invalidateQueries({ queryKey: connectionsKey });
					}}
				/>
			)}
		</Actions>
	);
}
