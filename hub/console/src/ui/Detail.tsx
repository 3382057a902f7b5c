import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { uuid } from "../app/search";
import classes from "./Detail.module.css";
import layout from "./layout.module.css";
import { PageTitle } from "./PageTitle";
import { Failed, Loading, Missing } from "./states";

type LoadedProps<T> = { query: UseQueryResult<T>; what: string; id: string; valid?: boolean; children: (data: T) => ReactNode };

/** Loaded shows a thing once it is read; before that, and where it cannot be, the state of its page. valid is whether the id can be one; else it is a UUID. */
export function Loaded<T>({ query, what, id, valid = uuid.test(id), children }: LoadedProps<T>) {
	if (!valid) return <Missing what={what} id={id} />;
	if (query.isPending)
		return (
			<>
				<PageTitle title={what} hidden />
				<Loading rows={12} />
			</>
		);
	if (query.data === undefined) return <Failed error={query.error} onRetry={() => void query.refetch()} what={what} id={id} />;
	return children(query.data);
}

/** Detail is the page of one thing: the way back to its list, its title and state, what can be done, what is known. */
export function Detail(props: { back: ReactNode; title: string; state?: ReactNode; actions?: ReactNode; children: ReactNode }) {
	return (
		<article className={layout.screen}>
			<div className={classes.back}>← {props.back}</div>
			<div className={classes.top}>
				<div className={classes.title}>
					<PageTitle title={props.title} />
					{props.state}
				</div>
				{props.actions}
			</div>
			{props.children}
		</article>
	);
}

/** Actions are a thing's buttons, and below them what came of the last one. */
export function Actions({ children, said, bad }: { children: ReactNode; said?: ReactNode; bad?: boolean }) {
	return (
		<div className={classes.actions}>
			{children}
			<div role="status" className={bad ? layout.bad : "quiet"}>
				{said}
			</div>
		</div>
	);
}

export type Fact = [name: string, value: ReactNode];

/** Facts are names and values beside each other. */
export function Facts({ facts }: { facts: Fact[] }) {
	return (
		<dl className={`panel ${classes.facts}`}>
			{facts.map(([name, value]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>{value}</dd>
				</div>
			))}
		</dl>
	);
}
