import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useLanguage } from "../../../i18n";
import { Area, Check, FormDialog, Select, type Values } from "../../../ui/Form";
import form from "../../../ui/Form.module.css";
import { useTexts } from "../../i18n";
import { type Connection, type Queue, queuesQuery, type Settings, updateConnection } from "./queries";

const messages = { greetingMessage: "greeting", farewellMessage: "farewell", outOfHoursMessage: "outOfHours", ratingMessage: "rating", expiresInactiveMessage: "expiresInactive" } as const;
const numbers = { sendIntervalMs: "sendInterval", dailyLimit: "dailyLimit", expiresTicket: "expiresTicket", timeToTransfer: "timeToTransfer", maxUseBotQueues: "maxUseBotQueues" } as const;
const largest = { sendIntervalMs: 3_600_000, dailyLimit: 1_000_000, expiresTicket: 525_600, timeToTransfer: 43_200, maxUseBotQueues: 10 };
type MessageName = keyof typeof messages;
type NumberName = keyof typeof numbers;

const messageNames = Object.keys(messages) as MessageName[];
const numberNames = Object.keys(numbers) as NumberName[];
const queueField = (id: number) => `queue-${id}`;

/** settingsOf returns a form's settings. Queues keep the order of the menu; further ones follow. */
function settingsOf(values: Values, connection: Connection, queues?: Queue[]): Settings {
	const settings: Settings = { name: values.text("name") };
	for (const name of messageNames) settings[name] = values.text(name);
	for (const name of numberNames) settings[name] = Number(values.text(name));
	if (values.checked("isDefault")) settings.isDefault = true;
	if (queues) {
		const ids = [...connection.queueIds, ...queues.map(({ id }) => id).filter((id) => !connection.queueIds.includes(id))];
		settings.queueIds = ids.filter((id) => values.checked(queueField(id)));
		settings.transferQueueId = values.maybe("transferQueueId") ? Number(values.text("transferQueueId")) : null;
	}
	return settings;
}

/** SettingsDialog changes what a connection sends, and how it works. */
export function SettingsDialog({ connection, onClose, onSaved }: { connection: Connection; onClose: () => void; onSaved: (changed: Connection) => void }) {
	const { t } = useLanguage();
	const { connections: texts } = useTexts();
	const queues = useQuery(queuesQuery);
	const list = queues.data ?? [];
	return (
		<FormDialog title={texts.settings} submit={t.ui.save} onClose={onClose} disabled={queues.isPending} send={async (values) => onSaved(await updateConnection(connection.id, settingsOf(values, connection, queues.data)))}>
			<TextInput name="name" required minLength={2} maxLength={60} label={texts.name} defaultValue={connection.name} />
			{connection.isDefault ? <p className="quiet">{texts.defaultStays}</p> : <Check name="isDefault" label={texts.makeDefault} />}
			{list.length > 0 && (
				<fieldset className={form.group}>
					<legend>{texts.queues}</legend>
					{list.map(({ id, name }) => (
						<Check key={id} name={queueField(id)} label={name} checked={connection.queueIds.includes(id)} />
					))}
				</fieldset>
			)}
			{messageNames.map((name) => (
				<Area key={name} name={name} rows={2} maxLength={4096} label={texts[messages[name]]} value={connection[name]} prose />
			))}
			{numberNames.map((name) => (
				<TextInput key={name} name={name} type="number" required withAsterisk={false} min={0} max={largest[name]} label={texts[numbers[name]]} description={texts.settingHelp[name]} defaultValue={connection[name]} />
			))}
			{list.length > 0 && (
				<Select
					key={list.length}
					name="transferQueueId"
					label={texts.transferQueue}
					value={connection.transferQueueId === null ? "" : String(connection.transferQueueId)}
					options={[["", t.ui.none], ...list.map(({ id, name }): [string, string] => [String(id), name])]}
				/>
			)}
		</FormDialog>
	);
}
