package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger"
)

// StatsQuery asks for counts by time bucket.
type StatsQuery struct {
	From, To time.Time
	Bucket   time.Duration
	Product  string
	TenantID *uuid.UUID
	TargetID *uuid.UUID // an endpoint or an integration
}

// BucketCounts is one bucket. Latencies are of delivered attempts; null where there were none.
type BucketCounts struct {
	At        time.Time `json:"at" doc:"Beginning of the bucket"`
	Accepted  int64     `json:"accepted" doc:"Deliveries accepted"`
	Delivered int64     `json:"delivered" doc:"How many receivers confirmed"`
	Failed    int64     `json:"failed" doc:"Attempts that did not succeed"`
	Parked    int64     `json:"parked" doc:"Deliveries that were given up for now"`
	Attempts  int64     `json:"attempts" doc:"Attempts made"`
	Errors    int64     `json:"errors" doc:"Attempts that did not deliver"`
	P50       *float64  `json:"p50_ms" doc:"Half of the attempts took at most so many milliseconds; null: no attempts"`
	P95       *float64  `json:"p95_ms" doc:"95 of 100 attempts took at most so many milliseconds; null: no attempts"`
	P99       *float64  `json:"p99_ms" doc:"99 of 100 attempts took at most so many milliseconds; null: no attempts"`
	latency   []int64
}

// maxBuckets bounds one answer.
const maxBuckets = 1500

// Stats counts from the statistics; deltas are added. Every bucket from
// From to To is present, empty ones included. Minutes are kept for 35 days, half hours for
// 400 days.
func (r *Reader) Stats(ctx context.Context, q StatsQuery) ([]BucketCounts, error) {
	first := q.From.Truncate(q.Bucket)
	n := int((q.To.Sub(first) + q.Bucket - 1) / q.Bucket)
	if n <= 0 {
		return nil, hub.Invalid("query.to", "must be after from")
	}
	if n > maxBuckets {
		return nil, hub.Invalid("query.bucket", fmt.Sprintf("gives %d buckets; at most %d are shown: choose a larger bucket", n, maxBuckets))
	}
	buckets := make([]BucketCounts, n)
	for i := range buckets {
		buckets[i].At = first.Add(time.Duration(i) * q.Bucket).UTC()
	}
	if err := r.addStats(ctx, buckets, q, first); err != nil {
		return nil, err
	}
	for i := range buckets {
		b := &buckets[i]
		b.P50, b.P95, b.P99 = ledger.Percentile(b.latency, 0.50), ledger.Percentile(b.latency, 0.95), ledger.Percentile(b.latency, 0.99)
	}
	return buckets, nil
}

// statisticsConditions returns the conditions of the question's rows of the statistics.
func (q StatsQuery) statisticsConditions(conditions *Conditions) string {
	scope, id := ledger.ScopeAll, uuid.Nil
	switch {
	case q.TargetID != nil:
		scope, id = ledger.ScopeTarget, *q.TargetID
	case q.TenantID != nil:
		scope, id = ledger.ScopeTenant, *q.TenantID
	}
	where := conditions.numbered("scope = ? and scope_id = ?", scope, id)
	if q.Product != "" || scope == ledger.ScopeAll {
		where += conditions.numbered(" and product = ?", q.Product)
	}
	if q.TargetID != nil && q.TenantID != nil {
		where += conditions.numbered(" and tenant_id = ?", *q.TenantID)
	}
	return where
}

// deltaConditions returns the conditions of the question's deltas.
func (q StatsQuery) deltaConditions(c *Conditions) string {
	where := "true"
	if q.Product != "" {
		where += c.numbered(" and product = ?", q.Product)
	}
	if q.TenantID != nil {
		where += c.numbered(" and tenant_id = ?", *q.TenantID)
	}
	if q.TargetID != nil {
		where += c.numbered(" and target_id = ?", *q.TargetID)
	}
	return where
}

// addStats adds what is kept (latency: counts by class) and deltas (latency: the
// class of each delivered attempt) in one statement, so in one snapshot: nothing is
// counted twice while deltas are being folded in. Half hours are read where they lie
// wholly in the time asked for, else minutes.
func (r *Reader) addStats(ctx context.Context, buckets []BucketCounts, q StatsQuery, first time.Time) error {
	edge := first
	if q.Bucket%ledger.CoarseBucket == 0 {
		edge = q.To.Truncate(ledger.CoarseBucket)
	}
	var c Conditions
	condition, columns := q.statisticsConditions(&c), "accepted, delivered, failed, parked, attempts, errors, latency"
	statement := c.numbered(`
		select bucket, true, `+columns+` from hub.statistics where width = 30 and `+condition+` and bucket >= ? and bucket < ?`, first, edge) + c.numbered(`
		union all
		select bucket, true, `+columns+` from hub.statistics where width = 1 and `+condition+` and bucket >= ? and bucket < ?`, edge, q.To) + c.numbered(`
		union all
		select bucket, false, `+columns+` from hub.rollup_deltas where bucket >= ? and bucket < ? and `, first, q.To) + q.deltaConditions(&c)
	rows, err := r.pool.Query(ctx, statement, c.args...)
	if err != nil {
		return fmt.Errorf("reading statistics: %w", err)
	}
	var bucketStart time.Time
	var isRolledUp bool
	var counts BucketCounts
	var latency []int32
	_, err = pgx.ForEachRow(rows, []any{&bucketStart, &isRolledUp, &counts.Accepted, &counts.Delivered, &counts.Failed, &counts.Parked, &counts.Attempts, &counts.Errors, &latency}, func() error {
		b := &buckets[bucketStart.Sub(first)/q.Bucket]
		b.Accepted += counts.Accepted
		b.Delivered += counts.Delivered
		b.Failed += counts.Failed
		b.Parked += counts.Parked
		b.Attempts += counts.Attempts
		b.Errors += counts.Errors
		if isRolledUp {
			b.latency = ledger.AddLatencyCounts(b.latency, latency)
		} else {
			b.latency = ledger.AddLatencyClasses(b.latency, latency)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading statistics: %w", err)
	}
	return nil
}
