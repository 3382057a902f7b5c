import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useScreenTexts } from "../../i18n/screens";
import { Area, Form, type Values } from "../../ui/Form";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { TimeField, useInstant } from "../../ui/TimeField";
import { checkSignature, type SignatureCheck } from "./queries";

const shapes = { passed: "delivered", failed: "failed", unknown: "pending" };

/** Debugger takes a webhook as its receiver got it, and shows which step of verifying it fails. */
export function Debugger({ id }: { id: string }) {
	const screens = useScreenTexts();
	const instant = useInstant();
	const check = useMutation({
		gcTime: 0, // what was pasted is not kept
		mutationFn: ({ text, maybe, raw }: Values) => {
			return checkSignature(id, { headers: text("headers"), body: raw("body"), secret: maybe("secret"), received_at: instant(maybe("received")) });
		},
	});
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="debugger">
			<h2 id="debugger">{screens.endpoints.debug}</h2>
			<p className="quiet">{screens.endpoints.debugText}</p>
			<Form submit={screens.endpoints.check} act={check}>
				<Area name="headers" label={screens.endpoints.headers} rows={4} maxLength={16_000} required placeholder="X-Webhook-Signature: sha256=…" />
				<Area name="body" label={screens.endpoints.body} rows={5} maxLength={1_000_000} required />
				<TextInput name="secret" type="password" autoComplete="off" maxLength={128} label={screens.endpoints.receiverSecret} description={screens.endpoints.receiverSecretHelp} />
				<TimeField name="received" step={1} label={screens.endpoints.received} />
			</Form>
			<div role="status">{check.data && <Steps check={check.data} />}</div>
		</section>
	);
}

function Steps({ check }: { check: SignatureCheck }) {
	const screens = useScreenTexts();
	return (
		<>
			<h3>{check.valid ? screens.endpoints.valid : screens.endpoints.invalid}</h3>
			<table className={layout.table}>
				<tbody>
					{check.steps.map(({ step, outcome, finding }) => (
						<tr key={step}>
							<th scope="row">{screens.endpoints.steps[step]}</th>
							<td>
								<Status status={shapes[outcome]} text={screens.endpoints.outcomes[outcome]} />
							</td>
							<td>{screens.endpoints.findings[finding]}</td>
						</tr>
					))}
				</tbody>
			</table>
		</>
	);
}
