package deliverylog

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// Sizes of the log.
const (
	eventCount    = 1_000_000 // two deliveries each
	deliveryCount = 2 * eventCount
	dayCount      = 20 // including today, which has most
	eventsToday   = 600_000
	tenantCount   = 50
	productCount  = 6
	endpointCount = 300
	typeCount     = 40
	backlogCount  = 200_000 // more deliveries, of one endpoint that is down
)

// Endpoints, types and correlation ids with an uneven share of the log.
const (
	pastEndpoint          = endpointCount - 1 // had events on one day only, 15 days ago
	deadEndpoint          = 17                // is down and has the backlog
	onceType              = typeCount - 1     // one event, 17 days ago
	pastType              = typeCount - 2     // a few on one day, 15 days ago
	rareType              = typeCount - 3     // a few hundred, at any time
	frequentCorrelationID = "nightly-batch"   // of every hundredth event
)

// insertProducts and the two statements after it insert products, tenants and endpoints.
// Their ids follow from their numbers. No delivery of the log is due, so no endpoint is called.
const insertProducts = `
	insert into hub.products (name, prefix, title)
	select 'log-' || n, 'lg' || n, 'Log ' || n from generate_series(0, $1::int - 1) n;`

const insertTenants = `
	insert into hub.tenants (id, product, name)
	select ('00000000-0000-7000-8001-' || lpad(to_hex(n), 12, '0'))::uuid, 'log-' || n % $1::int, 'Tenant ' || n
	from generate_series(0, $2::int - 1) n`

const insertEndpoints = `
	insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret)
	select ('00000000-0000-7000-8002-' || lpad(to_hex(n), 12, '0'))::uuid,
	       ('00000000-0000-7000-8001-' || lpad(to_hex(n % $1::int), 12, '0'))::uuid, 'live', 'http://127.0.0.1:9/', '{*}', '\x00'
	from generate_series(0, $2::int - 1) n`

// drawEvents fills a staging table with the events in the order of time: those of past
// days, evenly, and then today's. Few endpoints and few types have most of the events;
// some of both are in the past only.
const drawEvents = `
	create unlogged table public.bench_log as
	with drawn as (
		select n, random() as r1, random() as r2, random() as r3, random() as r4,
			case when n < $1::int - $2::int
				then date_trunc('day', now(), 'UTC') - ($3::int - 1) * interval '1 day' * (1 - n::float8 / ($1::int - $2::int))
				else date_trunc('day', now(), 'UTC') + (now() - date_trunc('day', now(), 'UTC')) * ((n - ($1::int - $2::int))::float8 / $2::int)
			end as at
		from generate_series(0, $1::int - 1) n),
	dated as (
		select *, (now() at time zone 'UTC')::date - (at at time zone 'UTC')::date as ago from drawn)
	select n, at, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 8, '0') as head,
		(((extract(epoch from at) * 1000)::bigint - 1577836800000) << 23) | (n & 8388607) as id, r3, r4,
		case when ago = 15 and r1 > 0.9 then 299 else least(298, floor(300 * r1 ^ 3))::int end as endpoint,
		case when n = ($1::int - $2::int) / 9 then 39
		     when ago = 15 and r2 > 0.998 then 38
		     when r2 < 0.0003 then 37
		     else floor(37 * ((r2 - 0.0003) / 0.9997) ^ 2)::int end as type,
		case when n % 100 = 1 then 'nightly-batch' when n % 2 = 1 then 'story-' || n / 4 end as story
	from dated`

// insertEvents, fillDeliveries and fillAttempts write the staged events from the
// $1-th up to the $2-th into the log.
const insertEvents = `
	insert into hub.events (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, created_at, body)
	select (head || '0000')::uuid, id, ('00000000-0000-7000-8001-' || lpad(to_hex(endpoint % 50), 12, '0'))::uuid, 'live',
		'log-' || endpoint % 50 % 6, 'bench.type' || type, story, 2, at,
		convert_to('{"id":"' || head || '","event_type":"bench.type' || type || '","data":{"text":"' || repeat('payload ', 30) || '"}}', 'UTF8')
	from public.bench_log where n >= $1::int and n < $2::int order by n`

