package delivery

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/logid"
)

// Rows of one day are in the day's table; those of several, as around midnight, are found by way of
// the parent table only.
func TestTableOf(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	before, after := logid.NewSeq(midnight.Add(-time.Millisecond)), logid.NewSeq(midnight)
	require.Equal(t, "hub.deliveries_p20261119", tableOf("hub.deliveries", []uuid.UUID{before}))
	require.Equal(t, "hub.events_p20261120", tableOf("hub.events", []uuid.UUID{after, after}))
	require.Equal(t, "hub.deliveries", tableOf("hub.deliveries", []uuid.UUID{before, after}))
	require.Equal(t, "hub.deliveries", tableOf("hub.deliveries", []uuid.UUID{after, before, after}))
}
