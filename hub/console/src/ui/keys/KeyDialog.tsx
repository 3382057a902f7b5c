import { TagsInput, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useScreenTexts } from "../../i18n/screens";
import { ConfirmDialog, FormDialog, Secret, type Values } from "../Form";
import { Overlap } from "../Overlap";
import { TimeField, useInstant } from "../TimeField";
import type { KeyAct, KeyRow } from "./keyColumns";

type Made = { api_key: string };
export type KeyDraft = { name?: string; scopes?: string[]; expires_at?: string };

type Props<K> = {
	act: KeyAct<K>;
	onClose: () => void;
	onDone: () => unknown;
	/** What can be done, by the API of the side that shows it. */
	create: (draft: KeyDraft, values: Values) => Promise<Made>;
	rotate: (id: string, overlapSeconds: number) => Promise<Made>;
	revoke: (id: string) => Promise<unknown>;
	/** before and more are fields of a new key that one side has. */
	before?: ReactNode;
	more?: ReactNode;
};

/** Scopes that keys of every product can have; those of its features are typed. */
const commonScopes = ["events.publish", "endpoints.manage", "deliveries.read", "deliveries.retry", "interaction.write"];

/** KeyDialog makes, rotates or revokes a key. What is made is shown once. */
export function KeyDialog<K extends KeyRow>({ act, onClose, onDone, create, rotate, revoke, before, more }: Props<K>) {
	const screens = useScreenTexts();
	const instant = useInstant();
	const result = ({ api_key }: Made) => <Secret text={screens.keys.made} value={api_key} label={screens.keys.key} onClose={onClose} />;
	const { key } = act;
	if (!key)
		return (
			<FormDialog
				title={screens.keys.create}
				onClose={onClose}
				onDone={onDone}
				result={result}
				send={(values) => create({ name: values.maybe("name"), scopes: values.maybe("scopes")?.split(/[\s,]+/), expires_at: instant(values.maybe("until")) }, values)}
			>
				{before}
				<TextInput name="name" maxLength={120} label={screens.keys.name} description={screens.keys.nameHelp} />
				<TagsInput name="scopes" data={commonScopes} splitChars={[",", " "]} maxTags={50} label={screens.keys.scopes} description={screens.keys.scopesHelp} />
				{more}
				<TimeField name="until" label={screens.keys.until} description={screens.keys.untilHelp} />
			</FormDialog>
		);
	const shown = `${key.prefix}…${key.last4}`;
	if (act.name === "revoke") return <ConfirmDialog title={screens.keys.revoke} text={screens.keys.revokeText(shown)} onClose={onClose} onDone={onDone} send={() => revoke(key.id)} />;
	return (
		<FormDialog title={screens.keys.rotate} onClose={onClose} onDone={onDone} result={result} send={({ text }) => rotate(key.id, Number(text("overlap")))}>
			<p>{screens.keys.rotateText(shown)}</p>
			<Overlap />
		</FormDialog>
	);
}
