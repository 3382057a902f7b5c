package registry

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"integrationhub/hub/internal/scrape"
)

// certificatesReadEvery is how long what was read of client certificates is served.
const certificatesReadEvery = time.Minute

var certificateExpiryDesc = prometheus.NewDesc("hub_client_certificate_expiry_timestamp_seconds",
	"When the first client certificate of enabled endpoints ends, in Unix time.", []string{"product"}, nil)

// CertificateCollector exports when client certificates of endpoints end, for the metrics.
type CertificateCollector struct {
	firstEnds *scrape.Value[map[string]time.Time] // by the tenants' product
}

// NewCertificateCollector returns a collector that reads from db.
func NewCertificateCollector(db *pgxpool.Pool, now func() time.Time) *CertificateCollector {
	return &CertificateCollector{scrape.NewValue(certificatesReadEvery, now, func(ctx context.Context) (map[string]time.Time, error) {
		return readFirstEnds(ctx, db)
	})}
}

// Describe implements prometheus.Collector.
func (c *CertificateCollector) Describe(ch chan<- *prometheus.Desc) { ch <- certificateExpiryDesc }

// Collect implements prometheus.Collector.
func (c *CertificateCollector) Collect(ch chan<- prometheus.Metric) {
	for product, end := range c.firstEnds.Get() {
		ch <- prometheus.MustNewConstMetric(certificateExpiryDesc, prometheus.GaugeValue, float64(end.Unix()), product)
	}
}

// readFirstEnds returns when the first certificate of each product's endpoints ends.
func readFirstEnds(ctx context.Context, db *pgxpool.Pool) (map[string]time.Time, error) {
	rows, err := db.Query(ctx, `
		select t.product, e.client_certificate from hub.endpoints e join hub.tenants t on t.id = e.tenant_id
		where e.client_certificate is not null and e.enabled`)
	if err != nil {
		return nil, err
	}
	first := make(map[string]time.Time)
	var product, chain string
	_, err = pgx.ForEachRow(rows, []any{&product, &chain}, func() error {
		end := certificateInfoOf(&chain).ExpiresAt
		if earliest, found := first[product]; !found || end.Before(earliest) {
			first[product] = end
		}
		return nil
	})
	return first, err
}
