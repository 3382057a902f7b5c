package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
	"integrationhub/messaging/internal/store"
)

// A connection has one owner: another process gets it when the lease is over by the
// database's clock, or when the owner stops.
func TestOwnConnection(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // the product's clock does not matter
	id := company.Connect().ID
	first, second := store.New(company.Hub.Host, nil), store.New(company.Hub.Host, nil)
	owns := func(ctx context.Context, s *store.Store) bool {
		ran := false
		isOwner, err := s.OwnConnection(ctx, company.ID, id, func(context.Context) error { ran = true; return nil })
		require.NoError(t, err)
		require.Equal(t, isOwner, ran)
		return isOwner
	}
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `delete from connection_leases`)
	require.NoError(t, err)
	require.True(t, owns(t.Context(), first))
	require.False(t, owns(t.Context(), second), "the lease stays for its time")
	require.True(t, owns(t.Context(), first))
	_, err = company.Hub.Host.Pool.Exec(t.Context(), `update connection_leases set leased_until = clock_timestamp() - interval '1 millisecond'`)
	require.NoError(t, err)
	require.True(t, owns(t.Context(), second))
	require.False(t, owns(t.Context(), first))

	stopping, stop := context.WithCancel(t.Context())
	_, err = second.OwnConnection(stopping, company.ID, id, func(context.Context) error { stop(); return nil })
	require.NoError(t, err)
	require.True(t, owns(t.Context(), first), "a hub that stops gives its connections up")

	// Who loses the lease stops working: the process stood still, and another took over.
	_, err = first.OwnConnection(t.Context(), company.ID, id, func(ctx context.Context) error {
		_, err := company.Hub.Host.Pool.Exec(t.Context(), `update connection_leases set holder = 'another', leased_until = clock_timestamp() + interval '1 hour'`)
		require.NoError(t, err)
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "another process")
	require.False(t, owns(t.Context(), first))
}
