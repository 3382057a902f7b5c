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

// StatsBucket is one bucket. Latencies are of delivered attempts; null where there were none.
type StatsBucket struct {
	At        time.Time `json:"at" doc:"Beginning of the bucket"`
	Accepted  int64     `json:"accepted" doc:"Deliveries accepted"`
	Delivered int64     `json:"delivered"`
	Failed    int64     `json:"failed"`
	Parked    int64     `json:"parked"`
	Attempts  int64     `json:"attempts" doc:"Attempts made"`
	Errors    int64     `json:"errors" doc:"Attempts that did not deliver"`
	P50       *float64  `json:"p50_ms"`
	P95       *float64  `json:"p95_ms"`
	P99       *float64  `json:"p99_ms"`
	latency   []int64
}

// maxBuckets bounds one answer.
const maxBuckets = 1500

// Stats counts from the statistics; what is not yet folded into them is read from the
// deltas. Every bucket from From to To is there, empty ones included. Minutes are kept
// for [minutesFor], half hours for [statisticsFor].
func (r *Reader) Stats(ctx context.Context, q StatsQuery) ([]StatsBucket, error) {
	first := q.From.Truncate(q.Bucket)
	n := int((q.To.Sub(first) + q.Bucket - 1) / q.Bucket)
	if n <= 0 {
		return nil, hub.Invalid("query.to", "must be after from")
	}
	if n > maxBuckets {
		return nil, hub.Invalid("query.bucket", fmt.Sprintf("gives %d buckets; at most %d are shown: choose a larger bucket", n, maxBuckets))
	}
	buckets := make([]StatsBucket, n)
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

// kept returns the conditions of the question's rows of the statistics.
func (q StatsQuery) kept(c *Conditions) string {
	scope, id := ledger.ScopeAll, uuid.Nil
	switch {
	case q.TargetID != nil:
		scope, id = ledger.ScopeTarget, *q.TargetID
	case q.TenantID != nil:
		scope, id = ledger.ScopeTenant, *q.TenantID
	}
	where := c.numbered("scope = ? and scope_id = ?", scope, id)
	if q.Product != "" || scope == ledger.ScopeAll {
		where += c.numbered(" and product = ?", q.Product)
	}
	if q.TargetID != nil && q.TenantID != nil {
		where += c.numbered(" and tenant_id = ?", *q.TenantID)
	}
	return where
}

// waiting returns the conditions of the question's deltas.
func (q StatsQuery) waiting(c *Conditions) string {
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
func (r *Reader) addStats(ctx context.Context, buckets []StatsBucket, q StatsQuery, first time.Time) error {
	edge := first
	if q.Bucket%ledger.CoarseBucket == 0 {
		edge = q.To.Truncate(ledger.CoarseBucket)
	}
	var c Conditions
	kept, counts := q.kept(&c), "accepted, delivered, failed, parked, attempts, errors, latency"
	statement := c.numbered(`
		select bucket, true, `+counts+` from hub.statistics where width = 30 and `+kept+` and bucket >= ? and bucket < ?`, first, edge) + c.numbered(`
		union all
		select bucket, true, `+counts+` from hub.statistics where width = 1 and `+kept+` and bucket >= ? and bucket < ?`, edge, q.To) + c.numbered(`
		union all
		select bucket, false, `+counts+` from hub.rollup_deltas where bucket >= ? and bucket < ? and `, first, q.To) + q.waiting(&c)
	rows, err := r.pool.Query(ctx, statement, c.args...)
	if err != nil {
		return fmt.Errorf("reading statistics: %w", err)
	}
	var at time.Time
	var folded bool
	var statsBucket StatsBucket
	var latency []int32
	_, err = pgx.ForEachRow(rows, []any{&at, &folded, &statsBucket.Accepted, &statsBucket.Delivered, &statsBucket.Failed, &statsBucket.Parked, &statsBucket.Attempts, &statsBucket.Errors, &latency}, func() error {
		b := &buckets[at.Sub(first)/q.Bucket]
		b.Accepted += statsBucket.Accepted
		b.Delivered += statsBucket.Delivered
		b.Failed += statsBucket.Failed
		b.Parked += statsBucket.Parked
		b.Attempts += statsBucket.Attempts
		b.Errors += statsBucket.Errors
		if folded {
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
