package tx_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/hub/module/tx"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// newHost returns a host on a database with two rows to lock.
func newHost(t *testing.T) module.Host {
	t.Helper()
	host := module.Host{Pool: hubtest.Database(t), Now: time.Now}
	_, err := host.Pool.Exec(t.Context(), `create table counters (id int primary key, n int not null); insert into counters values (1, 0), (2, 0)`)
	require.NoError(t, err)
	return host
}

func increment(ctx context.Context, tx *tx.Tx, id int) error {
	_, err := tx.Raw.Exec(ctx, `update counters set n = n + 1 where id = $1`, id)
	return err
}

func counters(t *testing.T, host module.Host) (first, second int) {
	t.Helper()
	require.NoError(t, host.Pool.QueryRow(t.Context(), `select max(n) filter (where id = 1), max(n) filter (where id = 2) from counters`).Scan(&first, &second))
	return first, second
}

func TestRunAgainAfterDeadlock(t *testing.T) {
	t.Parallel()
	host := newHost(t)
	var bothHold sync.WaitGroup
	bothHold.Add(2)
	var attempts [2]int
	ended := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	errs := make(chan error, 2)
	for i := range 2 {
		go func() {
			defer close(ended[i])
			errs <- tx.Run(t.Context(), host, "counting", func(tx *tx.Tx) error {
				if attempts[i]++; attempts[i] > 1 { // on a busy machine the two could meet again
					<-ended[1-i]
				}
				if err := increment(t.Context(), tx, 1+i); err != nil {
					return err
				}
				if attempts[i] == 1 { // both hold their first row before either wants the other's
					bothHold.Done()
					bothHold.Wait()
				}
				return increment(t.Context(), tx, 2-i)
			})
		}()
	}
	require.NoError(t, <-errs)
	require.NoError(t, <-errs)
	require.Equal(t, 3, attempts[0]+attempts[1], "PostgreSQL ends one of the two, once")
	first, second := counters(t, host)
	require.Equal(t, [2]int{2, 2}, [2]int{first, second})
}

func TestRunFailsAfterTooManyConflicts(t *testing.T) {
	t.Parallel()
	host := newHost(t)
	attempts := 0
	err := tx.Run(t.Context(), host, "counting", func(tx *tx.Tx) error {
		attempts++
		_, err := tx.Raw.Exec(t.Context(), `do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
		return err
	})
	require.ErrorIs(t, err, hub.ErrUnavailable)
	require.Equal(t, 5, attempts)
}

func TestRunRollsBack(t *testing.T) {
	t.Parallel()
	host := newHost(t)
	refused := errors.New("refused")
	attempts := 0
	err := tx.Run(t.Context(), host, "counting", func(tx *tx.Tx) error {
		attempts++
		if err := increment(t.Context(), tx, 1); err != nil {
			return err
		}
		return refused
	})
	require.ErrorIs(t, err, refused)
	require.Equal(t, 1, attempts)
	first, _ := counters(t, host)
	require.Zero(t, first)
}
