package write_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/write"
	"integrationhub/hub/internal/logid"
)

// ordered is an order of a target with deliveries that wait.
type ordered struct {
	t      *testing.T
	pool   *pgxpool.Pool
	target uuid.UUID
	ids    []uuid.UUID
}

// newOrder makes a target with some deliveries of one key, the first one of them the head.
func newOrder(t *testing.T, pool *pgxpool.Pool, deliveries int) *ordered {
	t.Helper()
	o := &ordered{t: t, pool: pool, target: uuid.New()}
	seq := logid.NewSeq(time.Now())
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	for n := range deliveries {
		o.ids = append(o.ids, logid.Delivery(seq, n+1))
		exec(`insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, ordering_key, due_at)
			values ($1, 1, $2, $2, 'live', 'test', 'a.b', 'k', case when $3 = 0 then now() else 'infinity' end)`, o.ids[n], o.target, n)
		if n > 0 {
			exec(`insert into hub.ordering_queue (target_id, key, place, delivery_id) values ($1, 'k', $2, $3)`, o.target, n+1, o.ids[n])
		}
	}
	exec(`insert into hub.ordering_keys (target_id, key, accepted, waiting, head) values ($1, 'k', $2::bigint, $2::bigint, $3)`, o.target, deliveries, o.ids[0])
	return o
}

// delivered returns an attempt that delivered a delivery of the order.
func (o *ordered) delivered(n int) delivery.AttemptResult {
	return delivery.AttemptResult{
		LeasedDelivery: delivery.LeasedDelivery{ID: o.ids[n], TargetID: o.target, Event: &delivery.Event{TenantID: o.target, Product: "test"}, OrderingKey: "k"},
		Sent:           true, StartedAt: time.Now(), StatusCode: 200, Decision: delivery.Decision{Status: delivery.Delivered, CountedAttempts: 1},
	}
}

// lock locks the key for another transaction.
func (o *ordered) lock() pgx.Tx {
	o.t.Helper()
	tx, err := o.pool.Begin(o.t.Context())
	require.NoError(o.t, err)
	o.t.Cleanup(func() { _ = tx.Rollback(o.t.Context()) })
	_, err = tx.Exec(o.t.Context(), `select from hub.ordering_keys where target_id = $1 for update`, o.target)
	require.NoError(o.t, err)
	return tx
}

func (o *ordered) requireStatus(n int, want delivery.Status) {
	o.t.Helper()
	var status delivery.Status
	require.NoError(o.t, o.pool.QueryRow(o.t.Context(), `select status from hub.deliveries where id = $1`, o.ids[n]).Scan(&status))
	require.Equal(o.t, want, status)
}

func (o *ordered) awaitDelivered(n int) {
	o.t.Helper()
	require.Eventually(o.t, func() bool {
		var isDelivered bool
		err := o.pool.QueryRow(o.t.Context(), `select status = 1 from hub.deliveries where id = $1`, o.ids[n]).Scan(&isDelivered)
		return err == nil && isDelivered
	}, 14*time.Second, 5*time.Millisecond) // a flush that waits for the lock takes 15 s
}

// While another transaction keeps the key of an order locked, the attempts that settle others
// are stored. When it ends, so is that one, and the next of its key is due.
func TestLockedOrderDefersItsOwnAttempts(t *testing.T) {
	t.Parallel()
	pool, stored := hubtest.Database(t), atomic.Int32{}
	w := write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, func(batch []delivery.AttemptResult) { stored.Add(int32(len(batch))) })
	locked, other := newOrder(t, pool, 3), newOrder(t, pool, 4)
	holder := locked.lock()
	w.Record(locked.delivered(0))
	for n := range 3 {
		w.Record(other.delivered(n))
		other.awaitDelivered(n)
	}
	locked.requireStatus(0, delivery.Pending)
	require.EqualValues(t, 3, stored.Load())

	require.NoError(t, holder.Rollback(t.Context()))
	locked.awaitDelivered(0)
	var next uuid.UUID
	require.NoError(t, pool.QueryRow(t.Context(), `select id from hub.deliveries where target_id = $1 and status = 0 and due_at <= now()`, locked.target).Scan(&next))
	require.Equal(t, locked.ids[1], next)

	// The end of the writer waits for it too.
	holder = locked.lock()
	w.Record(locked.delivered(1))
	w.Record(other.delivered(3))
	other.awaitDelivered(3)
	closed := make(chan struct{})
	go func() {
		w.Close()
		close(closed)
	}()
	locked.requireStatus(1, delivery.Pending)
	require.NoError(t, holder.Rollback(t.Context()))
	<-closed
	locked.requireStatus(1, delivery.Delivered)
	require.EqualValues(t, 6, stored.Load())
	var deltas int
	require.NoError(t, pool.QueryRow(t.Context(), `select sum(delivered) from hub.rollup_deltas`).Scan(&deltas))
	require.Equal(t, 6, deltas, "each was counted once")
}
