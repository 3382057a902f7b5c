import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useScreenTexts } from "../../i18n/screens";
import { Status } from "../Status";
import classes from "./Connect.module.css";
import { type Failure, failureOf, steps } from "./failure";

const shapes = { waiting: "parked", running: "pending", done: "delivered", failed: "failed" };

type Integration = { id: string; status: "active" | "inactive" | "error"; last_error: string | null };
export type Connecting<I extends Integration = Integration> = { isPending: boolean; isError: boolean; error: unknown; data?: I };

/**
 * Checklist shows how far connecting came. Where the registration failed the hub tries it
 * again: followed is the integration as it is by now.
 */
export function Checklist({ connecting, followed, link }: { connecting: Connecting; followed: UseQueryResult<Integration>; link: (id: string, text: string) => ReactNode }) {
	const screens = useScreenTexts();
	const integration = followed.data ?? connecting.data;
	const isRegistered = integration?.status === "active";
	let failure: Failure | undefined;
	if (connecting.isError) failure = failureOf(connecting.error);
	else if (integration && !isRegistered) failure = { step: "register", cause: integration.last_error ?? "", fix: "register", isUntried: false };
	const failedAt = failure ? steps.indexOf(failure.step) : isRegistered ? steps.length : -1;
	return (
		<div className={classes.checklist} role="status">
			<ol aria-label={screens.connect.checklist}>
				{steps.map((step, index) => {
					const state = connecting.isPending ? "running" : index < failedAt && !failure?.isUntried ? "done" : index === failedAt ? "failed" : "waiting";
					return (
						<li key={step} data-step={step} data-state={state}>
							<Status status={shapes[state]} text={screens.connect.steps[step]} />
							<span className="quiet">{screens.connect.states[state]}</span>
							{state === "failed" && failure && (
								<dl>
									<dt>{screens.connect.cause}</dt>
									<dd>{failure.cause}</dd>
									<dt>{screens.connect.fix}</dt>
									<dd>{screens.connect.fixes[failure.fix] ?? screens.connect.fixes.other}</dd>
								</dl>
							)}
						</li>
					);
				})}
			</ol>
			{integration && !connecting.isPending && (
				<p>
					{isRegistered && <strong>{screens.connect.success}</strong>} {link(integration.id, screens.connect.show)}
				</p>
			)}
		</div>
	);
}
