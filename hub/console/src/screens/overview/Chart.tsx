import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { usePreferences } from "../../app/preferences";
import { type Language, useLanguage } from "../../i18n";
import { duration } from "../../ui/Time";
import classes from "./Overview.module.css";
import type { Bucket } from "./queries";

export const failures = (bucket: Bucket) => bucket.failed + bucket.parked;

/** bucketTime writes when a bucket begins: with the day where buckets are hours. */
export function bucketTime(language: Language, utc: boolean, at: string, width: number): string {
	const zone = utc ? "UTC" : undefined;
	return new Intl.DateTimeFormat(language, { ...(width >= 1_800_000 && { day: "numeric", month: "short" }), hour: "2-digit", minute: "2-digit", timeZone: zone }).format(new Date(at));
}

/** bucketSearch is the log's search of a bucket. */
export function bucketSearch(bucket: Bucket, width: number) {
	const since = new Date(bucket.at);
	return { since: since.toISOString(), until: new Date(since.getTime() + width).toISOString() };
}

/**
 * Bars draws what was delivered and what was not, stacked. It is one control, for bars are too
 * narrow to be pressed: arrow keys and the pointer choose a bar, Enter and a click open it.
 */
export function Bars({ buckets, width, environment }: { buckets: Bucket[]; width: number; environment?: "test" }) {
	const { t, language } = useLanguage();
	const { utc } = usePreferences();
	const navigate = useNavigate();
	const [chosen, setChosen] = useState(buckets.length - 1);
	const [shown, setShown] = useState(false);
	const highest = Math.max(...buckets.map((bucket) => bucket.delivered + failures(bucket)), 1);
	const number = new Intl.NumberFormat(language);
	const place = Math.min(chosen, buckets.length - 1);
	const bucket = buckets[place]!;
	const text = t.overview.bucket(bucketTime(language, utc, bucket.at, width), number.format(bucket.delivered), number.format(failures(bucket)));
	const open = (at: number) => void navigate({ to: "/deliveries", search: { environment, ...bucketSearch(buckets[at]!, width) } });
	const placeOf = (event: { clientX: number; currentTarget: HTMLElement }) => {
		const box = event.currentTarget.getBoundingClientRect();
		return Math.min(buckets.length - 1, Math.max(0, Math.floor((buckets.length * (event.clientX - box.left)) / box.width)));
	};
	const press = (event: KeyboardEvent) => {
		const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: buckets.length - 1 }[event.key];
		if (next === undefined && event.key !== "Enter" && event.key !== " ") return;
		event.preventDefault();
		if (next === undefined) open(place);
		else setChosen(Math.min(buckets.length - 1, Math.max(0, next)));
	};
	return (
		<>
			<div
				role="slider"
				tabIndex={0}
				className={classes.bars}
				aria-label={t.overview.chart}
				aria-valuemin={0}
				aria-valuemax={buckets.length - 1}
				aria-valuenow={place}
				aria-valuetext={text}
				onKeyDown={press}
				onFocus={() => setShown(true)}
				onBlur={() => setShown(false)}
				onPointerMove={(event: PointerEvent<HTMLElement>) => {
					setChosen(placeOf(event));
					setShown(true);
				}}
				onPointerLeave={() => setShown(false)}
				onClick={(event) => open(placeOf(event))}
			>
				<svg viewBox={`0 0 ${buckets.length * 10} 100`} preserveAspectRatio="none" aria-hidden>
					{shown && <rect className={classes.chosen} x={place * 10} y={0} width={10} height={100} />}
					{buckets.map((item, index) => {
						const good = (99 * item.delivered) / highest;
						const bad = (99 * failures(item)) / highest;
						return (
							<g key={item.at}>
								{good > 0 && <rect className={classes.good} x={index * 10 + 1} y={100 - good - bad} width={8} height={good} />}
								{bad > 0 && <rect className={classes.bad} x={index * 10 + 1} y={100 - bad} width={8} height={bad} />}
							</g>
						);
					})}
				</svg>
			</div>
			<div className={classes.axis} aria-hidden>
				<span>{bucketTime(language, utc, buckets[0]!.at, width)}</span>
				<span className={classes.readout}>{shown ? text : t.overview.hint}</span>
				<span>{bucketTime(language, utc, buckets.at(-1)!.at, width)}</span>
			</div>
		</>
	);
}

const lines = ["p50", "p95", "p99"] as const;

/** Latencies draws three percentiles on the buckets' scale; where nothing was delivered the line stops. */
export function Latencies({ buckets }: { buckets: Bucket[] }) {
	const { t, language } = useLanguage();
	const values = (name: (typeof lines)[number]) => buckets.map((bucket) => bucket[`${name}_ms`]);
	const highest = Math.max(...values("p99").map((value) => value ?? 0));
	if (highest === 0) return <p className="quiet">{t.overview.noLatency}</p>;
	const path = (name: (typeof lines)[number]) => {
		let d = "";
		const list = values(name);
		list.forEach((value, index) => {
			if (value === null) return;
			const y = (98 - (96 * value) / highest).toFixed(1);
			const alone = (list[index - 1] ?? null) === null;
			d += alone ? `M${index * 10 + 2} ${y}h6` : `L${index * 10 + 5} ${y}`;
		});
		return d;
	};
	const last = (name: (typeof lines)[number]) => values(name).findLast((value) => value !== null);
	return (
		<>
			<div className={classes.lines}>
				<svg viewBox={`0 0 ${buckets.length * 10} 100`} preserveAspectRatio="none" aria-hidden>
					{lines.map((name) => (
						<path key={name} className={classes[name]} d={path(name)} vectorEffect="non-scaling-stroke" />
					))}
				</svg>
				<span className={classes.scale}>{duration(language, highest)}</span>
			</div>
			<dl className={classes.legend}>
				{lines.map((name) => (
					<div key={name}>
						<dt>
							<span className={classes[name]} aria-hidden />
							{name}
						</dt>
						<dd>{duration(language, last(name) ?? 0)}</dd>
					</div>
				))}
			</dl>
		</>
	);
}
