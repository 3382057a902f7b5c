package write_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/ledgertest"
)

// A delivery without a row takes its priority from the event, whatever comes of it: it is
// delivered, tried again or parked, waits, or its process dies.
func TestRowsHaveTheirEventsPriority(t *testing.T) {
	t.Parallel()
	for _, priority := range []hub.Priority{hub.PriorityHigh, hub.PriorityNormal, hub.PriorityBulk} {
		pool := hubtest.Database(t)
		c := ledgertest.NewCommit(t, pool, 5)
		_, err := pool.Exec(t.Context(), `update hub.events set priority = $1`, priority)
		require.NoError(t, err)
		for n := range c.Jobs {
			c.Jobs[n].Priority = priority
		}
		w := newWriter(pool)
		w.TrackLease(c.Lease)
		for n, status := range []delivery.Status{delivery.Delivered, delivery.Pending, delivery.Parked} {
			w.Record(c.Attempt(n, status))
		}
		require.Eventually(t, func() bool { return c.Count(t, `hub.deliveries`) >= 3 }, time.Minute, time.Millisecond)
		_, err = pool.Exec(t.Context(), `select hub.unfold_leases(array(select id from hub.leases))`)
		require.NoError(t, err)
		w.Close()
		require.Equal(t, 5, c.Count(t, `hub.deliveries d where exists (select from hub.events e where e.priority = d.priority)`))
		require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1 and attempts = 1`))
		require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 2`))
	}
}
