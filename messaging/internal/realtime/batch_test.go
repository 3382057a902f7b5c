package realtime

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store"
)

// Changes that could not be loaded are loaded anew for readers that come back, and whoever waits
// for them learns of it, also where the loading panicked.
func TestFailedBatch(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none")
	require.NoError(t, err)
	pool.Close()
	host := module.Host{Pool: pool}
	failing, panicking := New(host, store.New(host, nil)), New(host, nil)
	for _, s := range []*Service{failing, panicking} {
		s.companies[7] = &companyReaders{newestAnnounced: 3}
	}
	scope := store.Scope{Company: 7}
	batch, err := failing.Next(t.Context(), scope, 2)
	require.ErrorContains(t, err, "reading changes")
	require.Nil(t, failing.companies[7].batch)
	<-batch.loaded
	again, err := failing.Next(t.Context(), scope, 2)
	require.Error(t, err)
	require.NotSame(t, batch, again)

	require.Panics(t, func() { _, _ = panicking.Next(t.Context(), scope, 2) })
	require.Nil(t, panicking.companies[7].batch)
}
