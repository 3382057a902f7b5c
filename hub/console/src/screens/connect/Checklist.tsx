import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useLanguage } from "../../i18n";
import { Status } from "../../ui/Status";
import { integrationQuery } from "../integration/queries";
import type { Integration } from "../integrations/queries";
import classes from "./Connect.module.css";
import { type Failure, failureOf, steps } from "./queries";

const route = getRouteApi("/shell/connect");
const shapes = { waiting: "parked", running: "pending", done: "delivered", failed: "failed" };

type Connecting = { isPending: boolean; isError: boolean; error: unknown; data?: Integration };

/**
 * Checklist shows how far connecting came. Where the registration failed the hub tries it
 * again, and the list follows it.
 */
export function Checklist({ connecting }: { connecting: Connecting }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const id = connecting.data?.id ?? "";
	const followed = useQuery({ ...integrationQuery(id), enabled: id !== "" && connecting.data?.status !== "active" });
	const integration = followed.data ?? connecting.data;
	const isRegistered = integration?.status === "active";
	let failure: Failure | undefined;
	if (connecting.isError) failure = failureOf(connecting.error);
	else if (integration && !isRegistered) failure = { step: "register", cause: integration.last_error ?? "", fix: "register" };
	const failedAt = failure ? steps.indexOf(failure.step) : isRegistered ? steps.length : -1;
	return (
		<div className={classes.checklist} role="status">
			<ol aria-label={t.connect.checklist}>
				{steps.map((step, index) => {
					const state = connecting.isPending ? "running" : index < failedAt ? "done" : index === failedAt ? "failed" : "waiting";
					return (
						<li key={step} data-step={step} data-state={state}>
							<Status status={shapes[state]} text={t.connect.steps[step]} />
							<span className="quiet">{t.connect.states[state]}</span>
							{state === "failed" && failure && (
								<dl>
									<dt>{t.connect.cause}</dt>
									<dd>{failure.cause}</dd>
									<dt>{t.connect.fix}</dt>
									<dd>{t.connect.fixes[failure.fix] ?? t.connect.fixes.other}</dd>
								</dl>
							)}
						</li>
					);
				})}
			</ol>
			{integration && !connecting.isPending && (
				<p>
					{isRegistered && <strong>{t.connect.success}</strong>}{" "}
					<Link to="/integrations/$id" params={{ id: integration.id }} search={{ environment }}>
						{t.connect.show}
					</Link>
				</p>
			)}
		</div>
	);
}
