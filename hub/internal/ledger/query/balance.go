package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/logid"
)

// undefinedTable is PostgreSQL's code for a table that does not exist (any more).
const undefinedTable = "42P01"

// Balance is a day's balance of deliveries: what was accepted, as counted in the
// transactions that accepted it, and where the deliveries of that day stand.
type Balance struct {
	Day                                          time.Time
	Accepted, Delivered, Parked, Pending, Failed int64
}

// IsBalanced reports whether every accepted delivery stands somewhere, and none besides.
func (s Balance) IsBalanced() bool { return s.Accepted == s.Delivered+s.Parked+s.Pending+s.Failed }

// String writes the sum.
func (s Balance) String() string {
	sign := "="
	if !s.IsBalanced() {
		sign = "≠"
	}
	return fmt.Sprintf("accepted %d %s delivered %d + parked %d + pending %d + failed %d",
		s.Accepted, sign, s.Delivered, s.Parked, s.Pending, s.Failed)
}

// Add adds another balance to this one.
func (s *Balance) Add(other Balance) {
	s.Accepted += other.Accepted
	s.Delivered += other.Delivered
	s.Parked += other.Parked
	s.Pending += other.Pending
	s.Failed += other.Failed
}

// Days returns the days that the log has tables of, oldest first, each by its beginning in
// UTC. The first tables of coming days are among them.
func (r *Reader) Days(ctx context.Context) ([]time.Time, error) {
	rows, err := r.pool.Query(ctx, `
		select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'hub.deliveries'::regclass order by 1`)
	if err != nil {
		return nil, fmt.Errorf("reading the days of the log: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("reading the days of the log: %w", err)
	}
	return days, nil
}

// DayBalance returns the balance of a day, read in one snapshot. It counts every row of the
// day. It is zero for a day without deliveries, or whose retention has ended.
func (r *Reader) DayBalance(ctx context.Context, day time.Time) (Balance, error) {
	balance := Balance{Day: day}
	err := r.ofDay(ctx, `
		with accepted as (
			select coalesce(sum(accepted), 0)::bigint as n
			from (select bucket, accepted from hub.statistics where width = 30 and scope = 0 and product = ''
				union all select bucket, accepted from hub.rollup_deltas) r where bucket >= $1 and bucket < $2),
		counted as (
			select count(*) filter (where status = 1) as delivered, count(*) filter (where status = 2) as parked,
				count(*) filter (where status = 0) as pending, count(*) filter (where status = 3) as failed
			from (select status from hub.deliveries_DAY where not inbound union all
				select 0 from hub.promised p where p.id >= $3 and p.id < $4 and not exists (select from hub.deliveries_DAY d where d.id = p.id)) d)
		select a.n, c.delivered + coalesce(k.delivered, 0), c.parked, c.pending, c.failed + coalesce(k.failed, 0)
		from accepted a cross join counted c left join hub.compacted_days k on k.day = ($1 at time zone 'UTC')::date`, day,
		[]any{day, day.AddDate(0, 0, 1), logid.Floor(day), logid.Floor(day.AddDate(0, 0, 1))},
		&balance.Accepted, &balance.Delivered, &balance.Parked, &balance.Pending, &balance.Failed)
	return balance, err
}

// BalanceBefore returns what was accepted on the days before a day, from the statistics, and
// what of it is parked or pending, from their indexes. Its cost is that of the days and of
// what waits. Delivered and Failed are not counted.
func (r *Reader) BalanceBefore(ctx context.Context, first, day time.Time) (Balance, error) {
	var balance Balance
	err := r.pool.QueryRow(ctx, `
		select (select coalesce(sum(accepted), 0)::bigint from (
				select bucket, accepted from hub.statistics where width = 30 and scope = 0 and product = ''
				union all select bucket, accepted from hub.rollup_deltas) r where bucket >= $1 and bucket < $2),
			(select count(*) from hub.deliveries where status = 2 and not inbound and id < $3),
			(select count(*) from hub.deliveries where status = 0 and not inbound and id < $3)`,
		first, day, logid.Floor(day)).Scan(&balance.Accepted, &balance.Parked, &balance.Pending)
	if err != nil {
		return Balance{}, fmt.Errorf("summing up the statistics: %w", err)
	}
	return balance, nil
}

// Gaps is what the log of a day lacks.
type Gaps struct {
	Events     int64 // missing, that deliveries belong to
	Deliveries int64 // that belong to these
	Waiting    int64 // of these, pending or parked
	Attempts   int64 // missing, that deliveries have counted
}

// DayGaps returns what the log of a day lacks. It reads every row of the day.
func (r *Reader) DayGaps(ctx context.Context, day time.Time) (Gaps, error) {
	var gaps Gaps
	err := r.ofDay(ctx, `
		with orphaned as (
			select d.seq, d.status from (select (overlay(id::text placing '0000' from 33))::uuid as seq, status from hub.deliveries_DAY where not inbound) d
			where not exists (select from hub.events_DAY e where e.seq = d.seq)),
		counted as ( -- a first attempt may be stored with its delivery
			select id, attempts - (started_at is not null)::integer as n from hub.deliveries_DAY
			where not inbound and attempts > (started_at is not null)::integer),
		stored as (select delivery_id, count(distinct number) as n from hub.attempts_DAY group by delivery_id)
		select count(distinct seq), count(*), count(*) filter (where status in (0, 2)),
			(select coalesce(sum(greatest(0, c.n - coalesce(s.n, 0))), 0)::bigint from counted c left join stored s on s.delivery_id = c.id)
		from orphaned`, day, nil, &gaps.Events, &gaps.Deliveries, &gaps.Waiting, &gaps.Attempts)
	return gaps, err
}

// ofDay reads one row about a day, whose name replaces DAY. It reads nothing where the day's
// tables do not exist.
func (r *Reader) ofDay(ctx context.Context, sql string, day time.Time, args []any, into ...any) error {
	err := r.pool.QueryRow(ctx, strings.ReplaceAll(sql, "DAY", "p"+day.Format("20060102")), args...).Scan(into...)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == undefinedTable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the log of %s: %w", day.Format(time.DateOnly), err)
	}
	return nil
}
