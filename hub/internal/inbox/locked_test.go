package inbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/inbox"
)

// result is what became of an event.
type result struct {
	outcome inbox.Outcome
	err     error
}

// storing stores an event in the background.
func storing(b *inbox.Inbox, event inbox.Item) chan result {
	done := make(chan result, 1)
	go func() {
		outcome, err := b.Store(context.Background(), event)
		done <- result{outcome, err}
	}()
	return done
}

// While another transaction keeps locked what the events of a tenant need, as an erasure does,
// those wait, more of them than there are writers; the events of others are stored. Afterwards
// all are stored, each with its effect once, also those that come while others wait.
func TestLockedTenantDelaysNoOther(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	locked, lockedTenant := integration(t, db)
	free, freeTenant := integration(t, db)
	began := make(chan struct{}, 1000)
	b := inbox.New(db, func(ctx context.Context, tx pgx.Tx, e hub.Event) error {
		began <- struct{}{}
		_, err := tx.Exec(ctx, `update hub.tenants set name = name || '.' where id = $1`, e.TenantID)
		return err
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	lock, err := db.Begin(context.Background())
	require.NoError(t, err)
	_, err = lock.Exec(context.Background(), `update hub.tenants set name = name where id = $1`, lockedTenant)
	require.NoError(t, err)

	var waiting []chan result
	for i := range 20 {
		waiting = append(waiting, storing(b, item(locked, lockedTenant, fmt.Sprint(i))))
	}
	<-began
	for i := range 50 {
		got := <-storing(b, item(free, freeTenant, fmt.Sprint("free", i)))
		require.NoError(t, got.err)
		require.Equal(t, inbox.Accepted, got.outcome)
	}
	for _, done := range waiting {
		require.Empty(t, done, "stored, or given up, before the events of others")
	}
	waiting = append(waiting, storing(b, item(locked, lockedTenant, "late")))
	require.NoError(t, lock.Rollback(context.Background()))
	for _, done := range waiting {
		got := <-done
		require.NoError(t, got.err)
		require.Equal(t, inbox.Accepted, got.outcome)
	}
	require.Equal(t, inbox.Accepted, (<-storing(b, item(locked, lockedTenant, "after"))).outcome, "as before")
	for tenant, effects := range map[any]int{lockedTenant: 22, freeTenant: 50} {
		var name string
		require.NoError(t, db.QueryRow(context.Background(), `select name from hub.tenants where id = $1`, tenant).Scan(&name))
		require.Len(t, name, len("Some Clinic")+effects, "each effect once")
	}
}

// An event whose lock stays away for longer than a transaction may take is the peer's to repeat,
// and so is one that finds too many waiting. Both are stored when they are repeated.
func TestTooManyWaitForLocks(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := inbox.New(db, func(ctx context.Context, tx pgx.Tx, e hub.Event) error {
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(4711)`)
		return err
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	lock, err := db.Begin(context.Background())
	require.NoError(t, err)
	_, err = lock.Exec(context.Background(), `select pg_advisory_xact_lock(4711)`)
	require.NoError(t, err)
	var waiting []chan result
	var events []inbox.Item
	for i := range 300 {
		events = append(events, item(id, tenant, fmt.Sprint(i)))
		waiting = append(waiting, storing(b, events[i]))
	}
	require.Eventually(t, func() bool {
		refused := 0
		for _, done := range waiting {
			refused += len(done)
		}
		return refused >= 300-256-2
	}, time.Minute, time.Millisecond)
	require.NoError(t, lock.Rollback(context.Background()))
	refused := 0
	for i, done := range waiting {
		got := <-done
		if got.err != nil {
			refused++
			require.ErrorIs(t, got.err, hub.ErrUnavailable)
			got.outcome, got.err = b.Store(context.Background(), events[i])
		}
		require.NoError(t, got.err)
		require.Equal(t, inbox.Accepted, got.outcome)
	}
	require.GreaterOrEqual(t, refused, 300-256-2)
}
