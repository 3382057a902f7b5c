import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError } from "../../api/client";
import { useSession } from "../../app/session";
import { useLanguage } from "../../i18n";
import { Copy } from "../../ui/Copy";
import { Dialog } from "../../ui/Dialog";
import page from "../../ui/page.module.css";
import { duration } from "../../ui/Time";
import type { Integration } from "../integrations/queries";
import classes from "./Integration.module.css";
import { disableIntegration, enableIntegration, revokeIntegration, rotateSecret, testIntegration } from "./queries";

const detail = (error: unknown) => (error instanceof ApiError ? (error.problem?.detail ?? "") : String(error));

/** useRefresh reads again what a write changed. */
function useRefresh(id: string) {
	const queries = useQueryClient();
	return () => Promise.all([queries.invalidateQueries({ queryKey: ["integration", id] }), queries.invalidateQueries({ queryKey: ["integrations"] })]);
}

export function Actions({ integration }: { integration: Integration }) {
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
		<div className={classes.actions}>
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
			<div role="status" className={act.isError || act.data?.ok === false ? page.bad : "quiet"}>
				{act.data?.text}
				{act.isError && `${t.integrations.failed} ${detail(act.error)}`}
			</div>
			{dialog === "rotate" && <Rotate integration={integration} onClose={() => setDialog(undefined)} />}
			{dialog === "revoke" && <Revoke integration={integration} onClose={() => setDialog(undefined)} />}
		</div>
	);
}

function Rotate({ integration, onClose }: { integration: Integration; onClose: () => void }) {
	const { t } = useLanguage();
	const [overlap, setOverlap] = useState("86400");
	const rotate = useMutation({ mutationFn: () => rotateSecret(integration.id, Number(overlap)), gcTime: 0, onSuccess: useRefresh(integration.id) });
	return (
		<Dialog title={t.integrations.rotate} onClose={onClose}>
			<div className={classes.form}>
				{rotate.data ? (
					<>
						<p>{t.integrations.newSecret}</p>
						<p className={classes.secret}>
							<span className="mono">{rotate.data.secret}</span> <Copy text={rotate.data.secret} label={t.integrations.secret} />
						</p>
						<Button size="xs" variant="default" onClick={onClose}>
							{t.help.close}
						</Button>
					</>
				) : (
					<>
						<p>{t.integrations.rotateText}</p>
						<select className={page.select} aria-label={t.integrations.overlap} value={overlap} onChange={(event) => setOverlap(event.target.value)}>
							{Object.entries(t.integrations.overlaps).map(([seconds, text]) => (
								<option key={seconds} value={seconds}>
									{text}
								</option>
							))}
						</select>
						<Button size="xs" loading={rotate.isPending} onClick={() => rotate.mutate()}>
							{t.integrations.rotate}
						</Button>
					</>
				)}
				<p role="alert" className={page.bad}>
					{rotate.isError && `${t.integrations.failed} ${detail(rotate.error)}`}
				</p>
			</div>
		</Dialog>
	);
}

function Revoke({ integration, onClose }: { integration: Integration; onClose: () => void }) {
	const { t } = useLanguage();
	const [name, setName] = useState("");
	const refresh = useRefresh(integration.id);
	const revoke = useMutation({
		mutationFn: () => revokeIntegration(integration.id),
		onSuccess: async () => {
			onClose();
			await refresh();
		},
	});
	const submit = (event: FormEvent) => {
		event.preventDefault();
		if (name.trim() === integration.tenant_name.trim()) revoke.mutate();
	};
	return (
		<Dialog title={t.integrations.revoke} onClose={onClose}>
			<form className={classes.form} onSubmit={submit}>
				<p>{t.integrations.revokeText(integration.tenant_name)}</p>
				<TextInput label={t.integrations.revokeName} value={name} autoComplete="off" onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
				<Button size="xs" color="red" type="submit" loading={revoke.isPending} disabled={name.trim() !== integration.tenant_name.trim()}>
					{t.integrations.revoke}
				</Button>
				<p role="alert" className={page.bad}>
					{revoke.isError && `${t.integrations.failed} ${detail(revoke.error)}`}
				</p>
			</form>
		</Dialog>
	);
}
