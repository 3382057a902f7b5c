import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Copy } from "../../ui/Copy";
import { Reason } from "../../ui/delivery/Reason";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Status } from "../../ui/Status";
import { Empty, Failed, Loading } from "../../ui/states";
import { duration, Time } from "../../ui/Time";
import classes from "./Journey.module.css";
import { journeyQuery, type Journey as Shown, type Step } from "./queries";

const route = getRouteApi("/shell/journey");

/** Journey shows everything with one correlation id, across products, in the order of time. */
export function Journey() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const { correlation = "" } = route.useSearch();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const journey = useQuery(journeyQuery(environment, correlation));
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={screens.journey.title} />
					<p className="quiet">{screens.journey.lead}</p>
				</div>
				{journey.data && (
					<span role="status" className="quiet">
						{screens.journey.events(journey.data.steps.length, journey.data.deliveries)}
					</span>
				)}
			</div>
			<form
				key={correlation}
				className={classes.form}
				onSubmit={(event) => {
					event.preventDefault();
					const text = (event.currentTarget.elements.namedItem("correlation") as HTMLInputElement).value.trim();
					void navigate({ search: (was) => ({ ...was, correlation: text || undefined }) });
				}}
			>
				<input name="correlation" className={layout.select} defaultValue={correlation} maxLength={200} aria-label={screens.journey.field} placeholder={screens.journey.field} autoComplete="off" spellCheck={false} />
				<Button type="submit" size="xs">
					{screens.journey.show}
				</Button>
				{correlation && <Copy text={correlation} label={screens.journey.field} />}
			</form>
			<div className={`panel ${layout.section}`}>
				{!correlation ? (
					<Empty title={screens.journey.startTitle} next={<Link to="/deliveries" search={(was) => ({ environment: was.environment })}>{t.nav.deliveries}</Link>}>
						{screens.journey.start}
					</Empty>
				) : journey.isPending ? (
					<Loading rows={10} />
				) : !journey.data ? (
					<Failed error={journey.error} onRetry={() => void journey.refetch()} />
				) : journey.data.steps.length === 0 ? (
					<Empty title={screens.journey.emptyTitle} next={<Link to="/deliveries" search={(was) => ({ environment: was.environment })}>{t.nav.deliveries}</Link>}>
						{screens.journey.empty}
					</Empty>
				) : (
					<Steps journey={journey.data} correlation={correlation} />
				)}
			</div>
		</div>
	);
}

function Steps({ journey, correlation }: { journey: Shown; correlation: string }) {
	const screens = useScreenTexts();
	return (
		<>
			{journey.partial && <p className="quiet">{screens.journey.partial}</p>}
			<ol className={classes.steps}>
				{journey.steps.map((step, index) => (
					<StepRow key={`${step.inbound} ${step.id} ${step.tenantID} ${step.deliveries[0]?.id}`} step={step} before={journey.steps[index - 1]} />
				))}
			</ol>
			<Link to="/deliveries" search={(was) => ({ environment: was.environment, correlation })}>
				{screens.journey.deliveries}
			</Link>
		</>
	);
}

function StepRow({ step, before }: { step: Step; before?: Step }) {
	const { language } = useLanguage();
	const screens = useScreenTexts();
	const wait = before ? Date.parse(step.at) - Date.parse(before.at) : 0;
	return (
		<li className={classes.step} data-inbound={step.inbound || undefined}>
			<div className={classes.head}>
				<strong>{step.type}</strong>
				<span className={classes.product}>{step.product}</span>
				<span className="quiet">
					{step.tenant} · {step.inbound ? screens.journey.received : screens.journey.accepted}
				</span>
				<span className={classes.time}>
					{before && <span className="quiet">{screens.journey.later(duration(language, Math.max(0, wait)))} · </span>}
					<Time at={step.at} />
				</span>
			</div>
			<ul className={classes.deliveries}>
				{step.deliveries.map((row) => (
					<li key={row.id}>
						<Status status={row.status} />
						<Link to="/deliveries/$id" params={{ id: row.id }} search={(was) => ({ environment: was.environment })}>
							{row.receiver ? (step.inbound ? screens.journey.from(row.receiver) : screens.journey.to(row.receiver)) : row.id}
						</Link>
						<span className="quiet">
							{screens.journey.attempts(row.attempt_count)}
							{row.status_code !== null && ` · ${row.status_code}`}
							{row.reason && (
								<>
									{" · "}
									<Reason code={row.reason} />
								</>
							)}
						</span>
						{row.finished_at && (
							<span className={`quiet ${classes.time}`}>{screens.journey.later(duration(language, Math.max(0, Date.parse(row.finished_at) - Date.parse(step.at))))}</span>
						)}
					</li>
				))}
			</ul>
		</li>
	);
}
