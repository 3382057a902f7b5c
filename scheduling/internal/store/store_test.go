package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/store"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// A transaction that PostgreSQL ends in favour of another one is repeated. Without that
// the caller would get a 503.
func TestTransactionsAreRepeated(t *testing.T) {
	t.Parallel()
	host := module.Host{Pool: hubtest.Database(t), Now: time.Now}
	for _, code := range []string{"40001", "40P01"} {
		attempts := 0
		err := store.New(host).InTx(t.Context(), "counting", func(tx *store.Tx) error {
			attempts++
			if attempts > 1 {
				return nil
			}
			return pgx.BeginFunc(t.Context(), tx.Raw, func(savepoint pgx.Tx) error {
				_, err := savepoint.Exec(t.Context(), `do $$ begin raise exception using errcode = '`+code+`'; end $$`)
				return err
			})
		})
		require.NoError(t, err, code)
		require.Equal(t, 2, attempts, code)
	}
	attempts := 0
	err := store.New(host).InTx(t.Context(), "counting", func(*store.Tx) error {
		attempts++
		return hub.NotFound("Client")
	})
	require.ErrorIs(t, err, hub.ErrNotFound)
	require.Equal(t, 1, attempts, "other errors are final")
}
