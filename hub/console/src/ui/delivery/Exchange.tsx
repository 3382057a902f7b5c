import { useLanguage } from "../../i18n";
import { Copy } from "../Copy";
import { indentedJSON } from "../json";
import { Masked } from "../Masked";
import classes from "./Delivery.module.css";
import type { Attempt, Delivery } from "./types";

/** Exchange shows the request and the response of one attempt. */
export function Exchange({ delivery, attempt }: { delivery: Delivery; attempt?: Attempt }) {
	const { t } = useLanguage();
	const payload = delivery.payload as unknown;
	const erased = typeof payload === "object" && payload !== null && "erased" in payload;
	return (
		<div className={classes.exchange}>
			<section className={`panel ${classes.section}`} aria-labelledby="request">
				<h2 id="request">{t.delivery.request}</h2>
				<Headers headers={attempt?.request_headers} />
				<Body text={payload == null ? undefined : indentedJSON(delivery.payload_text ?? "")} note={payload == null ? t.delivery.expired : erased ? t.delivery.erased : undefined} label={t.delivery.payload} />
			</section>
			<section className={`panel ${classes.section}`} aria-labelledby="response">
				<h2 id="response">
					{t.delivery.response} {attempt && <span className="quiet">{attempt.status_code ?? t.delivery.noAnswer}</span>}
				</h2>
				<Headers headers={attempt?.response_headers} />
				<Body text={attempt?.response_body ? indented(attempt.response_body) : undefined} note={attempt?.response_body ? undefined : t.delivery.noBody} label={t.delivery.body} />
			</section>
		</div>
	);
}

function indented(text: string): string {
	try {
		JSON.parse(text);
		return indentedJSON(text);
	} catch {
		return text;
	}
}

function Headers({ headers = {} }: { headers?: Record<string, string> }) {
	const { t } = useLanguage();
	const rows = Object.entries(headers).sort(([a], [b]) => a.localeCompare(b));
	if (rows.length === 0) return null;
	return (
		<dl className={classes.headers} aria-label={t.delivery.headers}>
			{rows.map(([name, value]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>
						<Masked value={value} />
					</dd>
				</div>
			))}
		</dl>
	);
}

function Body({ text, note, label }: { text?: string; note?: string; label: string }) {
	return (
		<div className={classes.body}>
			{note && <p className="quiet">{note}</p>}
			{text && (
				<>
					<div className={classes.copy}>
						<Copy text={text} label={label} />
					</div>
					{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
					<pre tabIndex={0} aria-label={label}>
						{text}
					</pre>
				</>
			)}
		</div>
	);
}
