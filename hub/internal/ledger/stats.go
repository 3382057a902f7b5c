package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
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

// Stats counts from the rollups; what is not yet rolled up is read from the deltas.
// Every bucket from From to To is there, empty ones included.
func (r *Reader) Stats(ctx context.Context, q StatsQuery) ([]StatsBucket, error) {
	first := q.From.Truncate(q.Bucket)
	n := int((q.To.Sub(first) + q.Bucket - 1) / q.Bucket)
	if n <= 0 {
		return nil, hub.Invalid("query.to", "must be after from")
	}
	if n > maxBuckets {
		return nil, hub.Invalid("query.bucket", fmt.Sprintf("gives %d buckets; at most %d are shown: choose a larger bucket", n, maxBuckets))
	}
	var c conditions
	c.add("bucket >= ? and bucket < ?", first, q.To)
	if q.Product != "" {
		c.add("product = ?", q.Product)
	}
	if q.TenantID != nil {
		c.add("tenant_id = ?", *q.TenantID)
	}
	if q.TargetID != nil {
		c.add("target_id = ?", *q.TargetID)
	}
	buckets := make([]StatsBucket, n)
	for i := range buckets {
		buckets[i].At = first.Add(time.Duration(i) * q.Bucket).UTC()
	}
	if err := r.addStats(ctx, buckets, c, first, q.Bucket); err != nil {
		return nil, err
	}
	for i := range buckets {
		b := &buckets[i]
		b.P50, b.P95, b.P99 = percentile(b.latency, 0.50), percentile(b.latency, 0.95), percentile(b.latency, 0.99)
	}
	return buckets, nil
}

// addStats adds rollups (latency: counts by class) and deltas (latency: the class
// of each delivered attempt) in one statement, so in one snapshot: nothing is
// counted twice while deltas are being folded in.
func (r *Reader) addStats(ctx context.Context, buckets []StatsBucket, c conditions, first time.Time, width time.Duration) error {
	rows, err := r.pool.Query(ctx, `
		select bucket, true, accepted, delivered, failed, parked, attempts, errors, latency from hub.rollups where `+c.where()+`
		union all
		select bucket, false, accepted, delivered, failed, parked, attempts, errors, latency from hub.rollup_deltas where `+c.where(), c.args...)
	if err != nil {
		return fmt.Errorf("reading rollups: %w", err)
	}
	var at time.Time
	var folded bool
	var one StatsBucket
	var latency []int32
	_, err = pgx.ForEachRow(rows, []any{&at, &folded, &one.Accepted, &one.Delivered, &one.Failed, &one.Parked, &one.Attempts, &one.Errors, &latency}, func() error {
		b := &buckets[at.Sub(first)/width]
		b.Accepted += one.Accepted
		b.Delivered += one.Delivered
		b.Failed += one.Failed
		b.Parked += one.Parked
		b.Attempts += one.Attempts
		b.Errors += one.Errors
		b.latency = addLatency(b.latency, latency, folded)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading rollups: %w", err)
	}
	return nil
}

// addLatency adds counts by class, or single classes, to counts.
func addLatency(counts []int64, latency []int32, folded bool) []int64 {
	if len(latency) == 0 {
		return counts
	}
	if counts == nil {
		counts = make([]int64, latencyClasses)
	}
	for i, v := range latency {
		if folded {
			counts[i] += int64(v)
		} else {
			counts[v]++
		}
	}
	return counts
}
