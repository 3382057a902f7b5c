import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Copy } from "../../ui/Copy";
import { Actions, Detail, type Fact, Facts, Loaded } from "../../ui/Detail";
import { ConfirmDialog } from "../../ui/Form";
import { indentedJSON } from "../../ui/json";
import layout from "../../ui/layout.module.css";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import { EventTypeForm } from "./EventTypeForm";
import classes from "./EventType.module.css";
import { deleteEventType, documentAddress, type EventType as Shown, eventTypeQuery } from "./queries";

const route = getRouteApi("/shell/event-types/$id");

export function EventType() {
	const { eventTypes: texts } = useScreenTexts();
	const { id } = route.useParams();
	const eventType = useQuery({ ...eventTypeQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={eventType} what={texts.what} id={id}>
			{(data) => (
				<Detail back={<Link to="/event-types">{texts.title}</Link>} title={data.name} state={data.deprecated && <span className={layout.bad}>{texts.deprecated}</span>} actions={<EventTypeActions eventType={data} />}>
					<TypeFacts type={data} />
					<Value title={texts.schema} value={data.schema} none={texts.noSchema} />
					<Value title={texts.example} value={data.example} none={texts.noExample} />
				</Detail>
			)}
		</Loaded>
	);
}

function TypeFacts({ type }: { type: Shown }) {
	const { eventTypes: texts } = useScreenTexts();
	const facts: Fact[] = [
		[texts.product, type.product],
		[texts.description, type.description || "–"],
		[texts.from, type.read_only ? texts.code : texts.operators],
		[
			"OpenAPI",
			<a key="document" href={documentAddress(type.product)} download={`${type.product}.webhooks.json`}>
				{texts.document}
			</a>,
		],
	];
	if (type.updated_at) facts.push([texts.changed, <Time key="changed" at={type.updated_at} />]);
	return <Facts facts={facts} />;
}

function Value({ title, value, none }: { title: string; value: string; none: string }) {
	const text = indentedJSON(value);
	return (
		<section className={`panel ${layout.section}`}>
			<h2>
				{title} {text && <Copy text={text} label={title} />}
			</h2>
			{text ? (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
				<pre className={classes.json} tabIndex={0} aria-label={title}>
					{text}
				</pre>
			) : (
				<p className="quiet">{none}</p>
			)}
		</section>
	);
}

function EventTypeActions({ eventType }: { eventType: Shown }) {
	const { t } = useLanguage();
	const { eventTypes: texts } = useScreenTexts();
	const admin = useAdmin();
	const queries = useQueryClient();
	const navigate = useNavigate();
	const [dialog, setDialog] = useState<"edit" | "delete">();
	const onClose = () => setDialog(undefined);
	if (eventType.read_only) return <span className="quiet">{texts.readOnly}</span>;
	if (!admin) return <span className="quiet">{t.ui.adminsOnly}</span>;
	return (
		<Actions>
			<Button size="xs" variant="default" onClick={() => setDialog("edit")}>
				{texts.edit}
			</Button>
			<Button size="xs" variant="default" className={layout.bad} onClick={() => setDialog("delete")}>
				{t.ui.delete}
			</Button>
			{dialog === "edit" && <EventTypeForm eventType={eventType} onClose={onClose} onDone={() => queries.invalidateQueries({ queryKey: ["event-types"] })} />}
			{dialog === "delete" && (
				<ConfirmDialog
					title={t.ui.delete}
					text={texts.deleteText(eventType.name)}
					onClose={onClose}
					send={() => deleteEventType(eventType.id)}
					onDone={async () => {
						await navigate({ to: "/event-types" });
						queries.removeQueries({ queryKey: ["event-types", eventType.id] });
						await queries.invalidateQueries({ queryKey: ["event-types", "list"] });
					}}
				/>
			)}
		</Actions>
	);
}
