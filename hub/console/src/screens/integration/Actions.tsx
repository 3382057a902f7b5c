import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../app/session";
import { useLanguage } from "../../i18n";
import { Actions } from "../../ui/Detail";
import { detailOf } from "../../ui/errors";
import { ConfirmDialog, FormDialog, Secret } from "../../ui/Form";
import { Overlap } from "../../ui/Overlap";
import page from "../../ui/page.module.css";
import { duration } from "../../ui/Time";
import type { Integration } from "../integrations/queries";
import { disableIntegration, enableIntegration, revokeIntegration, rotateSecret, testIntegration } from "./queries";

/** useRefresh reads again what a write changed. */
function useRefresh(id: string) {
	const queries = useQueryClient();
	return () => Promise.all([queries.invalidateQueries({ queryKey: ["integration", id] }), queries.invalidateQueries({ queryKey: ["integrations"] })]);
}

export function IntegrationActions({ integration }: { integration: Integration }) {
	const { t, language } = useLanguage();
	const session = useSession();
	const [dialog, setDialog] = useState<"rotate" | "revoke">();
	const refresh = useRefresh(integration.id);
	const act = useMutation({
		mutationFn: async (name: "test" | "enable" | "disable") => {
			if (name === "test") {
				const found = await testIntegration(integration.id);
				return { ok: found.ok, text: found.ok ? t.integrations.testOK(found.version ?? "", duration(language, found.duration_ms)) : (found.error ?? "") };
			}
			await (name === "enable" ? enableIntegration : disableIntegration)(integration.id);
			return { ok: true, text: t.integrations.done[name] };
		},
		onSettled: refresh,
	});
	if (session.operator.role !== "admin") return <p className="quiet">{t.integrations.adminsOnly}</p>;
	const other = integration.disabled ? "enable" : "disable";
	return (
		<Actions bad={act.isError || act.data?.ok === false} said={act.data?.text ?? (act.isError && `${t.ui.failed} ${detailOf(act.error)}`)}>
			<Button size="xs" loading={act.isPending && act.variables === "test"} onClick={() => act.mutate("test")}>
				{t.integrations.test}
			</Button>
			<Button size="xs" variant="default" onClick={() => setDialog("rotate")}>
				{t.integrations.rotate}
			</Button>
			<Button size="xs" variant="default" loading={act.isPending && act.variables === other} onClick={() => act.mutate(other)}>
				{t.integrations[other]}
			</Button>
			<Button size="xs" variant="default" className={page.bad} onClick={() => setDialog("revoke")}>
				{t.integrations.revoke}
			</Button>
			{dialog === "rotate" && <Rotate integration={integration} onClose={() => setDialog(undefined)} />}
			{dialog === "revoke" && (
				<ConfirmDialog
					title={t.integrations.revoke}
					text={t.integrations.revokeText(integration.tenant_name)}
					name={integration.tenant_name}
					onClose={() => setDialog(undefined)}
					send={() => revokeIntegration(integration.id)}
					onDone={refresh}
				/>
			)}
		</Actions>
	);
}

function Rotate({ integration, onClose }: { integration: Integration; onClose: () => void }) {
	const { t } = useLanguage();
	return (
		<FormDialog
			title={t.integrations.rotate}
			onClose={onClose}
			send={({ text }) => rotateSecret(integration.id, Number(text("overlap")))}
			onDone={useRefresh(integration.id)}
			result={({ secret }) => <Secret text={t.ui.newSecret} value={secret} label={t.integrations.secret} onClose={onClose} />}
		>
			<p>{t.integrations.rotateText}</p>
			<Overlap />
		</FormDialog>
	);
}
