import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useShortcuts } from "../../app/shortcuts";
import { useLanguage } from "../../i18n";
import { Copy, useCopy } from "../Copy";
import { Actions, Detail, type Fact, Facts } from "../Detail";
import { detailOf } from "../errors";
import layout from "../layout.module.css";
import { Status } from "../Status";
import { Time } from "../Time";
import { Compare } from "./Compare";
import { curlOf } from "./curl";
import classes from "./Delivery.module.css";
import { Exchange } from "./Exchange";
import { Reason } from "./Reason";
import type { ShownSearch } from "./search";
import type { Attempt, Delivery } from "./types";
import { Waiting } from "./Waiting";
import { Waterfall } from "./Waterfall";

type Props = {
	delivery: Delivery;
	shown: ShownSearch;
	/** onShow chooses the attempt that is shown, and the one beside it. */
	onShow: (shown: ShownSearch) => void;
	back: ReactNode;
	/** url is where the receiver is, for the command that repeats the request. */
	url?: string;
	retry: () => Promise<unknown>;
	onRetried: () => unknown;
	facts: { correlation: (id: string) => ReactNode; tenant?: ReactNode; receiver: ReactNode };
	integrationLink: (id: string, text: string) => ReactNode;
	deliveryLink: (id: string, text: string) => ReactNode;
	/** actions are those that only one side has. */
	actions?: ReactNode;
};

/** DeliveryView is the page of one delivery: its attempts, its exchange, and what can be done with it. */
export function DeliveryView({ delivery, shown, onShow, back, url, retry, onRetried, facts, integrationLink, deliveryLink, actions }: Props) {
	const { t } = useLanguage();
	const { attempts } = delivery;
	const found = attempts.findIndex((attempt) => String(attempt.number) === shown.attempt);
	const index = found < 0 ? attempts.length - 1 : found;
	const attempt = attempts[index];
	const second = attempts.find((attempt) => String(attempt.number) === shown.with);
	const set = (attempt?: number, other?: number) => onShow({ attempt: attempt ? String(attempt) : undefined, with: other ? String(other) : undefined });
	return (
		<Detail back={back} title={delivery.event_type} state={<Status status={delivery.status} />} actions={<DeliveryActions {...{ delivery, attempt, url, retry, onRetried, actions }} />}>
			<DeliveryFacts delivery={delivery} facts={facts} />
			<Waiting delivery={delivery} integrationLink={integrationLink} deliveryLink={deliveryLink} />
			<section className={`panel ${classes.section}`} aria-labelledby="attempts">
				<div className={layout.top}>
					<h2 id="attempts">{t.delivery.attempts}</h2>
					{attempts.length > 1 && attempt && (
						<Button size="xs" variant="default" onClick={() => set(second ? undefined : attempts[index === 0 ? 1 : 0]?.number, second ? undefined : attempt.number)}>
							{second ? t.compare.close : t.compare.open}
						</Button>
					)}
				</div>
				{attempts.length === 0 ? (
					<p className="quiet">{isInbound(delivery) ? t.delivery.received(delivery.attempt_count, delivery.status_code ?? undefined) : t.delivery.noAttempts}</p>
				) : (
					<Waterfall attempts={attempts} chosen={index} onChoose={(index) => set(attempts[index]?.number)} />
				)}
			</section>
			{second && attempt && <Compare attempts={attempts} first={attempt} second={second} onChange={set} />}
			<Exchange delivery={delivery} attempt={attempt} />
		</Detail>
	);
}

/** isInbound says that the other product sent it, and the hub received it. */
const isInbound = (delivery: Delivery) => delivery.direction === "inbound";

type ActionProps = Pick<Props, "delivery" | "url" | "retry" | "onRetried" | "actions"> & { attempt?: Attempt };

function DeliveryActions({ delivery, attempt, url, retry: mutationFn, onRetried, actions }: ActionProps) {
	const { t } = useLanguage();
	const [copiedCurl, copyCurl] = useCopy();
	const [copiedLink, copyLink] = useCopy();
	const retry = useMutation({ mutationFn, onSuccess: onRetried });
	const curl = () => copyCurl(curlOf(delivery, attempt, url ?? (/^https?:/.test(delivery.receiver) ? delivery.receiver : "$HUB_RECEIVER")));
	// Only the sender can send again what came in. What is behind another of its key goes in its turn.
	const canRetry = !isInbound(delivery) && !delivery.behind_in_order && delivery.reason !== "discarded";
	useShortcuts({ r: () => canRetry && !retry.isPending && retry.mutate(), c: curl });
	return (
		<Actions bad={retry.isError} said={retry.isSuccess ? t.delivery.retried : retry.isError && `${t.delivery.retryFailed} ${detailOf(retry.error)}`}>
			{canRetry && (
				<Button size="xs" loading={retry.isPending} onClick={() => retry.mutate()}>
					{t.delivery.retry}
				</Button>
			)}
			<Button size="xs" variant="default" onClick={curl} title={t.delivery.curlNote}>
				{copiedCurl ? t.ui.copied : t.delivery.curl}
			</Button>
			<Button size="xs" variant="default" onClick={() => copyLink(window.location.href)}>
				{copiedLink ? t.ui.copied : t.delivery.link}
			</Button>
			{actions}
		</Actions>
	);
}

function DeliveryFacts({ delivery, facts: { correlation, tenant, receiver } }: Pick<Props, "delivery" | "facts">) {
	const { t } = useLanguage();
	const facts: Fact[] = [
		[t.delivery.id, <Id key="id" text={delivery.id} />],
		[t.delivery.event, delivery.event_id ? <Id key="event" text={delivery.event_id} /> : "–"],
		[t.delivery.correlation, delivery.correlation_id ? correlation(delivery.correlation_id) : "–"],
		tenant === undefined ? [t.deliveries.product, delivery.product] : [t.delivery.tenant, tenant],
		[isInbound(delivery) ? t.delivery.sender : t.delivery.receiver, receiver],
		[t.delivery.accepted, <Time key="accepted" at={delivery.created_at} />],
		[t.delivery.finished, delivery.finished_at ? <Time key="finished" at={delivery.finished_at} /> : "–"],
		[t.delivery.next, delivery.next_attempt_at ? <Time key="next" at={delivery.next_attempt_at} /> : "–"],
	];
	if (delivery.ordering_key) facts.push([t.delivery.orderingKey, <Id key="key" text={delivery.ordering_key} />]);
	if (delivery.out_of_order) facts.push([t.delivery.order, t.delivery.outOfOrder]);
	if (delivery.priority !== "normal") facts.push([t.waiting.priority, <strong key="priority">{t.waiting.priorities[delivery.priority]}</strong>]);
	if (delivery.reason) facts.push([
			t.delivery.reason,
			<strong key="reason">
				<Reason code={delivery.reason} />
			</strong>,
		]);
	return <Facts facts={facts} />;
}

function Id({ text }: { text: string }) {
	return (
		<>
			<span className="mono">{text}</span> <Copy text={text} />
		</>
	);
}
