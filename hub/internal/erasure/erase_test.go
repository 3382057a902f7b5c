package erasure

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/module/dberr"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// What waits in an order is erased while the delivery before it is being settled: the two do
// not wait for each other in a circle.
func TestErasureMeetsSettlement(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	var failed []failedDelivery
	ledgertest.MeetSettlement(t, pool, func(ids []uuid.UUID) error {
		for {
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
				failed, err = failWaiting(t.Context(), tx, logid.Partition(ids[0]), ids)
				return err
			})
			if !dberr.IsLockTimeout(err) { // the next step of the erasure tries again
				return err
			}
		}
	})
	require.Len(t, failed, 1)
	require.Equal(t, "shop", failed[0].product)
}
