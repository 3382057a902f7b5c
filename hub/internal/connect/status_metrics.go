package connect

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"integrationhub/hub/internal/integration"
)

// statusCountAge is how long a count is served before it is renewed.
const statusCountAge = 10 * time.Second

var statusDesc = prometheus.NewDesc("hub_integrations", "Integrations that were not ended, by the tenants' product and status (active, inactive, error).", []string{"product", "status"}, nil)

// StatusCollector counts integrations by status for the metrics.
type StatusCollector struct {
	db        *pgxpool.Pool
	now       func() time.Time
	mu        sync.Mutex
	countedAt time.Time
	counts    []statusCount
}

type statusCount struct {
	Product                 string
	Active, Inactive, Error int64
}

// NewStatusCollector returns a collector that counts in db.
func NewStatusCollector(db *pgxpool.Pool, now func() time.Time) *StatusCollector {
	return &StatusCollector{db: db, now: now}
}

// Describe implements prometheus.Collector.
func (s *StatusCollector) Describe(ch chan<- *prometheus.Desc) { ch <- statusDesc }

// Collect implements prometheus.Collector. While the database is away it returns the
// last count. A product that has any integration has a value for every status: a missing
// one would keep an alert silent, or ringing.
func (s *StatusCollector) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.countedAt) > statusCountAge {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if counts, err := s.count(ctx); err == nil {
			s.counts, s.countedAt = counts, s.now()
		}
	}
	for _, c := range s.counts {
		for status, n := range map[integration.Status]int64{
			integration.StatusActive: c.Active, integration.StatusInactive: c.Inactive, integration.StatusError: c.Error,
		} {
			ch <- prometheus.MustNewConstMetric(statusDesc, prometheus.GaugeValue, float64(n), c.Product, string(status))
		}
	}
}

func (s *StatusCollector) count(ctx context.Context) ([]statusCount, error) {
	rows, err := s.db.Query(ctx, `
		select t.product, count(*) filter (where i.status = 'active'), count(*) filter (where i.status = 'inactive'), count(*) filter (where i.status = 'error')
		from hub.integrations i join hub.tenants t on t.id = i.tenant_id where i.revoked_at is null group by t.product`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[statusCount])
}
