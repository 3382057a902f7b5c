import type { ReactNode } from "react";
import { useLanguage } from "../../i18n";
import { Time } from "../Time";
import classes from "./Delivery.module.css";
import type { Delivery } from "./types";

type LinkTo = (id: string, text: string) => ReactNode;

/** Waiting says why a delivery is pending or parked, and what releases it. */
export function Waiting({ delivery, integrationLink, deliveryLink }: { delivery: Delivery; integrationLink: LinkTo; deliveryLink: LinkTo }) {
	const { t } = useLanguage();
	const w = delivery.waiting;
	if (!w) return null;
	const facts: [string, ReactNode][] = [];
	if (w.since) facts.push([t.waiting.since, <Time key="since" at={w.since} />]);
	if (w.until) facts.push([t.waiting.until, <Time key="until" at={w.until} />]);
	if (w.ahead > 0) facts.push([t.waiting.ahead, w.ahead]);
	if (w.holds_up > 0) facts.push([t.waiting.holdsUp, w.holds_up]);
	if (w.rate_per_minute > 0) facts.push([t.waiting.rate, t.waiting.perMinute(w.rate_per_minute)]);
	if (w.failures > 1) facts.push([t.waiting.failures, w.failures]);
	if (w.last_error) facts.push([t.waiting.lastError, w.last_error]);
	if (w.expires_at) facts.push([t.waiting.expires, <Time key="expires" at={w.expires_at} />]);
	return (
		<section className={`panel ${classes.section} ${classes.waiting}`} aria-labelledby="waiting" data-cause={w.cause}>
			<h2 id="waiting">{t.waiting.title}</h2>
			<p>
				<strong>{t.waiting.causes[w.cause] ?? w.explanation}</strong>
				{w.behind && <> {deliveryLink(w.behind, t.waiting.behind)}</>}
				{delivery.integration_id && !w.behind && (
					<>
						{" "}
						{integrationLink(delivery.integration_id, t.waiting.integration)}
					</>
				)}
			</p>
			{w.release.length > 0 && (
				<div className={classes.release}>
					<span className="quiet" id="release">
						{t.waiting.release}
					</span>
					<ul aria-labelledby="release">
						{w.release.map((name) => (
							<li key={name}>{t.waiting.releases[name] ?? name}</li>
						))}
					</ul>
				</div>
			)}
			{facts.length > 0 && (
				<dl className={classes.waitFacts}>
					{facts.map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
				</dl>
			)}
		</section>
	);
}
