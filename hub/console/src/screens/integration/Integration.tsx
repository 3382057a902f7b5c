import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Detail, type Fact, Loaded } from "../../ui/Detail";
import { IntegrationActions } from "../../ui/integration/Actions";
import { Address, IntegrationFacts, LastError } from "../../ui/integration/Facts";
import { State } from "../../ui/integration/State";
import layout from "../../ui/layout.module.css";
import { Sparkline } from "../../ui/Sparkline";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import { type Integration as Shown, receiversQuery } from "../integrations/queries";
import classes from "./Integration.module.css";
import { Order } from "./Order";
import { disableIntegration, enableIntegration, integrationQuery, revokeIntegration, rotateSecret, testIntegration } from "./queries";

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
			actions={!integration.revoked_at && <OperatorActions integration={integration} />}
		>
			<LastError text={integration.last_error} />
			<IntegrationFactsOfTenant integration={integration} />
			<Day integration={integration} />
		</Detail>
	);
}

function IntegrationFactsOfTenant({ integration }: { integration: Shown }) {
	const { t } = useLanguage();
	const { order: texts } = useScreenTexts();
	const after: Fact[] = [[texts.title, integration.ordered ? texts.on : texts.off], [t.integrations.peerWebhookURL, integration.peer_webhook_url ? <Address key="peer" text={integration.peer_webhook_url} /> : t.integrations.underAPI]];
	if (integration.previous_secret_until) after.push([t.integrations.previous, <Time key="previous" at={integration.previous_secret_until} />]);
	if (integration.next_registration_at) after.push([t.integrations.again, <Time key="again" at={integration.next_registration_at} />]);
	return <IntegrationFacts integration={integration} before={[[t.integrations.tenant, `${integration.tenant_name} · ${integration.own_product}`]]} after={after} />;
}

/** OperatorActions are for administrators; support reads why it has none. */
function OperatorActions({ integration: { id, disabled, ordered, tenant_name } }: { integration: Shown }) {
	const { t } = useLanguage();
	const isAdmin = useAdmin();
	const queries = useQueryClient();
	if (!isAdmin) return <p className="quiet">{t.integrations.adminsOnly}</p>;
	const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ["integration", id] }), queries.invalidateQueries({ queryKey: ["integrations"] })]);
	return (
		<IntegrationActions
			disabled={disabled}
			name={tenant_name}
			acts={{
				test: () => testIntegration(id),
				enable: () => enableIntegration(id),
				disable: () => disableIntegration(id),
				revoke: () => revokeIntegration(id),
				rotate: (overlap) => rotateSecret(id, overlap).then(({ secret }) => secret),
			}}
			onDone={refresh}
			more={<Order id={id} ordered={ordered} onDone={refresh} />}
		/>
	);
}

function Day({ integration }: { integration: Shown }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const receivers = useQuery(receiversQuery);
	const receiver = receivers.data?.get(integration.id);
	const none = Array<number>(24).fill(0);
	const text = t.integrations.attempts(receiver?.attempts ?? 0, receiver?.errors ?? 0);
	return (
		<section className={`panel ${layout.section} ${classes.day}`} aria-labelledby="day">
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
