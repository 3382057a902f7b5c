import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useRef } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Empty, Failed, Loading } from "../../ui/states";
import { Time } from "../../ui/Time";
import { FaultsForm } from "./FaultsForm";
import { Outcome } from "./Outcome";
import classes from "./Phone.module.css";
import { addPhone, type ChatMessage, chatQuery, markRead, phonesQuery, type SandboxPhone, scanCode, sendMessage } from "./queries";

const route = getRouteApi("/shell/phone");

/** Phone is the simulated network of the messaging product: its phones and their chats. */
export function Phone() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const phones = useQuery(phonesQuery);
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<PageTitle title={screens.phone.title} />
			</div>
			{phones.data !== null && (
				<p className={classes.simulated} role="note">
					{screens.phone.simulated}
				</p>
			)}
			{phones.isPending ? (
				<div className="panel">
					<Loading rows={8} />
				</div>
			) : phones.data === null ? (
				<div className="panel">
					<Empty title={screens.phone.offTitle} next={<a href="/docs">{t.app.reference}</a>}>
						{screens.phone.off}
					</Empty>
				</div>
			) : !phones.data ? (
				<div className="panel">
					<Failed error={phones.error} onRetry={() => void phones.refetch()} />
				</div>
			) : (
				<Network phones={phones.data} />
			)}
		</div>
	);
}

function Network({ phones }: { phones: SandboxPhone[] }) {
	const screens = useScreenTexts();
	const { number } = route.useSearch();
	const navigate = route.useNavigate();
	const chosen = phones.find((phone) => phone.number === number);
	const choose = (number: string) => void navigate({ search: (was) => ({ ...was, number }), replace: true });
	return (
		<div className={classes.network}>
			<div className={classes.side}>
				<section className={`panel ${layout.section}`} aria-labelledby="phones">
					<h2 id="phones">{screens.phone.phones}</h2>
					<ul className={classes.phones}>
						{phones.map((phone) => (
							<li key={phone.number}>
								<button type="button" aria-pressed={phone === chosen} onClick={() => choose(phone.number)}>
									<strong>{phone.name}</strong> <span className="mono quiet">{phone.number}</span>
								</button>
							</li>
						))}
					</ul>
					<AddPhone onAdded={choose} />
				</section>
				<FaultsForm />
			</div>
			{chosen ? (
				<Chat key={chosen.number} phone={chosen} />
			) : (
				<section className="panel">
					<Empty title={phones.length === 0 ? screens.phone.emptyTitle : screens.phone.choose} next={null}>
						{screens.phone.empty}
					</Empty>
				</section>
			)}
		</div>
	);
}

const textOf = (event: FormEvent<HTMLFormElement>, name: string) => (event.currentTarget.elements.namedItem(name) as HTMLInputElement).value.trim();

function Field({ label, children }: { label: string; children: ReactNode }) {
	return (
		<label className={classes.field}>
			<span className="quiet">{label}</span>
			{children}
		</label>
	);
}

function AddPhone({ onAdded }: { onAdded: (number: string) => void }) {
	const screens = useScreenTexts();
	const queries = useQueryClient();
	const add = useMutation({
		mutationFn: addPhone,
		onSuccess: async (phone) => {
			await queries.invalidateQueries({ queryKey: phonesQuery.queryKey });
			onAdded(phone.number);
		},
	});
	return (
		<form
			className={classes.form}
			onSubmit={(event) => {
				event.preventDefault();
				add.mutate({ number: textOf(event, "number"), name: textOf(event, "name") });
				event.currentTarget.reset();
			}}
		>
			<Field label={screens.phone.number}>
				<input name="number" className={layout.select} inputMode="numeric" required maxLength={15} title={screens.phone.numberHelp} placeholder="5511987654321" autoComplete="off" />
			</Field>
			<Field label={screens.phone.name}>
				<input name="name" className={layout.select} required maxLength={120} autoComplete="off" />
			</Field>
			<Button type="submit" size="xs" variant="default" loading={add.isPending}>
				{screens.phone.add}
			</Button>
			<Outcome error={add.error} />
		</form>
	);
}

