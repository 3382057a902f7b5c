package connect

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/scrape"
)

// statusCountAge is how long a count is served before it is renewed.
const statusCountAge = 10 * time.Second

var statusDesc = prometheus.NewDesc("hub_integrations", "Integrations that were not ended, by the tenants' product and status (active, inactive, error).", []string{"product", "status"}, nil)

// StatusCollector counts integrations by status for the metrics.
type StatusCollector struct {
	counts *scrape.Value[[]statusCount]
}

type statusCount struct {
	Product                 string
	Active, Inactive, Error int64
}

// NewStatusCollector returns a collector that counts in db.
func NewStatusCollector(db *pgxpool.Pool, now func() time.Time) *StatusCollector {
	return &StatusCollector{scrape.NewValue(statusCountAge, now, func(ctx context.Context) ([]statusCount, error) {
		return countByStatus(ctx, db)
	})}
}

// Describe implements prometheus.Collector.
func (s *StatusCollector) Describe(ch chan<- *prometheus.Desc) { ch <- statusDesc }

// Collect implements prometheus.Collector. A product that has any integration has a value for
// every status: a missing one would keep an alert silent, or ringing.
func (s *StatusCollector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range s.counts.Get() {
		for status, n := range map[integration.Status]int64{
			integration.StatusActive: c.Active, integration.StatusInactive: c.Inactive, integration.StatusError: c.Error,
		} {
			ch <- prometheus.MustNewConstMetric(statusDesc, prometheus.GaugeValue, float64(n), c.Product, string(status))
		}
	}
}

func countByStatus(ctx context.Context, db *pgxpool.Pool) ([]statusCount, error) {
	rows, err := db.Query(ctx, `
		select t.product, count(*) filter (where i.status = 'active'), count(*) filter (where i.status = 'inactive'), count(*) filter (where i.status = 'error')
		from hub.integrations i join hub.tenants t on t.id = i.tenant_id where i.revoked_at is null group by t.product`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[statusCount])
}
