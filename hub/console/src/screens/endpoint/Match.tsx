import { useMutation } from "@tanstack/react-query";
import { useScreenTexts } from "../../i18n/screens";
import { Area, Form, type Values } from "../../ui/Form";
import { JSONText } from "../../ui/json";
import layout from "../../ui/layout.module.css";
import { Status } from "../../ui/Status";
import { matchEvent } from "./queries";

const example = '{"event_type": "order.paid", "data": {"total": 120}}';

/** Match takes an event and shows whether the endpoint would get it, and why. */
export function Match({ id }: { id: string }) {
	const screens = useScreenTexts();
	const match = useMutation({
		gcTime: 0, // what was pasted is not kept
		mutationFn: ({ raw }: Values) => {
			const event = raw("event");
			try {
				JSON.parse(event);
			} catch {
				throw new Error(screens.endpoints.notJSON);
			}
			return matchEvent(id, new JSONText(event));
		},
	});
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="match">
			<h2 id="match">{screens.endpoints.match}</h2>
			<p className="quiet">{screens.endpoints.matchText}</p>
			<Form submit={screens.endpoints.tryIt} act={match}>
				<Area name="event" label={screens.endpoints.published} rows={4} maxLength={1_000_000} required value={example} />
			</Form>
			<div role="status">
				{match.data && (
					<p>
						<Status status={match.data.matches ? "delivered" : "failed"} text={match.data.matches ? screens.endpoints.matches : screens.endpoints.matchesNot} /> {match.data.reason}
					</p>
				)}
			</div>
		</section>
	);
}
