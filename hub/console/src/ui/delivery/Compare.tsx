import { useLanguage } from "../../i18n";
import layout from "../layout.module.css";
import { absoluteTime, duration } from "../Time";
import { usePreferences } from "../../app/preferences";
import classes from "./Delivery.module.css";
import { phases, phasesOf } from "./phases";
import type { Attempt } from "./types";

type Line = { group: string; name: string; values: [string, string]; code?: boolean };

type Props = { attempts: Attempt[]; first: Attempt; second: Attempt; onChange: (first: number, second: number) => void };

/** Compare shows two attempts of a delivery side by side, and what differs between them. */
export function Compare({ attempts, first, second, onChange }: Props) {
	const { t } = useLanguage();
	const lines = useLines(first, second);
	const differing = lines.filter((line) => line.values[0] !== line.values[1] && line.name !== t.compare.started);
	const choose = (label: string, chosen: Attempt, act: (number: number) => void) => (
		<select className={layout.select} aria-label={label} value={chosen.number} onChange={(event) => act(Number(event.target.value))}>
			{attempts.map((attempt) => (
				<option key={`${attempt.number} ${attempt.started_at}`} value={attempt.number}>
					{t.delivery.attempt(attempt.number)} · {attempt.status_code ?? t.delivery.noAnswer}
				</option>
			))}
		</select>
	);
	return (
		<section className={`panel ${classes.section}`} aria-labelledby="compare">
			<h2 id="compare">{t.compare.title}</h2>
			{differing.length === 0 && <p className="quiet">{t.compare.onlySame}</p>}
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
			<div className={layout.scroll} tabIndex={0} role="group" aria-label={t.compare.title}>
				<table className={`${layout.table} ${classes.compare}`}>
					<thead>
						<tr>
							<th scope="col">{t.compare.what}</th>
							<th scope="col">{choose(t.compare.first, first, (number) => onChange(number, second.number))}</th>
							<th scope="col">{choose(t.compare.second, second, (number) => onChange(first.number, number))}</th>
						</tr>
					</thead>
					<tbody>
						{lines.map((line) => {
							const differs = line.values[0] !== line.values[1];
							return (
								<tr key={`${line.group} ${line.name}`} data-differs={differs || undefined}>
									<th scope="row">
										{line.group && <span className="quiet">{line.group} · </span>}
										{line.name}
										<span className="visually-hidden">: {differs ? t.compare.differs : t.compare.same}</span>
									</th>
									{line.values.map((value, index) => (
										<td key={index} className={line.code ? "mono" : undefined}>
											{value || "–"}
										</td>
									))}
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</section>
	);
}

/** useLines returns what is compared, in the order of reading. */
function useLines(first: Attempt, second: Attempt): Line[] {
	const { t, language } = useLanguage();
	const { utc } = usePreferences();
	const of = (value: (attempt: Attempt) => string): [string, string] => [value(first), value(second)];
	const lines: Line[] = [
		{ group: "", name: t.compare.started, values: of((attempt) => absoluteTime(language, utc, new Date(attempt.started_at))) },
		{ group: "", name: t.compare.status, values: of((attempt) => String(attempt.status_code ?? t.delivery.noAnswer)) },
		{ group: "", name: t.compare.error, values: of((attempt) => attempt.error ?? "") },
		{ group: "", name: t.compare.total, values: of((attempt) => duration(language, attempt.phases.total_ms)) },
		...phases.map((phase): Line => ({ group: t.compare.total, name: t.delivery.phases[phase], values: of((attempt) => duration(language, phasesOf(attempt)[phase])) })),
		...headerLines(t.compare.request, first.request_headers, second.request_headers),
		...headerLines(t.compare.response, first.response_headers, second.response_headers),
		{ group: "", name: t.compare.body, values: of((attempt) => attempt.response_body ?? ""), code: true },
	];
	return lines;
}

function headerLines(group: string, first: Record<string, string>, second: Record<string, string>): Line[] {
	const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].sort((a, b) => a.localeCompare(b));
	return names.map((name) => ({ group, name, values: [first[name] ?? "", second[name] ?? ""], code: true }));
}
