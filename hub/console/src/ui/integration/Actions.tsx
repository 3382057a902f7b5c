import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLanguage } from "../../i18n";
import { Actions } from "../Detail";
import { detailOf } from "../errors";
import { ConfirmDialog, FormDialog, Secret } from "../Form";
import { Overlap } from "../Overlap";
import layout from "../layout.module.css";
import { duration } from "../Time";

type Tested = { ok: boolean; version?: string | null; error?: string | null; duration_ms: number };

type Props = {
	disabled: boolean;
	/** name is what is typed to end the integration. */
	name: string;
	/** What can be done, by the API of the side that shows it. */
	acts: { test: () => Promise<Tested>; enable: () => Promise<unknown>; disable: () => Promise<unknown>; revoke: () => Promise<unknown>; rotate: (overlapSeconds: number) => Promise<string> };
	onDone: () => unknown;
	texts?: { revoke: string; revokeText: string };
	/** more are buttons that only one side has. */
	more?: ReactNode;
};

/** IntegrationActions are the buttons of an integration. rotate returns the new secret. */
export function IntegrationActions({ disabled, name, acts, onDone, texts, more }: Props) {
	const { t, language } = useLanguage();
	const { revoke, revokeText } = texts ?? { revoke: t.integrations.revoke, revokeText: t.integrations.revokeText(name) };
	const [dialog, setDialog] = useState<"rotate" | "revoke">();
	const act = useMutation({
		mutationFn: async (name: "test" | "enable" | "disable") => {
			if (name === "test") {
				const found = await acts.test();
				return { ok: found.ok, text: found.ok ? t.integrations.testOK(found.version ?? "", duration(language, found.duration_ms)) : (found.error ?? "") };
			}
			await acts[name]();
			return { ok: true, text: t.integrations.done[name] };
		},
		onSettled: onDone,
	});
	const other = disabled ? "enable" : "disable";
	return (
		<Actions bad={act.isError || act.data?.ok === false} said={act.data?.text ?? (act.isError && `${t.ui.failed} ${detailOf(act.error)}`)}>
			<Button size="xs" loading={act.isPending && act.variables === "test"} onClick={() => act.mutate("test")}>
				{t.integrations.test}
			</Button>
			<Button size="xs" variant="default" onClick={() => setDialog("rotate")}>
				{t.integrations.rotate}
			</Button>
			{more}
			<Button size="xs" variant="default" loading={act.isPending && act.variables === other} onClick={() => act.mutate(other)}>
				{t.integrations[other]}
			</Button>
			<Button size="xs" variant="default" className={layout.bad} onClick={() => setDialog("revoke")}>
				{revoke}
			</Button>
			{dialog === "rotate" && <Rotate rotate={acts.rotate} onDone={onDone} onClose={() => setDialog(undefined)} />}
			{dialog === "revoke" && (
				<ConfirmDialog
					title={revoke}
					text={revokeText}
					name={name}
					onClose={() => setDialog(undefined)}
					send={acts.revoke}
					onDone={onDone}
				/>
			)}
		</Actions>
	);
}

function Rotate({ rotate, onDone, onClose }: { rotate: Props["acts"]["rotate"]; onDone: () => unknown; onClose: () => void }) {
	const { t } = useLanguage();
	return (
		<FormDialog
			title={t.integrations.rotate}
			onClose={onClose}
			send={({ text }) => rotate(Number(text("overlap")))}
			onDone={onDone}
			result={(secret) => <Secret text={t.ui.newSecret} value={secret} label={t.integrations.secret} onClose={onClose} />}
		>
			<p>{t.integrations.rotateText}</p>
			<Overlap />
		</FormDialog>
	);
}
