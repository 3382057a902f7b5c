package productapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A gate lets so many in at once and the next ones as places become free. Whoever waits too long,
// or finds too many waiting, is refused; others do not notice.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 2*time.Second)
		leave, err := g.enter(t.Context(), "a")
		require.NoError(t, err)
		_, err = g.enter(t.Context(), "a")
		require.NoError(t, err)
		_, err = g.enter(t.Context(), "b")
		require.NoError(t, err, "another tenant")

		start := time.Now()
		_, err = g.enter(t.Context(), "a")
		require.ErrorIs(t, err, hub.ErrRateLimited)
		require.Equal(t, 2*time.Second, time.Since(start))

		time.AfterFunc(time.Second, leave)
		start = time.Now()
		leave, err = g.enter(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(start))

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = g.enter(ended, "a")
		require.ErrorIs(t, err, context.Canceled)

		refused := make(chan error, maxWaiting)
		for range maxWaiting {
			go func() {
				_, err := g.enter(t.Context(), "a")
				refused <- err
			}()
		}
		synctest.Wait()
		start = time.Now()
		_, err = g.enter(t.Context(), "a")
		require.ErrorIs(t, err, hub.ErrRateLimited)
		require.Zero(t, time.Since(start), "too many wait")
		for range maxWaiting {
			require.ErrorIs(t, <-refused, hub.ErrRateLimited)
		}
		leave()
		_, err = g.enter(t.Context(), "a")
		require.NoError(t, err)
	})
}
