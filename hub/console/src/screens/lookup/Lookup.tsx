import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiError } from "../../api/client";
import { useLanguage } from "../../i18n";
import page from "../../ui/page.module.css";
import { Status } from "../../ui/Status";
import { Empty, Failed, Loading } from "../../ui/states";
import { Time } from "../../ui/Time";
import { tenantQuery } from "../../ui/TenantName";
import classes from "./Lookup.module.css";
import { type Found, lastKey, lookUp } from "./queries";

/** Lookup finds people and deliveries by a phone number, which is nowhere in the address. */
export function Lookup() {
	const { t } = useLanguage();
	const queries = useQueryClient();
	const last = useQuery<Found | null>({ queryKey: lastKey, queryFn: () => null, staleTime: Number.POSITIVE_INFINITY, gcTime: 10 * 60_000 });
	const lookup = useMutation({ mutationFn: lookUp, gcTime: 0, onSuccess: (found) => queries.setQueryData(lastKey, found) });
	const invalid = lookup.error instanceof ApiError && lookup.error.status === 422;
	const forget = () => {
		lookup.reset();
		queries.setQueryData(lastKey, null);
	};
	return (
		<div className={page.screen}>
			<div className={page.top}>
				<div>
					<h1>{t.lookup.title}</h1>
					<p className="quiet">{t.lookup.lead}</p>
				</div>
			</div>
			<form
				className={`panel ${page.section} ${classes.form}`}
				onSubmit={(event) => {
					event.preventDefault();
					const input = event.currentTarget.elements.namedItem("number") as HTMLInputElement;
					if (input.value.trim()) lookup.mutate(input.value.trim());
				}}
			>
				<label htmlFor="number">{t.lookup.phone}</label>
				<div className={classes.line}>
					<input id="number" name="number" type="tel" className={page.select} maxLength={40} required autoComplete="off" aria-describedby="number-help" aria-invalid={invalid} />
					<Button type="submit" size="xs" loading={lookup.isPending}>
						{t.lookup.submit}
					</Button>
					{last.data && (
						<Button type="reset" size="xs" variant="default" onClick={forget}>
							{t.lookup.forget}
						</Button>
					)}
				</div>
				<p id="number-help" className="quiet">
					{t.lookup.phoneHelp}
				</p>
				<p className="quiet">{t.lookup.recorded}</p>
				{invalid && (
					<p role="alert" className={page.bad}>
						{lookup.error instanceof ApiError && (lookup.error.problem?.detail ?? lookup.error.message)}
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
					<Empty title={t.lookup.startTitle} next={null}>
						{t.lookup.start}
					</Empty>
				</div>
			)}
		</div>
	);
}

// masked hides all but the last digits of a number.
const masked = (number: string) => number.replace(/\d(?=\d{4})/g, "*");

function Result({ found }: { found: Found }) {
	const { t } = useLanguage();
	return (
		<>
			<div role="status">
				<h2>{t.lookup.found(masked(found.phone))}</h2>
			</div>
			<section className={`panel ${page.section}`} aria-labelledby="people">
				<h2 id="people">{t.lookup.people}</h2>
				{found.matches.length === 0 ? <p className="quiet">{t.lookup.none}</p> : <People found={found} />}
			</section>
			{found.deliveries.length > 0 && (
				<section className={`panel ${page.section}`} aria-labelledby="things">
					<h2 id="things">{t.lookup.events}</h2>
					<Events found={found} />
				</section>
			)}
			<section className={`panel ${page.section}`} aria-labelledby="touched">
				<h2 id="touched">{t.lookup.deliveries}</h2>
				{found.deliveries.length === 0 ? <p className="quiet">{t.lookup.noDeliveries}</p> : <Deliveries found={found} />}
				<p className="quiet">{t.lookup.bounded}</p>
			</section>
		</>
	);
}

function People({ found }: { found: Found }) {
	const { t } = useLanguage();
	return (
		<Table label={t.lookup.people} titles={[t.lookup.kind, t.lookup.name, t.lookup.product, t.lookup.tenant, t.lookup.open]}>
			{found.matches.map((match) => (
				<tr key={`${match.product} ${match.tenant_id} ${match.kind} ${match.id}`}>
					<td>{t.lookup.kinds[match.kind] ?? match.kind}</td>
					<td>{shortened(match.name)}</td>
					<td>{match.product}</td>
					<td>
						<TenantName id={match.tenant_id} />
					</td>
					<td>
						{match.url && (
							<a href={match.url} rel="noreferrer">
								{t.lookup.open}
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
	const { t } = useLanguage();
	const groups = new Map<string, { type: string; product: string; at: string; count: number }>();
	for (const delivery of found.deliveries) {
		const key = `${delivery.product} ${delivery.event_type}`;
		const group = groups.get(key) ?? { type: delivery.event_type, product: delivery.product, at: delivery.created_at, count: 0 };
		group.count++;
		groups.set(key, group);
	}
	return (
		<Table label={t.lookup.events} titles={[t.lookup.event, t.lookup.product, t.lookup.count, t.lookup.last]}>
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
	return (
		<Table label={t.lookup.deliveries} titles={[t.deliveries.status, t.deliveries.event, t.deliveries.product, t.deliveries.tenant, t.deliveries.attempts, t.deliveries.time]}>
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
						{delivery.status_code !== null && <span className={delivery.status_code >= 400 ? page.bad : "quiet"}> · {delivery.status_code}</span>}
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
		<div className={page.scroll} tabIndex={0} role="group" aria-label={label}>
			<table className={page.table}>
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
