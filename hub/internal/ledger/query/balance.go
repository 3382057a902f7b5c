package query

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

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

// DailyBalances returns the balance of every day that is still in the log, oldest first, read
// in one snapshot. It counts every row: for the doctor and for tests.
func (r *Reader) DailyBalances(ctx context.Context) ([]Balance, error) {
	rows, err := r.pool.Query(ctx, `
		with days as (
			select to_date(right(c.relname, 8), 'YYYYMMDD') as day
			from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'hub.deliveries'::regclass),
		accepted as (
			select (bucket at time zone 'UTC')::date as day, sum(accepted) as n
			from (select bucket, accepted from hub.statistics where width = 30 and scope = 0 and product = ''
				union all select bucket, accepted from hub.rollup_deltas) r group by 1),
		stand as (
			-- the first 48 bits of an id are its milliseconds
			select to_timestamp((('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint) / 1000.0) at time zone 'UTC' as at, status
			from (select id, status from hub.deliveries where not inbound union all
			      select p.id, 0 from hub.promised p where not exists (select from hub.deliveries d where d.id = p.id)) d),
		counted as (
			select at::date as day, count(*) filter (where status = 1) as delivered, count(*) filter (where status = 2) as parked,
			       count(*) filter (where status = 0) as pending, count(*) filter (where status = 3) as failed
			from stand group by 1)
		select d.day, coalesce(a.n, 0)::bigint, coalesce(c.delivered, 0) + coalesce(k.delivered, 0), coalesce(c.parked, 0), coalesce(c.pending, 0),
		       coalesce(c.failed, 0) + coalesce(k.failed, 0)
		from days d left join accepted a using (day) left join counted c using (day) left join hub.compacted_days k using (day)
		where a.n is not null or c.day is not null order by d.day`)
	if err != nil {
		return nil, fmt.Errorf("summing up the log: %w", err)
	}
	sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Balance, error) {
		var s Balance
		return s, row.Scan(&s.Day, &s.Accepted, &s.Delivered, &s.Parked, &s.Pending, &s.Failed)
	})
	if err != nil {
		return nil, fmt.Errorf("summing up the log: %w", err)
	}
	return sums, nil
}
