import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Copy } from "../../ui/Copy";
import { Detail, type Fact, Facts, Loaded } from "../../ui/Detail";
import layout from "../../ui/layout.module.css";
import { Sparkline } from "../../ui/Sparkline";
import { TenantName } from "../../ui/TenantName";
import { Time } from "../../ui/Time";
import { EndpointState } from "../endpoints/EndpointState";
import type { Endpoint as Shown } from "../endpoints/queries";
import { receiversQuery } from "../integrations/queries";
import { Debugger } from "./Debugger";
import { EndpointActions } from "./EndpointActions";
import { Match } from "./Match";
import { endpointQuery } from "./queries";

const route = getRouteApi("/shell/endpoints/$id");

export function Endpoint() {
	const screens = useScreenTexts();
	const { id } = route.useParams();
	const { environment } = route.useSearch();
	const endpoint = useQuery({ ...endpointQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={endpoint} what={screens.endpoints.what} id={id}>
			{(data) => (
				<Detail
					back={
						<Link to="/endpoints" search={{ environment }}>
							{screens.endpoints.title}
						</Link>
					}
					title={data.description || new URL(data.url).host}
					state={<EndpointState endpoint={data} />}
					actions={<EndpointActions endpoint={data} />}
				>
					<EndpointFacts endpoint={data} />
					<Health endpoint={data} />
					<Match key={`match ${id}`} id={id} />
					<Debugger key={id} id={id} />
				</Detail>
			)}
		</Loaded>
	);
}

function EndpointFacts({ endpoint }: { endpoint: Shown }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const facts: Fact[] = [
		[
			screens.endpoints.url,
			<span key="url">
				<span className="mono">{endpoint.url}</span> <Copy text={endpoint.url} />
			</span>,
		],
		[screens.endpoints.types, endpoint.event_types.join(", ")],
		[screens.endpoints.filter, endpoint.filter ? <code key="filter">{endpoint.filter}</code> : screens.endpoints.noFilter],
		[screens.order.title, endpoint.ordered ? screens.order.on : screens.order.off],
		[t.ui.tenant, <TenantName key="tenant" id={endpoint.tenant_id} />],
		[t.integrations.environment, t.app[endpoint.environment]],
		[screens.endpoints.pace, endpoint.rate_per_minute ? screens.endpoints.perMinute(endpoint.rate_per_minute) : screens.endpoints.noPace],
		[screens.endpoints.signatures, endpoint.standard_signature ? "X-Webhook-Signature, webhook-signature" : "X-Webhook-Signature"],
		[screens.operators.since, <Time key="created" at={endpoint.created_at} />],
	];
	const headers = Object.entries(endpoint.headers);
	if (headers.length > 0) facts.push([screens.endpoints.requestHeaders, headers.map(([name, value]) => `${name}: ${value}`).join(", ")]);
	if (endpoint.client_certificate) {
		facts.push([
			screens.endpoints.certificate,
			<span key="certificate">
				{endpoint.client_certificate.subject}, {screens.endpoints.until} <Time at={endpoint.client_certificate.expires_at} />
			</span>,
		]);
	}
	if (endpoint.filter_errors) {
		facts.push([
			screens.endpoints.filterErrors,
			<span key="filterErrors">
				{screens.endpoints.filterFailed(endpoint.filter_errors.count, endpoint.filter_errors.last_error)} (<Time at={endpoint.filter_errors.last_at} />)
			</span>,
		]);
	}
	if (endpoint.previous_secret_until && new Date(endpoint.previous_secret_until) > new Date()) {
		facts.push([t.integrations.previous, <Time key="previous" at={endpoint.previous_secret_until} />]);
		facts.push([screens.endpoints.switch, screens.endpoints.switches[endpoint.switch ?? "now"]]);
	}
	if (endpoint.disabled_at) facts.push([screens.endpoints.disabledAt, <Time key="disabled" at={endpoint.disabled_at} />]);
	return <Facts facts={facts} />;
}

function Health({ endpoint }: { endpoint: Shown }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const receivers = useQuery(receiversQuery);
	const receiver = receivers.data?.get(endpoint.id);
	const none = Array<number>(24).fill(0);
	const text = t.integrations.attempts(receiver?.attempts ?? 0, receiver?.errors ?? 0);
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="day">
			<h2 id="day">{t.integrations.day}</h2>
			<Sparkline totals={receiver?.attempts_by_hour ?? none} errors={receiver?.errors_by_hour ?? none} label={text} />
			<p>
				<span className="quiet">{text}</span>{" "}
				<Link to="/deliveries" search={{ environment, endpoint: endpoint.id }}>
					{t.integrations.deliveries}
				</Link>
			</p>
		</section>
	);
}
