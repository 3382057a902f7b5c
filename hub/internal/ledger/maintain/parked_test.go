package maintain_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/maintain"
)

// Parked deliveries expire while one of them is being settled: the two do not wait for each
// other in a circle.
func TestExpiryMeetsSettlement(t *testing.T) {
	t.Parallel()
	pool, failed := hubtest.Database(t), 0
	maintenance := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(ledger.MaxParkedAge + 25*time.Hour) }, time.Hour,
		func(_ string, n int) { failed += n })
	ledgertest.MeetSettlement(t, pool, func(ids []uuid.UUID) error {
		if _, err := pool.Exec(t.Context(), `update hub.deliveries set status = 2, parked_at = now(), finished_at = now() where id = any($1)`, ids); err != nil {
			return err
		}
		for failed == 0 { // in the next round if the key was locked for too long
			if err := maintenance.FailParked(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, 1, failed)
}

// What waits for a deleted endpoint fails while the first of it is being settled: the two do not
// wait for each other in a circle.
func TestEndpointDeletionMeetsSettlement(t *testing.T) {
	t.Parallel()
	pool, failed := hubtest.Database(t), 0
	var log bytes.Buffer
	drainer := maintain.NewDrainer(pool, slog.New(slog.NewTextHandler(&log, nil)), func(uuid.UUID) {}, func(_ string, n int) { failed += n })
	ledgertest.MeetSettlement(t, pool, func(ids []uuid.UUID) error {
		for failed == 0 { // in the next round if the key was locked for too long
			_, err := pool.Exec(t.Context(), `
				insert into hub.drains (target_id, integration, state, due_at) select target_id, false, 'waiting', now() from hub.deliveries where id = $1
				on conflict (target_id) do update set due_at = now()`, ids[0])
			if err != nil {
				return err
			}
			if _, err = drainer.DrainOnce(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, 1, failed)
	require.NotContains(t, log.String(), "deadlock")
}
