package turns_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module/turns"
)

// A gate lets so many in at once and the next ones as places become free. Whoever waits too long,
// or finds too many waiting, is refused; others do not notice.
func TestGate(t *testing.T) {
	t.Parallel()
	const waiting = 128
	synctest.Test(t, func(t *testing.T) {
		g := turns.New(turns.Limits{MaxActive: 2, MaxWaiting: waiting, MaxWait: 2 * time.Second})
		leave, err := g.Enter(t.Context(), "a")
		require.NoError(t, err)
		_, err = g.Enter(t.Context(), "a")
		require.NoError(t, err)
		_, err = g.Enter(t.Context(), "b")
		require.NoError(t, err, "another tenant")

		start := time.Now()
		_, err = g.Enter(t.Context(), "a")
		require.ErrorIs(t, err, hub.ErrRateLimited)
		require.Equal(t, 2*time.Second, time.Since(start))

		time.AfterFunc(time.Second, leave)
		start = time.Now()
		leave, err = g.Enter(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(start))

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = g.Enter(ended, "a")
		require.ErrorIs(t, err, context.Canceled)

		refused := make(chan error, waiting)
		for range waiting {
			go func() {
				_, err := g.Enter(t.Context(), "a")
				refused <- err
			}()
		}
		synctest.Wait()
		start = time.Now()
		_, err = g.Enter(t.Context(), "a")
		require.ErrorIs(t, err, hub.ErrRateLimited)
		require.Zero(t, time.Since(start), "too many wait")
		for range waiting {
			require.ErrorIs(t, <-refused, hub.ErrRateLimited)
		}
		leave()
		_, err = g.Enter(t.Context(), "a")
		require.NoError(t, err)
	})
}
