import type { CSSProperties } from "react";
import { useLanguage } from "../../i18n";
import { Time, duration } from "../Time";
import { phases, phasesOf } from "./phases";
import type { Attempt } from "./types";
import classes from "./Waterfall.module.css";

/** Waterfall draws the attempts of a delivery with their waits, on one scale. */
export function Waterfall({ attempts, chosen, onChoose }: { attempts: Attempt[]; chosen: number; onChoose: (index: number) => void }) {
	const { t, language } = useLanguage();
	const longest = Math.max(...attempts.map((attempt) => attempt.phases.queue_ms + attempt.phases.total_ms), 1);
	return (
		<>
			<ol className={classes.list}>
				{attempts.map((attempt, index) => {
					const parts = phasesOf(attempt);
					const before = attempts[index - 1];
					const wait = before ? Date.parse(attempt.started_at) - Date.parse(before.started_at) - before.phases.total_ms : 0;
					const good = attempt.status_code !== null && attempt.status_code < 300;
					return (
						<li key={`${attempt.number} ${attempt.started_at}`}>
							{before && <div className={`quiet ${classes.wait}`}>{t.delivery.waited(duration(language, Math.max(0, wait)))}</div>}
							<button type="button" className={classes.attempt} aria-pressed={index === chosen} onClick={() => onChoose(index)}>
								<span>{t.delivery.attempt(attempt.number)}</span>
								<span className={good ? classes.good : classes.bad}>{attempt.status_code ?? t.delivery.noAnswer}</span>
								<span className={classes.bar} aria-hidden>
									{phases.map((phase) => (
										<span key={phase} className={classes[phase]} style={{ "--share": `${(100 * parts[phase]) / longest}%` } as CSSProperties} />
									))}
								</span>
								<span className={classes.total}>{duration(language, attempt.phases.total_ms)}</span>
								<Time at={attempt.started_at} focusable={false} />
							</button>
							{index === chosen && (
								<dl className={classes.phases}>
									{phases.map((phase) => (
										<div key={phase}>
											<dt>
												<span className={classes[phase]} aria-hidden />
												{t.delivery.phases[phase]}
											</dt>
											<dd>{duration(language, parts[phase])}</dd>
										</div>
									))}
								</dl>
							)}
							{index === chosen && attempt.error && <p className={classes.error}>{attempt.error}</p>}
						</li>
					);
				})}
			</ol>
		</>
	);
}
