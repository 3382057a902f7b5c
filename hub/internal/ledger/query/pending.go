package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/scrape"
)

// maxPendingCounted is how many waiting deliveries are counted at most: beyond it the
// number matters less than what counting costs.
const maxPendingCounted = 100_000

// maxBehindCounted is the same for those behind others. Their rows lie far apart.
const maxBehindCounted = 10_000

// maxOldestRead is how many receivers and deliveries of a day are read at most to find the
// oldest that is not bulk.
const maxOldestRead = 10_000

// pendingCacheTime is how long a count is served before it is made anew.
const pendingCacheTime = 10 * time.Second

// PendingCollector counts what waits in the database, by product, for the metrics.
type PendingCollector struct {
	counts *scrape.Value[[]pendingCount]
}

type pendingCount struct {
	Product       string
	Pending       int64 // but for those behind others
	Bulk          int64 // of these
	OldestSeconds float64
	Behind        int64
	Parked        int64
}

var (
	pendingDesc = prometheus.NewDesc("hub_deliveries_pending", "Deliveries that have waited for two seconds or for a retry, except those behind others, counted up to 100000.", []string{"product"}, nil)
	bulkDesc    = prometheus.NewDesc("hub_bulk_deliveries_pending", "Of the deliveries that hub_deliveries_pending counts, those of imports, recoveries and replays, which go after others.", []string{"product"}, nil)
	oldestDesc  = prometheus.NewDesc("hub_oldest_pending_seconds", "Age in seconds of the oldest waiting delivery, except those of imports, recoveries and replays.", []string{"product"}, nil)
	behindDesc  = prometheus.NewDesc("hub_deliveries_behind", "Deliveries that wait for the one before them in the order of their key, counted up to 10000.", []string{"product"}, nil)
	parkedDesc  = prometheus.NewDesc("hub_deliveries_parked", "Parked deliveries, counted up to 100000.", []string{"product"}, nil)
)

// NewPendingCollector returns the collector.
func NewPendingCollector(reader *Reader, now func() time.Time) *PendingCollector {
	return &PendingCollector{scrape.NewValue(pendingCacheTime, now, reader.countPending)}
}

// Describe implements prometheus.Collector.
func (p *PendingCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- pendingDesc
	ch <- bulkDesc
	ch <- oldestDesc
	ch <- behindDesc
	ch <- parkedDesc
}

// Collect implements prometheus.Collector.
func (p *PendingCollector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range p.counts.Get() {
		for desc, value := range map[*prometheus.Desc]float64{
			pendingDesc: float64(c.Pending), bulkDesc: float64(c.Bulk), oldestDesc: c.OldestSeconds, behindDesc: float64(c.Behind), parkedDesc: float64(c.Parked),
		} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, c.Product)
		}
	}
}

// countPending counts the oldest that wait, so that the age of the oldest is right even
// where more wait than are counted. Those behind others are found by the index of what is
// due, by the same expression.
func (r *Reader) countPending(ctx context.Context) ([]pendingCount, error) {
	if err := r.materializeKept(ctx); err != nil {
		return nil, err
	}
	rows, err := r.pool.Query(ctx, `
		select product, sum(pending)::bigint, sum(bulk)::bigint, max(oldest), sum(behind)::bigint, sum(parked)::bigint
		from (
			select product, count(*) as pending, count(*) filter (where priority = 1) as bulk,
				coalesce(extract(epoch from now() - min(created_at) filter (where priority <> 1)), 0)::float8 as oldest, 0 as behind, 0 as parked
			from (select product, created_at, priority from hub.deliveries where status = 0 and due_at < 'infinity' order by id limit $1) d group by product
			union all
			select product, 0, 0, 0, count(*), 0
			from (select product from hub.deliveries where case when status = 0 then due_at end = 'infinity' limit $2) d group by product
			union all
			select product, 0, 0, 0, 0, count(*)
			from (select product from hub.deliveries where status = 2 limit $3) d group by product) counts
		group by product`, r.limits.pending, maxBehindCounted, maxPendingCounted)
	if err != nil {
		return nil, err
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pendingCount])
	if err != nil {
		return nil, err
	}
	var counted int64
	for _, c := range counts {
		counted += c.Pending
	}
	if counted < int64(r.limits.pending) {
		return counts, nil
	}
	return r.findOldest(ctx, counts)
}

// oldestOfDaySQL reads the oldest delivery of a day that waits and is not bulk, by product.
// It goes from receiver to receiver in the index of what is due by priority, so that it reads
// no bulk ones but one of each receiver. Of a receiver with many others it reads those due first.
const oldestOfDaySQL = `
	with recursive walk as (
		(select target_id from hub.deliveries_DAY where status = 0 order by target_id, priority, due_at limit 1)
		union all
		select (select d.target_id from hub.deliveries_DAY d where d.status = 0 and d.target_id > w.target_id
			order by d.target_id, d.priority, d.due_at limit 1)
		from walk w where w.target_id is not null),
	targets as (select target_id from walk where target_id is not null limit $1)
	select d.product, extract(epoch from now() - min(d.created_at))::float8
	from targets t, lateral (
		select product, created_at from hub.deliveries_DAY
		where status = 0 and target_id = t.target_id and priority < 1 and due_at < 'infinity'
		order by priority, due_at limit $1 / (select count(*) from targets)) d
	group by d.product`

// findOldest completes the ages in counts where more deliveries wait than were counted: bulk
// ones, or those of another product, may be older than all that the others have. Day by day it
// costs what a day's receivers cost; the parent would look into every day for each of them.
func (r *Reader) findOldest(ctx context.Context, counts []pendingCount) ([]pendingCount, error) {
	days, err := r.Days(ctx)
	if err != nil {
		return nil, err
	}
	for _, day := range days {
		rows, err := r.pool.Query(ctx, strings.ReplaceAll(oldestOfDaySQL, "DAY", logid.Partition(logid.Floor(day))), maxOldestRead)
		var product string
		var age float64
		if err == nil {
			_, err = pgx.ForEachRow(rows, []any{&product, &age}, func() error {
				i := slices.IndexFunc(counts, func(c pendingCount) bool { return c.Product == product })
				if i < 0 {
					i, counts = len(counts), append(counts, pendingCount{Product: product})
				}
				counts[i].OldestSeconds = max(counts[i].OldestSeconds, age)
				return nil
			})
		}
		if err != nil && !isMissingTable(err) { // the day's retention has ended
			return nil, err
		}
	}
	return counts, nil
}
