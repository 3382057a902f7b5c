package query

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// maxPendingCounted is how many waiting deliveries are counted at most: beyond it the
// number matters less than what counting costs.
const maxPendingCounted = 100_000

// pendingCacheTime is how long a count is served before it is made anew.
const pendingCacheTime = 10 * time.Second

// PendingCollector counts what waits in the database, by product, for the metrics.
type PendingCollector struct {
	reader    *Reader
	now       func() time.Time
	mu        sync.Mutex
	countedAt time.Time
	counts    []pendingCount
}

type pendingCount struct {
	product       string
	count         int64
	bulk          int64   // of these
	oldestSeconds float64 // seconds
	isParked      bool
}

var (
	pendingDesc = prometheus.NewDesc("hub_deliveries_pending", "Deliveries that have waited for two seconds or for a retry, counted up to 100000.", []string{"product"}, nil)
	bulkDesc    = prometheus.NewDesc("hub_bulk_deliveries_pending", "Of the deliveries that hub_deliveries_pending counts, those of imports, recoveries and replays, which go after others.", []string{"product"}, nil)
	oldestDesc  = prometheus.NewDesc("hub_oldest_pending_seconds", "Age of the oldest waiting delivery, seconds.", []string{"product"}, nil)
	parkedDesc  = prometheus.NewDesc("hub_deliveries_parked", "Parked deliveries, counted up to 100000.", []string{"product"}, nil)
)

// NewPendingCollector returns the collector.
func NewPendingCollector(reader *Reader, now func() time.Time) *PendingCollector {
	return &PendingCollector{reader: reader, now: now}
}

// Describe implements prometheus.Collector.
func (p *PendingCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- pendingDesc
	ch <- bulkDesc
	ch <- oldestDesc
	ch <- parkedDesc
}

// Collect implements prometheus.Collector; while the database is away it exports
// the last count.
func (p *PendingCollector) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now().Sub(p.countedAt) > pendingCacheTime {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if counts, err := p.reader.countPending(ctx); err == nil {
			p.counts, p.countedAt = counts, p.now()
		}
	}
	for _, c := range p.counts {
		if c.isParked {
			ch <- prometheus.MustNewConstMetric(parkedDesc, prometheus.GaugeValue, float64(c.count), c.product)
			continue
		}
		ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(c.count), c.product)
		ch <- prometheus.MustNewConstMetric(bulkDesc, prometheus.GaugeValue, float64(c.bulk), c.product)
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, c.oldestSeconds, c.product)
	}
}

// countPending counts the oldest that wait, so that the age of the oldest is right even
// where more wait than are counted.
func (r *Reader) countPending(ctx context.Context) ([]pendingCount, error) {
	rows, err := r.pool.Query(ctx, `
		select product, count(*), count(*) filter (where priority = 1), coalesce(extract(epoch from now() - min(created_at)), 0)::float8, false
		from (select product, created_at, priority from hub.deliveries where status = 0 order by id limit $1) d group by product
		union all
		select product, count(*), 0, 0, true
		from (select product from hub.deliveries where status = 2 limit $1) d group by product`, maxPendingCounted)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (pendingCount, error) {
		var c pendingCount
		return c, row.Scan(&c.product, &c.count, &c.bulk, &c.oldestSeconds, &c.isParked)
	})
}