function Chat({ phone }: { phone: SandboxPhone }) {
	const screens = useScreenTexts();
	const queries = useQueryClient();
	const chat = useQuery(chatQuery(phone.number));
	const refresh = () => queries.invalidateQueries({ queryKey: chatQuery(phone.number).queryKey });
	const send = useMutation({ mutationFn: (message: { to: string; body: string }) => sendMessage(phone.number, message), onSuccess: refresh });
	const scan = useMutation({ mutationFn: (code: string) => scanCode(phone.number, code), onSuccess: refresh });
	const read = useMutation({ mutationFn: () => markRead(phone.number), onSuccess: refresh });
	const partner = chat.data?.at(-1);
	return (
		<section className={`panel ${layout.section} ${classes.chat}`} aria-labelledby="chat">
			<div className={layout.top}>
				<h2 id="chat">{screens.phone.chat(phone.name)}</h2>
				<Button size="compact-xs" variant="default" onClick={() => read.mutate()}>
					{screens.phone.read}
				</Button>
			</div>
			{chat.isPending ? <Loading rows={4} /> : !chat.data ? <Failed error={chat.error} onRetry={() => void chat.refetch()} /> : <Messages messages={chat.data} />}
			<form
				className={classes.form}
				onSubmit={(event) => {
					event.preventDefault();
					send.mutate({ to: textOf(event, "to"), body: textOf(event, "body") });
					(event.currentTarget.elements.namedItem("body") as HTMLInputElement).value = "";
				}}
			>
				<Field label={screens.phone.to}>
					<input key={partner ? "known" : "none"} name="to" className={layout.select} required inputMode="numeric" maxLength={15} defaultValue={partner && (partner.isOwn ? partner.to : partner.from)} title={screens.phone.toHelp} autoComplete="off" />
				</Field>
				<Field label={screens.phone.message}>
					<input name="body" className={layout.select} required maxLength={4096} autoComplete="off" />
				</Field>
				<Button type="submit" size="xs" loading={send.isPending}>
					{screens.phone.send}
				</Button>
				<Outcome error={send.error} />
			</form>
			<details>
				<summary>{screens.phone.scan}</summary>
				<form
					className={classes.form}
					onSubmit={(event) => {
						event.preventDefault();
						scan.mutate(textOf(event, "code"));
					}}
				>
					<Field label={screens.phone.code}>
						<input name="code" className={layout.select} required maxLength={1000} placeholder="sandbox:pair?c=…" autoComplete="off" spellCheck={false} />
					</Field>
					<Button type="submit" size="xs" variant="default" loading={scan.isPending}>
						{screens.phone.scan}
					</Button>
					<Outcome error={scan.error} text={scan.isSuccess ? screens.phone.scanned : ""} />
				</form>
			</details>
		</section>
	);
}

function Messages({ messages }: { messages: ChatMessage[] }) {
	const screens = useScreenTexts();
	const list = useRef<HTMLOListElement>(null);
	// biome-ignore lint/correctness/useExhaustiveDependencies: a new message is scrolled to
	useEffect(() => {
		list.current?.scrollTo({ top: list.current.scrollHeight }); // returns a promise in newer browsers, no cleanup
	}, [messages.length]);
	if (messages.length === 0) return <p className="quiet">{screens.phone.noMessages}</p>;
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
		<ol ref={list} className={classes.messages} tabIndex={0} aria-labelledby="chat">
			{messages.map((message) => (
				<li key={message.id} data-own={message.isOwn || undefined}>
					<div className={classes.bubble}>
						{message.mediaUrl?.startsWith("data:image/") && <img src={message.mediaUrl} alt="" />}
						<div>{message.body}</div>
						<div className="quiet">
							<span className="mono">{message.isOwn ? message.to : message.from}</span> · <Time at={message.at} focusable={false} /> · {message.waiting ? screens.phone.waits : (screens.phone.acks[message.ack] ?? message.ack)}
						</div>
						<details>
							<summary>{screens.phone.raw}</summary>
							<pre>{JSON.stringify(message, null, 2)}</pre>
						</details>
					</div>
				</li>
			))}
		</ol>
	);
}
