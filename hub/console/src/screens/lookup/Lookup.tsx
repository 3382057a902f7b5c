import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { ApiError } from "../../api/client";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { detailOf } from "../../ui/errors";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Status } from "../../ui/Status";
import { Empty, Failed, Loading } from "../../ui/states";
import { Time } from "../../ui/Time";
import { tenantQuery } from "../../ui/TenantName";
import classes from "./Lookup.module.css";
import { askedKey, type Found, lastKey, lookUp, personOf } from "./queries";

/** Lookup finds people and deliveries by a phone number, an e-mail address or the end of a CPF, which are nowhere in the address. */
export function Lookup() {
	const screens = useScreenTexts();
	const queries = useQueryClient();
	const last = useQuery<Found | null>({ queryKey: lastKey, queryFn: () => null, staleTime: Number.POSITIVE_INFINITY, gcTime: 10 * 60_000 });
	const lookup = useMutation({ mutationFn: lookUp, gcTime: 0, onSuccess: (found) => queries.setQueryData(lastKey, found) });
	const [unknown, setUnknown] = useState("");
	const refused = lookup.error instanceof ApiError && lookup.error.status === 422 ? lookup.error : undefined;
	const invalid = unknown !== "" || refused !== undefined;
	const find = (text: string) => {
		const person = personOf(text);
		setUnknown(person === "ambiguous" ? screens.lookup.ambiguous : person ? "" : screens.lookup.unknown);
		if (person && person !== "ambiguous") lookup.mutate(person);
		else lookup.reset();
	};
	const send = (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		find(String(new FormData(event.currentTarget).get("person")).trim());
	};
	// biome-ignore lint/correctness/useExhaustiveDependencies: another screen asks once, before this one opens
	useEffect(() => {
		const asked = queries.getQueryData<string>(askedKey);
		queries.removeQueries({ queryKey: askedKey });
		if (asked) find(asked);
	}, []);
	const forget = () => {
		setUnknown("");
		lookup.reset();
		queries.setQueryData(lastKey, null);
	};
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={screens.lookup.title} />
					<p className="quiet">{screens.lookup.lead}</p>
				</div>
			</div>
			<form className={`panel ${layout.section} ${classes.form}`} onSubmit={send}>
				<label htmlFor="person">{screens.lookup.query}</label>
				<div className={classes.line}>
					<input id="person" name="person" className={layout.select} maxLength={254} required autoComplete="off" spellCheck={false} autoCapitalize="none" aria-describedby="person-help" aria-invalid={invalid} />
					<Button type="submit" size="xs" loading={lookup.isPending}>
						{screens.lookup.submit}
					</Button>
					{last.data && (
						<Button type="reset" size="xs" variant="default" onClick={forget}>
							{screens.lookup.forget}
						</Button>
					)}
				</div>
				<p id="person-help" className="quiet">
					{screens.lookup.queryHelp}
				</p>
				<p className="quiet">{screens.lookup.recorded}</p>
				{invalid && (
					<p role="alert" className={layout.bad}>
						{refused ? detailOf(refused) : unknown}
					</p>
				)}
			</form>
			{lookup.isPending ? (
				<div className="panel">
					<Loading rows={8} />
				</div>
			) : lookup.isError && !invalid ? (
				<div className="panel">
					<Failed error={lookup.error} onRetry={() => lookup.variables && lookup.mutate(lookup.variables)} />
				</div>
			) : last.data ? (
				<Result found={last.data} />
			) : (
				<div className="panel">
					<Empty title={screens.lookup.startTitle} next={null}>
						{screens.lookup.start}
					</Empty>
				</div>
			)}
		</div>
	);
}

/** shown hides most of what was looked up: all but the last digits of a number, the name before an @ but its first letter. */
const shown = ({ phone, email, cpf }: Found) => cpf || phone.replace(/\d(?=\d{4})/g, "*") || email.replace(/^(.)[^@]*/, "$1***");

