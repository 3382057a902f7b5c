import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { PageTitle } from "../../ui/PageTitle";
import { absoluteTime, duration } from "../../ui/Time";
import { usePreferences } from "../../app/preferences";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { Empty, Failed, Loading } from "../../ui/states";
import { translateFinding } from "./findings";
import classes from "./Health.module.css";
import { healthQuery } from "./queries";

const shapes = { ok: "delivered", warning: "pending", failed: "failed" };
const order = ["failed", "warning", "ok"] as const;

export function Health() {
	const { language } = useLanguage();
	const screens = useScreenTexts();
	const { utc } = usePreferences();
	const health = useQuery(healthQuery);
	const checks = health.data?.checks ?? [];
	// Checks that could not be read again are no better than failed ones.
	const worst = health.isError ? "failed" : (order.find((status) => checks.some((check) => check.status === status)) ?? "ok");
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={screens.health.title} />
					<p className="quiet">{screens.health.lead}</p>
				</div>
				<Button size="xs" variant="default" loading={health.isFetching} onClick={() => void health.refetch()}>
					{screens.health.examine}
				</Button>
			</div>
			<div className="panel">
				{health.isPending ? (
					<Loading rows={9} />
				) : !health.data ? (
					<Failed error={health.error} onRetry={() => void health.refetch()} />
				) : checks.length === 0 ? (
					<Empty title={screens.health.emptyTitle} next={screens.health.doctor}>
						{screens.health.empty}
					</Empty>
				) : (
					<>
						<div className={classes.head}>
							<h2>
								<span role="status">
									<Status status={shapes[worst]} text={screens.health.all[worst]} />
								</span>
							</h2>
							<dl>
								<div>
									<dt>{screens.health.version}</dt>
									<dd>{health.data.version}</dd>
								</div>
								<div>
									<dt>{screens.health.clock}</dt>
									<dd>{absoluteTime(language, utc, new Date(health.data.now))}</dd>
								</div>
								{health.data.skew > 2000 && (
									<div>
										<dt>{screens.health.skew}</dt>
										<dd className={layout.bad}>{duration(language, health.data.skew)}</dd>
									</div>
								)}
							</dl>
						</div>
						<ul className={classes.checks}>
							{checks.map((check, index) => (
								// biome-ignore lint/suspicious/noArrayIndexKey: several checks have the same name
								<li key={index}>
									<strong>{screens.health.checks[check.check] ?? check.check}</strong>
									<Status status={shapes[check.status]} text={screens.health.statuses[check.status]} />
									<div>
										{translateFinding(language, check.detail)}
										{check.advice && <div className="quiet">→ {translateFinding(language, check.advice)}</div>}
									</div>
								</li>
							))}
						</ul>
					</>
				)}
			</div>
			<p className={`quiet ${classes.note}`}>{screens.health.doctor}</p>
		</div>
	);
}
