import { useLanguage } from "../i18n";
import classes from "./Status.module.css";

/** Status shows a delivery's status: a word, and a colour and shape beside it. text replaces the word. */
export function Status({ status, text }: { status: string; text?: string }) {
	const { t } = useLanguage();
	return (
		<span className={classes.status} data-status={status}>
			<svg viewBox="0 0 12 12" width="10" height="10" aria-hidden>
				{status === "delivered" && <circle cx="6" cy="6" r="5" fill="currentColor" />}
				{status === "pending" && <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2.4" strokeDasharray="4 2.3" />}
				{status === "parked" && <path d="M2.5 1.5h2.8v9H2.5zm4.2 0h2.8v9H6.7z" fill="currentColor" />}
				{status === "failed" && <path d="m2 2 8 8m0-8-8 8" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" />}
			</svg>
			{text ?? t.status[status] ?? status}
		</span>
	);
}
