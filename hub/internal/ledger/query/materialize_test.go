package query_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/ledger/write"
)

// Writers make rows in the order of the attempts: a reader who wants the same rows, and
// waits in a circle with one, goes again instead of failing.
func TestReaderGivesWayToWriters(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 2)
	writer, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = writer.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = writer.Exec(t.Context(), `set local deadlock_timeout = '5min'`)
	require.NoError(t, err)
	store := func(n int) {
		_, err := writer.Exec(t.Context(), `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, created_at, round_at, status, reason)
			values ($1, 7, $2, $3, 'test', 'shop', 'a.b', now(), now(), 2, 'endpoint_disabled')`, c.Jobs[n].ID, c.Jobs[n].Event.TenantID, c.Jobs[n].TargetID)
		require.NoError(t, err)
	}
	store(1)
	read := make(chan error, 1)
	go func() {
		_, err := query.NewReader(pool).Get(t.Context(), c.Jobs[0].ID, query.Owner{})
		read <- err
	}()
	require.Eventually(t, func() bool {
		return c.Count(t, `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%hub.unfold_leases%'`) == 1
	}, time.Minute, time.Millisecond)
	store(0)
	require.NoError(t, writer.Commit(t.Context()))
	require.NoError(t, <-read)
	require.Equal(t, 2, c.Count(t, `hub.deliveries where status = 2`))
	require.Zero(t, c.Count(t, `hub.leases`))
}

// Who reads right after an attempt sees what came of it.
func TestReaderWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w := write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, nil)
	r := query.NewReader(pool).WaitFor(w)
	for range 20 {
		c := ledgertest.NewCommit(t, pool, 1)
		w.TrackLease(c.Lease)
		w.Record(c.Attempt(0, delivery.Delivered))
		items, err := r.List(t.Context(), query.Filter{}, nil, 1)
		require.NoError(t, err)
		require.Equal(t, c.Jobs[0].ID, items[0].ID)
		require.Equal(t, "delivered", items[0].Status)
	}
	w.Close()
	_, err := r.List(t.Context(), query.Filter{}, nil, 1)
	require.NoError(t, err, "a writer that has ended is not waited for")
}
