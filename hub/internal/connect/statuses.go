package connect

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// statusesFor is how long a count is served before it is made anew.
const statusesFor = 10 * time.Second

var statusDesc = prometheus.NewDesc("hub_integrations", "Integrations that were not ended, by the tenants' product and status (active, inactive, error).", []string{"product", "status"}, nil)

// Statuses counts integrations by their status, for the metrics.
type Statuses struct {
	db     *pgxpool.Pool
	now    func() time.Time
	mu     sync.Mutex
	at     time.Time
	counts []statusCount
}

type statusCount struct {
	Product                 string
	Active, Inactive, Error int64
}

// NewStatuses makes the collector.
func NewStatuses(db *pgxpool.Pool, now func() time.Time) *Statuses {
	return &Statuses{db: db, now: now}
}

// Describe implements prometheus.Collector.
func (s *Statuses) Describe(ch chan<- *prometheus.Desc) { ch <- statusDesc }

// Collect implements prometheus.Collector; where the database is away it gives the
// last count. A product that has any integration has all the statuses: one that is
// left out would keep an alert silent, or ringing.
func (s *Statuses) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.at) > statusesFor {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if counts, err := s.count(ctx); err == nil {
			s.counts, s.at = counts, s.now()
		}
	}
	for _, c := range s.counts {
		for status, n := range map[string]int64{Active: c.Active, Inactive: c.Inactive, Error: c.Error} {
			ch <- prometheus.MustNewConstMetric(statusDesc, prometheus.GaugeValue, float64(n), c.Product, status)
		}
	}
}

func (s *Statuses) count(ctx context.Context) ([]statusCount, error) {
	rows, err := s.db.Query(ctx, `
		select t.product, count(*) filter (where i.status = 'active'), count(*) filter (where i.status = 'inactive'), count(*) filter (where i.status = 'error')
		from hub.integrations i join hub.tenants t on t.id = i.tenant_id where i.revoked_at is null group by t.product`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[statusCount])
}