// insertDeliveries: some endpoints always answer 204, the others 200. What was not
// delivered has other codes.
const insertDeliveries = `
	insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, inbound,
		status, attempts, spent, status_code, duration_ms, reason, created_at, round_at, due_at, next_attempt_at, finished_at,
		started_at, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, signature, response_headers, response_body)
	select (head || '000' || ordinal)::uuid, id, ('00000000-0000-7000-8001-' || lpad(to_hex(target % 50), 12, '0'))::uuid,
		('00000000-0000-7000-8002-' || lpad(to_hex(target), 12, '0'))::uuid, 'live', 'log-' || target % 50 % 6, 'bench.type' || type, story, n % 97 = 0,
		status, 1, 1,
		case when status = 0 then null when n % 70001 = 0 then 418
		     when status = 1 then case when target % 10 = 3 then 204 else 200 end
		     else (array[400, 404, 410, 429, 500, 500, 503, 503])[1 + floor(8 * r4)::int] end,
		case when status <> 1 then 12 end, case when status > 1 then 'exhausted' end, at, case when status <> 1 then at end,
		case when status = 0 then now() + interval '3 hours' when status > 1 then at end, case when status = 0 then now() + interval '3 hours' end,
		case when status > 0 then at + interval '12 ms' end,
		case when status = 1 then at end, case when status = 1 then 900 end, case when status = 1 then 0 end, case when status = 1 then 0 end,
		case when status = 1 then 0 end, case when status = 1 then 9000 end, case when status = 1 then 12000 end,
		case when status = 1 then decode(repeat('00', 32), 'hex') end,
		case when status = 1 then convert_to('Content-Type: text/plain' || chr(10) || 'Date: Fri, 20 Nov 2026 10:00:00 GMT' || chr(10) || 'Content-Length: 2', 'UTF8') end,
		case when status = 1 then 'ok'::bytea end
	from (
		select b.*, ordinal, (endpoint + 50 * (ordinal - 1)) % 300 as target,
			case when n > 995000 and r3 > 0.6 then 0 when luck < 0.97 then 1 when luck < 0.985 then 2 else 3 end::smallint as status
		from public.bench_log b, generate_series(1, 2) ordinal, lateral (select r3 * 7919 * ordinal - floor(r3 * 7919 * ordinal) as luck) l
		where n >= $1::int and n < $2::int) d
	order by n, ordinal`

const insertAttempts = `
	insert into hub.attempts (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us,
		status_code, signature, response_headers, response_body)
	select d.id, d.created_at, 1, 900, 0, 0, 0, 9000, 12000, d.status_code, '\x00', 'Content-Type: text/plain', 'ok'
	from public.bench_log b join hub.deliveries d on d.id in ((head || '0001')::uuid, (head || '0002')::uuid)
	where n >= $1::int and n < $2::int and d.status <> 1 order by n, d.id`

// insertStatistics counts the log: in buckets of a minute those of today, of half an hour all.
const insertStatistics = `
	with counted as (
		select date_trunc('minute', created_at) as at, tenant_id, target_id, product, count(*) as n,
			count(*) filter (where status = 1) as delivered, count(*) filter (where status = 2) as parked, count(*) filter (where status = 3) as failed
		from hub.deliveries group by 1, 2, 3, 4),
	none as (select uuid '00000000-0000-0000-0000-000000000000' as id)
	insert into hub.statistics (width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, latency)
	select w.width, s.scope, s.scope_id, date_bin(w.width * interval '1 minute', at, '2000-01-01 00:00:00+00'), s.product, s.owner,
		sum(n), sum(delivered), sum(failed), sum(parked), sum(n), sum(n - delivered), array_fill(0, array[28]) || array[sum(delivered)::int]
	from none, counted c, (values (1::smallint), (30)) w(width),
		lateral (values (0::smallint, none.id, '', none.id), (0, none.id, c.product, none.id), (1, c.tenant_id, c.product, none.id),
			(2, c.target_id, c.product, c.tenant_id)) s(scope, scope_id, product, owner)
	where w.width = 30 or at >= now() - interval '1 day'
	group by 1, 2, 3, 4, 5, 6`

