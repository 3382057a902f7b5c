import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useLanguage } from "../../i18n";
import { Area, Form, type Values } from "../../ui/Form";
import page from "../../ui/page.module.css";
import { Status } from "../../ui/Status";
import { checkSignature, type SignatureCheck } from "./queries";

const shapes = { passed: "delivered", failed: "failed", unknown: "pending" };

/** Debugger takes a webhook as its receiver got it, and shows which step of verifying it fails. */
export function Debugger({ id }: { id: string }) {
	const { t } = useLanguage();
	const check = useMutation({
		gcTime: 0, // what was pasted is not kept
		mutationFn: ({ text, maybe, raw }: Values) => {
			const received = maybe("received");
			return checkSignature(id, { headers: text("headers"), body: raw("body"), secret: maybe("secret"), received_at: received && new Date(received).toISOString() });
		},
	});
	return (
		<section className={`panel ${page.section}`} aria-labelledby="debugger">
			<h2 id="debugger">{t.endpoints.debug}</h2>
			<p className="quiet">{t.endpoints.debugText}</p>
			<Form submit={t.endpoints.check} act={check}>
				<Area name="headers" label={t.endpoints.headers} rows={4} maxLength={16_000} required placeholder="X-Webhook-Signature: sha256=…" />
				<Area name="body" label={t.endpoints.body} rows={5} maxLength={1_000_000} required />
				<TextInput name="secret" type="password" autoComplete="off" maxLength={128} label={t.endpoints.receiverSecret} description={t.endpoints.receiverSecretHelp} />
				<TextInput name="received" type="datetime-local" step={1} label={t.endpoints.received} />
			</Form>
			<div role="status">{check.data && <Steps check={check.data} />}</div>
		</section>
	);
}

function Steps({ check }: { check: SignatureCheck }) {
	const { t } = useLanguage();
	return (
		<>
			<h3>{check.valid ? t.endpoints.valid : t.endpoints.invalid}</h3>
			<table className={page.table}>
				<tbody>
					{check.steps.map(({ step, outcome, finding }) => (
						<tr key={step}>
							<th scope="row">{t.endpoints.steps[step]}</th>
							<td>
								<Status status={shapes[outcome]} text={t.endpoints.outcomes[outcome]} />
							</td>
							<td>{t.endpoints.findings[finding]}</td>
						</tr>
					))}
				</tbody>
			</table>
		</>
	);
}
