import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { uuid } from "../../app/search";
import { useShortcuts } from "../../app/shortcuts";
import { useLanguage } from "../../i18n";
import { Copy, useCopy } from "../../ui/Copy";
import { Actions, Detail, type Fact, Facts, Loaded } from "../../ui/Detail";
import { detailOf } from "../../ui/errors";
import page from "../../ui/page.module.css";
import { Status } from "../../ui/Status";
import { tenantQuery } from "../../ui/TenantName";
import { Time } from "../../ui/Time";
import { Compare } from "./Compare";
import { curlOf } from "./curl";
import classes from "./Delivery.module.css";
import { Exchange } from "./Exchange";
import { type Delivery as Shown, deliveryQuery, receiverQuery, retryDelivery } from "./queries";
import { Waiting } from "./Waiting";
import { Waterfall } from "./Waterfall";

const route = getRouteApi("/shell/deliveries/$id");

export function Delivery() {
	const { t } = useLanguage();
	const { id } = route.useParams();
	const delivery = useQuery({ ...deliveryQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={delivery} what={t.delivery.what} id={id}>
			{(data) => <Details key={id} delivery={data} />}
		</Loaded>
	);
}

function Details({ delivery }: { delivery: Shown }) {
	const { t } = useLanguage();
	const { environment, attempt: chosen, with: compared } = route.useSearch();
	const navigate = route.useNavigate();
	const { attempts } = delivery;
	const found = attempts.findIndex((attempt) => String(attempt.number) === chosen);
	const index = found < 0 ? attempts.length - 1 : found;
	const attempt = attempts[index];
	const second = attempts.find((attempt) => String(attempt.number) === compared);
	const set = (attempt?: number, other?: number) => void navigate({ search: (was) => ({ ...was, attempt: attempt ? String(attempt) : undefined, with: other ? String(other) : undefined }), replace: true });
	return (
		<Detail
			back={
				<Link to="/deliveries" search={{ environment }}>
					{t.delivery.back}
				</Link>
			}
			title={delivery.event_type}
			state={<Status status={delivery.status} />}
			actions={<DeliveryActions delivery={delivery} attempt={attempt} />}
		>
			<DeliveryFacts delivery={delivery} />
			<Waiting delivery={delivery} />
			<section className={`panel ${classes.section}`} aria-labelledby="attempts">
				<div className={page.top}>
					<h2 id="attempts">{t.delivery.attempts}</h2>
					{attempts.length > 1 && attempt && (
						<Button size="xs" variant="default" onClick={() => set(second ? undefined : attempts[index === 0 ? 1 : 0]?.number, second ? undefined : attempt.number)}>
							{second ? t.compare.close : t.compare.open}
						</Button>
					)}
				</div>
				{attempts.length === 0 ? (
					<p className="quiet">{t.delivery.noAttempts}</p>
				) : (
					<Waterfall attempts={attempts} chosen={index} onChoose={(index) => set(attempts[index]?.number)} />
				)}
			</section>
			{second && attempt && <Compare attempts={attempts} first={attempt} second={second} onChange={set} />}
			<Exchange delivery={delivery} attempt={attempt} />
		</Detail>
	);
}

function DeliveryActions({ delivery, attempt }: { delivery: Shown; attempt?: Shown["attempts"][number] }) {
	const { t } = useLanguage();
	const queries = useQueryClient();
	const receiver = useQuery(receiverQuery(delivery));
	const [copiedCurl, copyCurl] = useCopy();
	const [copiedLink, copyLink] = useCopy();
	const retry = useMutation({
		mutationFn: () => retryDelivery(delivery.id),
		onSuccess: () => Promise.all([queries.invalidateQueries({ queryKey: ["delivery", delivery.id] }), queries.invalidateQueries({ queryKey: ["deliveries"], refetchType: "none" })]),
	});
	const curl = () => copyCurl(curlOf(delivery, attempt, receiver.data?.url ?? (/^https?:/.test(delivery.receiver) ? delivery.receiver : "$HUB_RECEIVER")));
	useShortcuts({ r: () => retry.mutate(), c: curl });
	return (
		<Actions bad={retry.isError} said={retry.isSuccess ? t.delivery.retried : retry.isError && `${t.delivery.retryFailed} ${detailOf(retry.error)}`}>
			<Button size="xs" loading={retry.isPending} onClick={() => retry.mutate()}>
				{t.delivery.retry}
			</Button>
			<Button size="xs" variant="default" onClick={curl} title={t.delivery.curlNote}>
				{copiedCurl ? t.ui.copied : t.delivery.curl}
			</Button>
			<Button size="xs" variant="default" onClick={() => copyLink(window.location.href)}>
				{copiedLink ? t.ui.copied : t.delivery.link}
			</Button>
		</Actions>
	);
}

function DeliveryFacts({ delivery }: { delivery: Shown }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const tenant = useQuery(tenantQuery(delivery.tenant_id));
	const receiver = useQuery(receiverQuery(delivery));
	const facts: Fact[] = [
		[t.delivery.id, <Id key="id" text={delivery.id} />],
		[t.delivery.event, delivery.event_id ? <Id key="event" text={delivery.event_id} /> : "–"],
		[
			t.delivery.correlation,
			delivery.correlation_id ? (
				<>
					<Link to="/deliveries" search={{ environment, correlation: delivery.correlation_id }} className="mono">
						{delivery.correlation_id}
					</Link>
					<Copy text={delivery.correlation_id} />{" "}
					<Link to="/journey" search={{ environment, correlation: delivery.correlation_id }}>
						{t.journey.open}
					</Link>
				</>
			) : (
				"–"
			),
		],
		[t.delivery.tenant, `${tenant.data?.name ?? delivery.tenant_id} · ${delivery.product}`],
		[
			t.delivery.receiver,
			<span key="receiver">
				{delivery.endpoint_id ? t.delivery.endpoint : t.delivery.integration}
				{receiver.data?.name && ` · ${receiver.data.name}`}
				{receiver.isError && ` · ${t.delivery.deleted}`}
				{receiver.data?.url && (
					<>
						<br />
						<span className="mono">{receiver.data.url}</span> <Copy text={receiver.data.url} />
					</>
				)}
			</span>,
		],
		[t.delivery.accepted, <Time key="accepted" at={delivery.created_at} />],
		[t.delivery.finished, delivery.finished_at ? <Time key="finished" at={delivery.finished_at} /> : "–"],
		[t.delivery.next, delivery.next_attempt_at ? <Time key="next" at={delivery.next_attempt_at} /> : "–"],
	];
	if (delivery.reason) facts.push([t.delivery.reason, <strong key="reason">{delivery.reason}</strong>]);
	return <Facts facts={facts} />;
}

function Id({ text }: { text: string }) {
	return (
		<>
			<span className="mono">{text}</span> <Copy text={text} />
		</>
	);
}