function Result({ found }: { found: Found }) {
	const screens = useScreenTexts();
	return (
		<>
			<div role="status">
				<h2>{screens.lookup.found(shown(found))}</h2>
			</div>
			<section className={`panel ${layout.section}`} aria-labelledby="people">
				<h2 id="people">{screens.lookup.people}</h2>
				{found.matches.length === 0 ? <p className="quiet">{screens.lookup.none}</p> : <People found={found} />}
				{found.truncated && <p className="quiet">{screens.lookup.truncated}</p>}
			</section>
			{found.deliveries.length > 0 && (
				<section className={`panel ${layout.section}`} aria-labelledby="things">
					<h2 id="things">{screens.lookup.events}</h2>
					<Events found={found} />
				</section>
			)}
			<section className={`panel ${layout.section}`} aria-labelledby="touched">
				<h2 id="touched">{screens.lookup.deliveries}</h2>
				{found.deliveries.length === 0 ? <p className="quiet">{screens.lookup.noDeliveries}</p> : <Deliveries found={found} />}
				<p className="quiet">{screens.lookup.bounded}</p>
			</section>
		</>
	);
}

function People({ found }: { found: Found }) {
	const screens = useScreenTexts();
	return (
		<Table label={screens.lookup.people} titles={[screens.lookup.kind, screens.lookup.name, screens.lookup.product, screens.lookup.tenant, screens.lookup.open]}>
			{found.matches.map((match) => (
				<tr key={`${match.product} ${match.tenant_id} ${match.kind} ${match.id}`}>
					<td>{screens.lookup.kinds[match.kind] ?? match.kind}</td>
					<td>{shortened(match.name)}</td>
					<td>{match.product}</td>
					<td>
						<TenantName id={match.tenant_id} />
					</td>
					<td>
						{match.url && (
							<a href={match.url} rel="noreferrer">
								{screens.lookup.open}
							</a>
						)}
					</td>
				</tr>
			))}
		</Table>
	);
}

// shortened keeps the first name and the initials of the others.
const shortened = (name: string) =>
	name
		.split(/\s+/)
		.map((word, index) => (index === 0 ? word : `${word.slice(0, 1)}.`))
		.join(" ");

/** Events groups the deliveries by what happened: appointments, tickets and the rest. */
function Events({ found }: { found: Found }) {
	const screens = useScreenTexts();
	const groups = new Map<string, { type: string; product: string; at: string; count: number }>();
	for (const delivery of found.deliveries) {
		const key = `${delivery.product} ${delivery.event_type}`;
		const group = groups.get(key) ?? { type: delivery.event_type, product: delivery.product, at: delivery.created_at, count: 0 };
		group.count++;
		groups.set(key, group);
	}
	return (
		<Table label={screens.lookup.events} titles={[screens.lookup.event, screens.lookup.product, screens.lookup.count, screens.lookup.last]}>
			{[...groups.values()].map((group) => (
				<tr key={`${group.product} ${group.type}`}>
					<td>{group.type}</td>
					<td>{group.product}</td>
					<td>{group.count}</td>
					<td>
						<Time at={group.at} focusable={false} />
					</td>
				</tr>
			))}
		</Table>
	);
}

function Deliveries({ found }: { found: Found }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<Table label={screens.lookup.deliveries} titles={[t.deliveries.status, t.deliveries.event, t.deliveries.product, t.deliveries.tenant, t.deliveries.attempts, t.deliveries.time]}>
			{found.deliveries.map((delivery) => (
				<tr key={delivery.id}>
					<td>
						<Status status={delivery.status} />
					</td>
					<td>
						<Link to="/deliveries/$id" params={{ id: delivery.id }} search={delivery.environment === "test" ? { environment: "test" } : {}} data-row-link>
							{delivery.event_type}
						</Link>
					</td>
					<td>{delivery.product}</td>
					<td>{delivery.tenant_name}</td>
					<td>
						{delivery.attempt_count}
						{delivery.status_code !== null && <span className={delivery.status_code >= 400 ? layout.bad : "quiet"}> · {delivery.status_code}</span>}
					</td>
					<td>
						<Time at={delivery.created_at} focusable={false} />
					</td>
				</tr>
			))}
		</Table>
	);
}

function Table({ label, titles, children }: { label: string; titles: string[]; children: ReactNode }) {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
		<div className={layout.scroll} tabIndex={0} role="group" aria-label={label}>
			<table className={layout.table}>
				<thead>
					<tr>
						{titles.map((title) => <th key={title} scope="col">{title}</th>)}
					</tr>
				</thead>
				<tbody>{children}</tbody>
			</table>
		</div>
	);
}

function TenantName({ id }: { id: string }) {
	const { data } = useQuery(tenantQuery(id));
	return <span title={id}>{data?.name ?? <span className="mono quiet">{id.slice(0, 8)}</span>}</span>;
}
