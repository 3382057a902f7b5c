import { useRef, useState } from "react";
import { useLanguage } from "../i18n";
import classes from "./Copy.module.css";

/** copyText writes to the clipboard; where the browser has none (plain http), by a selection. */
export async function copyText(text: string) {
	if (navigator.clipboard) return navigator.clipboard.writeText(text);
	const field = document.createElement("textarea");
	field.value = text;
	document.body.append(field);
	field.select();
	document.execCommand("copy");
	field.remove();
}

/** useCopy returns a way to copy, and whether something was copied just now. */
export function useCopy(): [copied: boolean, copy: (text: string) => void] {
	const [copied, setCopied] = useState(false);
	const timer = useRef(0);
	const copy = (text: string) =>
		void copyText(text).then(() => {
			setCopied(true);
			window.clearTimeout(timer.current);
			timer.current = window.setTimeout(() => setCopied(false), 2000);
		});
	return [copied, copy];
}

/** Copy is the small button beside an id. */
export function Copy({ text, label }: { text: string; label?: string }) {
	const { t } = useLanguage();
	const [copied, copy] = useCopy();
	return (
		<button type="button" className={classes.copy} aria-label={`${t.ui.copy} ${label ?? text}`} title={copied ? t.ui.copied : t.ui.copy} onClick={() => copy(text)}>
			<svg viewBox="0 0 16 16" width="14" height="14" aria-hidden fill="none" stroke="currentColor" strokeWidth="1.5">
				{copied ? <path d="m3 8.5 3.2 3.2L13 4.8" /> : <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" strokeLinejoin="round" />}
			</svg>
			<span role="status" className="visually-hidden">
				{copied && t.ui.copied}
			</span>
		</button>
	);
}
