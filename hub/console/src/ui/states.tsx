import { Button, Skeleton } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import { useLanguage } from "../i18n";
import { Copy } from "./Copy";
import { PageTitle } from "./PageTitle";
import classes from "./states.module.css";

/** Loading is the first state of a screen: bars where its lines will be. */
export function Loading({ rows = 8 }: { rows?: number }) {
	const { t } = useLanguage();
	return (
		<div role="status" aria-label={t.states.loading} className={classes.loading}>
			{Array.from({ length: rows }, (_, row) => (
				<Skeleton key={row} height={18} width={`${92 - ((row * 17) % 40)}%`} />
			))}
		</div>
	);
}

// page states stand alone, the others below the heading of their screen.
function State(props: { title: string; children?: ReactNode; action?: ReactNode; alert?: boolean; page?: boolean }) {
	return (
		<div className={classes.state} role={props.alert ? "alert" : undefined}>
			{props.page ? <PageTitle title={props.title} /> : <h2>{props.title}</h2>}
			<div className="quiet">{props.children}</div>
			{props.action}
		</div>
	);
}

/** Failed is what a screen shows when it could not be loaded: what went wrong, and Try again. */
export function Failed({ error, onRetry, what, id }: { error: unknown; onRetry?: () => void; what?: string; id?: string }) {
	const { t } = useLanguage();
	if (error instanceof ApiError && error.status === 403) return <Forbidden page={Boolean(id)} />;
	if (error instanceof ApiError && id && (error.status === 404 || error.status === 422)) return <Missing what={what} id={id} />;
	const problem = error instanceof ApiError ? error.problem : undefined;
	return (
		<State
			alert
			page={Boolean(id)}
			title={t.states.errorTitle}
			action={
				onRetry && (
					<Button size="xs" variant="default" onClick={onRetry}>
						{t.states.retry}
					</Button>
				)
			}
		>
			<p>{error instanceof ApiError && error.status === 0 ? t.states.unreachable : (problem?.detail ?? String(error))}</p>
			{problem?.request_id && (
				<p>
					{t.states.requestId} <span className="mono">{problem.request_id}</span> <Copy text={problem.request_id} />
				</p>
			)}
		</State>
	);
}

/** NothingMatches is an empty list because of its filters. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
	const { t } = useLanguage();
	return (
		<State
			title={t.states.nothingTitle}
			action={
				<Button size="xs" variant="default" onClick={onClear}>
					{t.states.clear}
				</Button>
			}
		>
			{t.states.nothing}
		</State>
	);
}

/** Empty is a list that has nothing yet; children say what comes here, next what to do first. */
export function Empty(props: { title: string; children: ReactNode; next: ReactNode }) {
	return (
		<State title={props.title} action={props.next}>
			{props.children}
		</State>
	);
}

export function Forbidden({ page }: { page?: boolean }) {
	const { t } = useLanguage();
	return (
		<State page={page} title={t.states.forbiddenTitle}>
			{t.states.forbidden}
		</State>
	);
}

/** Missing is the page of an id that is not there, or of an address without a page. */
export function Missing({ what, id }: { what?: string; id?: string }) {
	const { t } = useLanguage();
	const { product } = useParams({ strict: false });
	const home = product ? (
		<Link to="/account/$product" params={{ product }}>
			{t.states.accountHome}
		</Link>
	) : (
		<Link to="/deliveries">{t.states.home}</Link>
	);
	return (
		<State page title={t.states.missingTitle} action={home}>
			{what && id ? t.states.missing(what, id) : t.states.missingPage}
		</State>
	);
}

/** Crashed is what the error boundary shows instead of a screen that threw. */
export function Crashed({ error, reset }: { error: unknown; reset: () => void }) {
	const { t } = useLanguage();
	if (error instanceof ApiError) return <Failed error={error} onRetry={reset} />;
	return (
		<State
			alert
			page
			title={t.states.crashedTitle}
			action={
				<Button size="xs" variant="default" onClick={reset}>
					{t.states.retry}
				</Button>
			}
		>
			<p>{t.states.crashed}</p>
			<p className="mono">{String(error)}</p>
		</State>
	);
}
