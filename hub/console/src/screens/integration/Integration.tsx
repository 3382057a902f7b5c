import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { Copy } from "../../ui/Copy";
import { Detail, type Fact, Facts, Loaded } from "../../ui/Detail";
import { State } from "../../ui/integration/State";
import page from "../../ui/page.module.css";
import { Sparkline } from "../../ui/Sparkline";
import { Time } from "../../ui/Time";
import { type Integration as Shown, receiversQuery } from "../integrations/queries";
import { IntegrationActions } from "./Actions";
import classes from "./Integration.module.css";
import { integrationQuery } from "./queries";

const route = getRouteApi("/shell/integrations/$id");

export function Integration() {
	const { t } = useLanguage();
	const { id } = route.useParams();
	const integration = useQuery({ ...integrationQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={integration} what={t.integrations.what} id={id}>
			{(data) => <Details key={id} integration={data} />}
		</Loaded>
	);
}

function Details({ integration }: { integration: Shown }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	return (
		<Detail
			back={
				<Link to="/integrations" search={{ environment }}>
					{t.integrations.back}
				</Link>
			}
			title={`${integration.tenant_name} → ${integration.product}`}
			state={<State integration={integration} />}
			actions={!integration.revoked_at && <IntegrationActions integration={integration} />}
		>
			{integration.last_error && (
				<section className={`panel ${page.section} ${classes.wrong}`} aria-labelledby="error">
					<h2 id="error">{t.integrations.error}</h2>
					{integration.last_error}
				</section>
			)}
			<IntegrationFacts integration={integration} />
			<Day integration={integration} />
		</Detail>
	);
}

function IntegrationFacts({ integration }: { integration: Shown }) {
	const { t } = useLanguage();
	const address = (text: string) =>
		text ? (
			<>
				<span className="mono">{text}</span> <Copy text={text} />
			</>
		) : (
			"–"
		);
	const facts: Fact[] = [
		[t.integrations.tenant, `${integration.tenant_name} · ${integration.own_product}`],
		[t.integrations.peer, integration.product],
		[t.integrations.environment, t.app[integration.environment]],
		[t.integrations.checked, integration.last_health_check ? <Time key="checked" at={integration.last_health_check} /> : t.integrations.never],
		[t.integrations.features, integration.features.join(", ") || "–"],
		[t.integrations.uses, integration.enabled.join(", ") || "–"],
		[t.integrations.apiURL, address(integration.api_url)],
		[t.integrations.peerWebhookURL, integration.peer_webhook_url ? address(integration.peer_webhook_url) : t.integrations.underAPI],
		[t.integrations.webhookURL, address(integration.webhook_url)],
		[t.integrations.keyLocal, <span key="local" className="mono">{integration.api_key_local ?? "–"}</span>],
		[t.integrations.keyRemote, <span key="remote" className="mono">{integration.api_key_remote ?? "–"}</span>],
		[t.integrations.secret, <span key="secret" className="mono">{integration.webhook_secret ?? "–"}</span>],
		[t.integrations.created, <Time key="created" at={integration.created_at} />],
	];
	if (integration.previous_secret_until) facts.push([t.integrations.previous, <Time key="previous" at={integration.previous_secret_until} />]);
	if (integration.next_registration_at) facts.push([t.integrations.again, <Time key="again" at={integration.next_registration_at} />]);
	if (integration.revoked_at) facts.push([t.integrations.revoked, <Time key="revoked" at={integration.revoked_at} />]);
	return <Facts facts={facts} />;
}

function Day({ integration }: { integration: Shown }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const receivers = useQuery(receiversQuery);
	const receiver = receivers.data?.get(integration.id);
	const none = Array<number>(24).fill(0);
	const text = t.integrations.attempts(receiver?.attempts ?? 0, receiver?.errors ?? 0);
	return (
		<section className={`panel ${page.section} ${classes.day}`} aria-labelledby="day">
			<h2 id="day">{t.integrations.day}</h2>
			<Sparkline totals={receiver?.attempts_by_hour ?? none} errors={receiver?.errors_by_hour ?? none} label={text} />
			<p>
				<span className="quiet">{text}</span>{" "}
				<Link to="/deliveries" search={{ environment, integration: integration.id }}>
					{t.integrations.deliveries}
				</Link>
			</p>
		</section>
	);
}