// insertBacklog adds pending deliveries of the endpoint that is down, from the first tenth
// of the day: everything else of today is newer.
const insertBacklog = `
	with waiting as (
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, attempts, created_at, round_at, due_at, next_attempt_at)
		select (b.head || '0' || lpad(to_hex(16 + ordinal), 3, '0'))::uuid, b.id, ('00000000-0000-7000-8001-' || lpad(to_hex($1::int % 50), 12, '0'))::uuid,
			('00000000-0000-7000-8002-' || lpad(to_hex($1::int), 12, '0'))::uuid, 'live', 'log-' || $1::int % 50 % 6, 'bench.type0', 1,
			b.at, b.at, now() + interval '3 hours', now() + interval '3 hours'
		from public.bench_log b, generate_series(1, $2::int / 50000) ordinal
		where n >= $3::int and n < $3::int + 50000 order by n
		returning tenant_id, target_id, product, created_at)
	insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted)
	select date_trunc('minute', created_at), tenant_id, target_id, product, count(*) from waiting group by 1, 2, 3, 4`

// loadLog fills the log. The hub has migrated the database.
func loadLog(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	steps := []struct {
		sql  string
		args []any
	}{
		{`select hub.ensure_partitions((now() at time zone 'UTC')::date - $1::int, $1::int + 7)`, []any{dayCount + 1}},
		{insertProducts, []any{productCount}},
		{insertTenants, []any{productCount, tenantCount}},
		{insertEndpoints, []any{tenantCount, endpointCount}},
		{`select setseed(0.5)`, nil},
		{drawEvents, []any{eventCount, eventsToday, dayCount}},
		{`create index on public.bench_log (n)`, nil},
		{`analyze public.bench_log`, nil},
	}
	for _, step := range steps {
		if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("drawing the log: %w", err)
		}
	}
	if err := insertLog(ctx, databaseURL); err != nil {
		return err
	}
	for _, sql := range []string{insertStatistics, `vacuum analyze`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("finishing the log: %w", err)
		}
	}
	return nil
}

// insertLog inserts the staged events in slices, into three tables concurrently.
func insertLog(ctx context.Context, databaseURL string) error {
	const slice = 50_000
	group, ctx := errgroup.WithContext(ctx)
	for _, sql := range []string{insertEvents, insertDeliveries, insertAttempts} {
		group.Go(func() error {
			conn, err := pgx.Connect(ctx, databaseURL)
			if err != nil {
				return fmt.Errorf("connecting to the hub's database: %w", err)
			}
			defer conn.Close(ctx)
			for first := 0; first < eventCount; first += slice {
				if _, err := conn.Exec(ctx, sql, first, first+slice); err != nil {
					return fmt.Errorf("filling the log: %w", err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// loadBacklog adds the pending deliveries of the endpoint that is down.
func loadBacklog(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, insertBacklog, deadEndpoint, backlogCount, eventCount-eventsToday+10_000); err != nil {
		return fmt.Errorf("adding a backlog: %w", err)
	}
	_, err = conn.Exec(ctx, `analyze hub.deliveries`)
	if err != nil {
		return fmt.Errorf("analyzing the log: %w", err)
	}
	return nil
}

// The ids and names that the statements above derive from numbers.
func tenantID(n int) string    { return fmt.Sprintf("00000000-0000-7000-8001-%012x", n) }
func endpointID(n int) string  { return fmt.Sprintf("00000000-0000-7000-8002-%012x", n) }
func productName(n int) string { return fmt.Sprintf("log-%d", n) }
func eventType(n int) string   { return fmt.Sprintf("bench.type%d", n) }

// daysAgo is the time some days before now.
func daysAgo(days float64) time.Time {
	return time.Now().UTC().Add(-time.Duration(days * 24 * float64(time.Hour)))
}
