package maintain_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/logid"
)

// The months of the audit log that ended before its retention are dropped, and nothing
// younger; those of the months to come are made.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Date(time.Now().Year(), time.Now().Month(), 1, 12, 0, 0, 0, time.UTC))
	const retention = 100 * day
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 3650*day, nobody).WithAuditRetention(retention)
	entries := map[uuid.UUID]time.Time{}
	for range 11 {
		require.NoError(t, m.EnforceRetention(ctx))
		for _, at := range []time.Time{clock.Now(), clock.Now().AddDate(0, 1, 0).Add(-12*time.Hour - time.Millisecond)} {
			id := logid.New(at)
			entries[id] = at
			_, err := pool.Exec(ctx, `insert into hub.audit (id, actor_type, action, resource, status) values ($1, 'system', 'a.b', 'a', 200)`, id)
			require.NoError(t, err)
		}
		clock.Advance(clock.Now().AddDate(0, 1, 0).Sub(clock.Now()))
	}
	require.NoError(t, m.EnforceRetention(ctx))
	rows, err := pool.Query(ctx, `select id from hub.audit`)
	require.NoError(t, err)
	kept := map[uuid.UUID]bool{}
	for rows.Next() {
		var id uuid.UUID
		require.NoError(t, rows.Scan(&id))
		kept[id] = true
	}
	require.NoError(t, rows.Err())
	oldest := clock.Now().Add(-retention)
	for id, at := range entries {
		monthEnds := time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		require.Equal(t, monthEnds.After(oldest), kept[id], "of %s, at %s", at, clock.Now())
	}
	require.Len(t, kept, 8, "the months of 100 days")
	var partitions int
	require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.audit_partitions()`).Scan(&partitions))
	require.Equal(t, 4+7, partitions)

	// Without a retention all is kept.
	require.NoError(t, maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), func() time.Time { return clock.Now().AddDate(9, 0, 0) }, 3650*day, nobody).EnforceRetention(ctx))
	require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.audit_partitions()`).Scan(&partitions))
	require.Equal(t, 4+7+7, partitions)
}
