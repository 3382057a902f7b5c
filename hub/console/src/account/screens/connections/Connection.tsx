import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Copy } from "../../../ui/Copy";
import { Detail, type Fact, Facts, Loaded } from "../../../ui/Detail";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import { useTexts } from "../../i18n";
import { ConnectionActions } from "./ConnectionActions";
import classes from "./Connections.module.css";
import { ConnectionState, LiveState } from "./ConnectionState";
import { pollingOf, useLiveConnections } from "./live";
import { QRCodePanel } from "./QRCodePanel";
import { type Connection as Shown, connectionQuery } from "./queries";

const route = getRouteApi("/account/$product/connections/$id");

/** Connection is one session of a chat network: its state, the code that pairs it, its settings. */
export function Connection() {
	const { connections: texts } = useTexts();
	const { id, product } = route.useParams();
	const valid = /^\d{1,15}$/.test(id);
	const live = useLiveConnections();
	const connection = useQuery({ ...connectionQuery(Number(id), pollingOf(live)), enabled: valid });
	return (
		<Loaded query={connection} what={texts.what} id={id} valid={valid}>
			{(data) => (
				<Detail
					back={
						<Link to="/account/$product/connections" params={{ product }} search={(was) => ({ environment: was.environment })}>
							{texts.title}
						</Link>
					}
					title={data.name}
					state={
						<>
							<span role="status">
								<ConnectionState status={data.status} />
							</span>
							<LiveState live={live} />
						</>
					}
					actions={<ConnectionActions key={data.id} connection={data} />}
				>
					{data.lastError && (
						<section className={`panel ${layout.section} ${classes.wrong}`} aria-labelledby="error">
							<h2 id="error">{texts.error}</h2>
							{data.lastError}
						</section>
					)}
					{data.status === "qrcode" && <QRCodePanel connection={data} />}
					<ConnectionFacts connection={data} />
				</Detail>
			)}
		</Loaded>
	);
}

function ConnectionFacts({ connection }: { connection: Shown }) {
	const { connections: texts } = useTexts();
	const minutes = (value: number) => (value > 0 ? texts.minutes(value) : texts.never);
	const facts: Fact[] = [
		[texts.driver, texts.drivers[connection.driver] ?? connection.driver],
		[texts.number, connection.number ?? "–"],
		[texts.isDefault, connection.isDefault ? texts.yes : texts.no],
		[texts.queues, connection.queues.map((queue) => queue.name).join(", ") || "–"],
		[texts.sendInterval, texts.milliseconds(connection.sendIntervalMs)],
		[texts.dailyLimit, connection.dailyLimit || texts.unlimited],
		[texts.expiresTicket, minutes(connection.expiresTicket)],
		[texts.timeToTransfer, minutes(connection.timeToTransfer)],
		[texts.greeting, connection.greetingMessage || "–"],
		[texts.created, <Time key="created" at={connection.createdAt} />],
	];
	if (connection.webhookUrl) {
		facts.push([
			texts.webhook,
			<span key="webhook">
				<span className="mono">{connection.webhookUrl}</span> <Copy text={connection.webhookUrl} />
			</span>,
		]);
	}
	return <Facts facts={facts} />;
}
