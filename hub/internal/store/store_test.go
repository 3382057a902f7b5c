package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/store"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

func TestFailed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := hubtest.Database(t)
	query := func(sql string, args ...any) error {
		var text string
		return store.Wrap("asking", db.QueryRow(ctx, sql, args...).Scan(&text))
	}
	require.NoError(t, query(`select 'x'`))
	require.ErrorIs(t, query(`select 'x' where false`), hub.ErrNotFound)
	require.ErrorIs(t, query(`select $1::text`, "\x00"), hub.ErrMalformed)
	require.ErrorIs(t, query(`select $1::text`, "\xff"), hub.ErrMalformed)
	for _, class := range []string{"57P01", "53100", "08006", "40001", "58030"} {
		require.ErrorIs(t, query(`do $$ begin raise exception 'x' using errcode = '`+class+`'; end $$`), hub.ErrUnavailable, class)
	}
	broken := query(`select no_such_column`)
	require.ErrorContains(t, broken, "asking: ")
	var problem *hub.Error
	require.NotErrorAs(t, broken, &problem, "our own mistakes stay internal failures")

	mine := hub.Errorf(hub.ErrConflict, "mine", "Mine.")
	require.Equal(t, error(mine), store.Wrap("x", mine))
	expired, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	_, err := db.Exec(expired, `select 1`)
	require.ErrorIs(t, store.Wrap("x", err), hub.ErrUnavailable)

	nowhere, err := pgxpool.New(ctx, "postgres://127.0.0.1:1/nothing")
	require.NoError(t, err)
	defer nowhere.Close()
	require.ErrorIs(t, store.Wrap("x", nowhere.Ping(ctx)), hub.ErrUnavailable)
	db.Close()
	require.ErrorIs(t, query(`select 'x'`), hub.ErrUnavailable)
}

func TestServerKilledUnderneath(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := hubtest.StartPostgres(t)
	db, err := pgxpool.New(ctx, server.URL())
	require.NoError(t, err)
	defer db.Close()
	openTx, err := db.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = openTx.Rollback(ctx) }()
	server.Kill()
	// A process that serves a connection outlives the server by a moment.
	for _, conn := range []interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}{openTx, db} {
		require.Eventually(t, func() bool {
			_, err = conn.Exec(ctx, `select 1`)
			return err != nil
		}, time.Minute, 10*time.Millisecond)
		require.ErrorIs(t, store.Wrap("x", err), hub.ErrUnavailable)
	}
}

func TestViolatedAndTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := hubtest.Database(t)
	insert := `insert into hub.products (name, prefix, title) values ('shop', 'shop', 'x')`
	rolled := errors.New("rolled back")
	require.ErrorIs(t, store.InTx(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insert)
		require.NoError(t, err)
		return rolled
	}), rolled)
	_, err := db.Exec(ctx, insert)
	require.NoError(t, err)
	require.Empty(t, store.ConstraintName(err))
	_, err = db.Exec(ctx, insert)
	require.Equal(t, "products_pkey", store.ConstraintName(err))
}
