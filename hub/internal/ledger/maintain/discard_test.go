package maintain_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
)

// A delivery is discarded while the one before it is being settled: the two do not wait for
// each other in a circle.
func TestDiscardMeetsSettlement(t *testing.T) {
	t.Parallel()
	pool, failed := hubtest.Database(t), 0
	discarder := maintain.NewDiscarder(pool, query.NewReader(pool), func(_ string, n int) { failed += n })
	ledgertest.MeetSettlement(t, pool, func(ids []uuid.UUID) error {
		_, err := discarder.Discard(t.Context(), ids[1])
		return err
	})
	require.Equal(t, 1, failed)
}
