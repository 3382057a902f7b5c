import { Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";
import { usePreferences } from "../app/preferences";
import { type Language, useLanguage } from "../i18n";

const units = [
	["day", 86_400],
	["hour", 3_600],
	["minute", 60],
	["second", 1],
] as const;

/** relativeTime returns "3 minutes ago", "in 5 seconds". */
export function relativeTime(language: Language, seconds: number): string {
	const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3];
	return new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" }).format(Math.trunc(seconds / size), unit);
}

/** absoluteTime returns the day and time with seconds and the zone. */
export function absoluteTime(language: Language, utc: boolean, at: Date): string {
	return new Intl.DateTimeFormat(language, {
		dateStyle: "medium",
		timeStyle: "long",
		timeZone: utc ? "UTC" : undefined,
	}).format(at);
}

/** duration returns milliseconds as "42 ms", "1.3 s", "5 min". */
export function duration(language: Language, ms: number): string {
	const [value, unit] = ms < 1000 ? [ms, "millisecond"] : ms < 60_000 ? [ms / 1000, "second"] : [ms / 60_000, "minute"];
	return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

// One clock for all times of the page.
const listeners = new Set<() => void>();
let ticking = 0;

function useNow(): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const tick = () => setNow(Date.now());
		listeners.add(tick);
		ticking ||= window.setInterval(() => listeners.forEach((listener) => listener()), 5000);
		return () => {
			listeners.delete(tick);
			if (listeners.size === 0) {
				window.clearInterval(ticking);
				ticking = 0;
			}
		};
	}, []);
	return now;
}

/** Time shows a time relative to now, and in full on hover and focus. */
export function Time({ at, focusable = true }: { at: string; focusable?: boolean }) {
	const { language } = useLanguage();
	const { utc } = usePreferences();
	const now = useNow();
	const date = new Date(at);
	const full = absoluteTime(language, utc, date);
	return (
		<Tooltip label={full}>
			<time dateTime={at} tabIndex={focusable ? 0 : undefined}>
				{relativeTime(language, (date.getTime() - now) / 1000)}
			</time>
		</Tooltip>
	);
}
