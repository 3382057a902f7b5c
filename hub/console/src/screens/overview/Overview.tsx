import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { usePreferences } from "../../app/preferences";
import { useLanguage } from "../../i18n";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Empty, Failed, Loading } from "../../ui/states";
import { duration, Time } from "../../ui/Time";
import { Bars, bucketSearch, bucketTime, failures, Latencies } from "./Chart";
import classes from "./Overview.module.css";
import { type Bucket, backlogQuery, failingQuery, statsQuery, widths } from "./queries";
import { type Range, ranges } from "./search";

const route = getRouteApi("/shell/overview");

export function Overview() {
	const { t } = useLanguage();
	const { range = "day" } = route.useSearch();
	const navigate = route.useNavigate();
	const stats = useQuery(statsQuery(range));
	const choose = (value: string) => void navigate({ search: (was) => ({ ...was, range: value === "day" ? undefined : (value as Exclude<Range, "day">) }), replace: true });
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={t.overview.title} />
					<p className="quiet">{t.overview.lead}</p>
				</div>
				<select className={layout.select} aria-label={t.overview.range} value={range} onChange={(event) => choose(event.target.value)}>
					{ranges.map((value) => (
						<option key={value} value={value}>
							{t.overview.ranges[value]}
						</option>
					))}
				</select>
			</div>
			<Tiles buckets={stats.data?.items} />
			{stats.isPending ? (
				<div className="panel">
					<Loading rows={10} />
				</div>
			) : !stats.data ? (
				<div className="panel">
					<Failed error={stats.error} onRetry={() => void stats.refetch()} />
				</div>
			) : (
				<Charts buckets={stats.data.items} width={widths[range]} />
			)}
			<Failing />
		</div>
	);
}

function Tiles({ buckets }: { buckets?: Bucket[] }) {
	const { t, language } = useLanguage();
	const environment = useEnvironment();
	const search = { environment: environment === "test" ? ("test" as const) : undefined };
	const backlog = useQuery(backlogQuery);
	const failing = useQuery(failingQuery(environment));
	const number = new Intl.NumberFormat(language);
	const sum = (of: (bucket: Bucket) => number) => (buckets ?? []).reduce((total, bucket) => total + of(bucket), 0);
	const settled = sum((bucket) => bucket.delivered + failures(bucket));
	const rate = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 2 });
	const count = (value?: number) => (value === undefined ? "–" : number.format(value) + (value >= 100_000 ? "+" : ""));
	const tiles: [string, ReactNode][] = [
		[t.overview.rate, settled ? rate.format(Math.floor((10_000 * sum((bucket) => bucket.delivered)) / settled) / 10_000) : "–"],
		[
			t.overview.pending,
			<Link key="pending" to="/deliveries" search={{ ...search, status: "pending" }}>
				{count(backlog.data?.pending)}
			</Link>,
		],
		[t.overview.oldest, backlog.data?.oldest_pending_at ? <Time key="oldest" at={backlog.data.oldest_pending_at} /> : backlog.data ? t.overview.none : "–"],
		[
			t.overview.parked,
			<Link key="parked" to="/deliveries" search={{ ...search, status: "parked" }}>
				{count(backlog.data?.parked)}
			</Link>,
		],
		[
			t.overview.failing,
			<Link key="failing" to="/integrations" search={{ ...search, status: "error" }} className={failing.data?.items.length ? layout.bad : undefined}>
				{failing.data ? `${failing.data.items.length}${failing.data.next_cursor ? "+" : ""}` : "–"}
			</Link>,
		],
	];
	return (
		<dl className={classes.tiles}>
			{tiles.map(([name, value]) => (
				<div key={name} className="panel">
					<dt>{name}</dt>
					<dd>{value}</dd>
				</div>
			))}
		</dl>
	);
}

function Charts({ buckets, width }: { buckets: Bucket[]; width: number }) {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const quiet = buckets.every((bucket) => bucket.delivered + failures(bucket) + bucket.accepted === 0);
	if (quiet) {
		return (
			<div className="panel">
				<Empty
					title={t.overview.emptyTitle}
					next={
						<Link to="/connect" search={{ environment }}>
							{t.overview.emptyStep}
						</Link>
					}
				>
					{t.overview.empty}
				</Empty>
			</div>
		);
	}
	return (
		<>
			<section className={`panel ${layout.section}`} aria-labelledby="deliveries">
				<div className={classes.head}>
					<h2 id="deliveries">{t.overview.deliveries}</h2>
					<span className={classes.key}>
						<i className={classes.good} aria-hidden /> {t.overview.delivered}
					</span>
					<span className={classes.key}>
						<i className={classes.bad} aria-hidden /> {t.overview.failed}
					</span>
				</div>
				<Bars buckets={buckets} width={width} environment={environment} />
				<Table buckets={buckets} width={width} />
			</section>
			<section className={`panel ${layout.section}`} aria-labelledby="latency">
				<h2 id="latency">{t.overview.latency}</h2>
				<Latencies buckets={buckets} />
			</section>
		</>
	);
}

/** Table has what the charts draw: the buckets in which something happened, newest first. */
function Table({ buckets, width }: { buckets: Bucket[]; width: number }) {
	const { t, language } = useLanguage();
	const { utc } = usePreferences();
	const { environment } = route.useSearch();
	const number = new Intl.NumberFormat(language);
	const ms = (value: number | null) => (value === null ? "–" : duration(language, value));
	return (
		<details className={classes.details}>
			<summary>{t.overview.table}</summary>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
			<div className={layout.scroll} tabIndex={0} role="group" aria-label={t.overview.table}>
				<table className={layout.table}>
					<thead>
						<tr>
							<th>{t.overview.from}</th>
							{[t.overview.delivered, t.overview.failed, "p50", "p95", "p99"].map((title) => (
								<th key={title} className={layout.number}>
									{title}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{buckets
							.filter((bucket) => bucket.delivered + failures(bucket) > 0)
							.reverse()
							.map((bucket) => (
								<tr key={bucket.at}>
									<td>
										<Link to="/deliveries" search={{ environment, ...bucketSearch(bucket, width) }}>
											{bucketTime(language, utc, bucket.at, width)}
										</Link>
									</td>
									<td className={layout.number}>{number.format(bucket.delivered)}</td>
									<td className={layout.number}>{number.format(failures(bucket))}</td>
									<td className={layout.number}>{ms(bucket.p50_ms)}</td>
									<td className={layout.number}>{ms(bucket.p95_ms)}</td>
									<td className={layout.number}>{ms(bucket.p99_ms)}</td>
								</tr>
							))}
					</tbody>
				</table>
			</div>
		</details>
	);
}

function Failing() {
	const { t } = useLanguage();
	const { environment } = route.useSearch();
	const failing = useQuery(failingQuery(useEnvironment()));
	if (!failing.data) return failing.isError ? <Failed error={failing.error} onRetry={() => void failing.refetch()} /> : null;
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="failing">
			<h2 id="failing">{t.overview.failing}</h2>
			{failing.data.items.length === 0 && <span className="quiet">{t.overview.allWell}</span>}
			<ul className={classes.failing}>
				{failing.data.items.map((integration) => (
					<li key={integration.id}>
						<Link to="/integrations/$id" params={{ id: integration.id }} search={{ environment }}>
							{integration.tenant_name} · {integration.own_product} → {integration.product}
						</Link>
						<div className="quiet">{integration.last_error}</div>
					</li>
				))}
			</ul>
		</section>
	);
}
