// Package ledgertest has fixtures for the tests of the delivery log.
package ledgertest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// Commit is one event whose deliveries a process has leased, as the outbox leaves them:
// the deliveries have no rows, the lease represents them.
type Commit struct {
	pool  *pgxpool.Pool
	Lease *delivery.CommitLease
	Jobs  []delivery.LeasedDelivery
}

// NewCommit stores an event and a lease for its deliveries.
func NewCommit(t *testing.T, pool *pgxpool.Pool, deliveries int) *Commit {
	t.Helper()
	now := time.Now()
	event := &delivery.Event{
		Seq: logid.NewSeq(now), ID: hub.FormatEventID(7), IDBits: 7, TenantID: uuid.New(), Environment: "test",
		Product: "shop", Type: "a.b", CorrelationID: "story", Body: []byte("{}"),
	}
	c := &Commit{pool: pool, Lease: &delivery.CommitLease{ID: logid.New(now), TakenAt: now, WithoutRow: deliveries}}
	var promised []byte
	for n := range deliveries {
		job := delivery.LeasedDelivery{ID: logid.Delivery(event.Seq, n+1), TargetID: uuid.New(), Event: event, CommitLease: c.Lease}
		c.Jobs = append(c.Jobs, job)
		promised = append(append(append(promised, job.ID[:]...), job.TargetID[:]...), byte(n%2))
	}
	_, err := pool.Exec(t.Context(), `
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		values ($1, 7, $2, 'test', 'shop', 'a.b', 'story', $3, '{}')`, event.Seq, event.TenantID, deliveries)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `insert into hub.leases (id, deliveries) values ($1, $2)`, c.Lease.ID, promised)
	require.NoError(t, err)
	return c
}

// Attempt returns an attempt of the n-th delivery with the given outcome.
func (c *Commit) Attempt(n int, status delivery.Status) delivery.AttemptResult {
	a := delivery.AttemptResult{
		LeasedDelivery: c.Jobs[n], Sent: true, StartedAt: time.Now(), StatusCode: 200, ResponseHeader: []byte("A: b"), ResponseBody: []byte("ok"),
		Decision: delivery.Decision{Status: status, CountedAttempts: 1},
	}
	if status != delivery.Delivered {
		a.StatusCode, a.Decision.Wait, a.Error = 0, time.Second, "timed out"
	}
	return a
}

// Count returns the number of rows of a table, or of a table with a where clause.
func (c *Commit) Count(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from `+query).Scan(&n))
	return n
}
