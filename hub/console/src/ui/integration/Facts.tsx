import { useLanguage } from "../../i18n";
import { Copy } from "../Copy";
import { type Fact, Facts } from "../Detail";
import layout from "../layout.module.css";
import { Time } from "../Time";
import classes from "./Facts.module.css";

type Shown = {
	product: string;
	environment: "live" | "test";
	last_health_check: string | null;
	features: string[];
	enabled: string[];
	api_url: string;
	webhook_url: string;
	api_key_local: string | null;
	api_key_remote: string | null;
	webhook_secret: string | null;
	created_at: string;
	revoked_at: string | null;
};

type Props = { integration: Shown; /** before and after are facts that only one side knows. */ before?: Fact[]; after?: Fact[] };

/** IntegrationFacts is what is known of an integration. */
export function IntegrationFacts({ integration, before = [], after = [] }: Props) {
	const { t } = useLanguage();
	const facts: Fact[] = [
		...before,
		[t.integrations.peer, integration.product],
		[t.integrations.environment, t.app[integration.environment]],
		[t.integrations.checked, integration.last_health_check ? <Time key="checked" at={integration.last_health_check} /> : t.integrations.never],
		[t.integrations.features, integration.features.join(", ") || "–"],
		[t.integrations.uses, integration.enabled.join(", ") || "–"],
		[t.integrations.apiURL, <Address key="api" text={integration.api_url} />],
		[t.integrations.webhookURL, <Address key="webhook" text={integration.webhook_url} />],
		[t.integrations.keyLocal, <span key="local" className="mono">{integration.api_key_local ?? "–"}</span>],
		[t.integrations.keyRemote, <span key="remote" className="mono">{integration.api_key_remote ?? "–"}</span>],
		[t.integrations.secret, <span key="secret" className="mono">{integration.webhook_secret ?? "–"}</span>],
		[t.integrations.created, <Time key="created" at={integration.created_at} />],
		...after,
	];
	if (integration.revoked_at) facts.push([t.integrations.revoked, <Time key="revoked" at={integration.revoked_at} />]);
	return <Facts facts={facts} />;
}

/** Address is one that can be copied. */
export function Address({ text }: { text: string }) {
	if (!text) return "–";
	return (
		<>
			<span className="mono">{text}</span> <Copy text={text} />
		</>
	);
}

/** LastError says what is wrong with an integration. */
export function LastError({ text }: { text: string | null }) {
	const { t } = useLanguage();
	if (!text) return null;
	return (
		<section className={`panel ${layout.section} ${classes.wrong}`} aria-labelledby="error">
			<h2 id="error">{t.integrations.error}</h2>
			{text}
		</section>
	);
}
