package scrape_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/scrape"
)

// A value is read again when it is too old. It stays while it cannot be read, and is then tried
// each time.
func TestValue(t *testing.T) {
	t.Parallel()
	now, reads, fails := time.Now(), 0, error(nil)
	value := scrape.NewValue(time.Minute, func() time.Time { return now }, func(ctx context.Context) (int, error) {
		_, isBounded := ctx.Deadline()
		require.True(t, isBounded)
		reads++
		return 10 * reads, fails
	})
	require.Equal(t, 10, value.Get())
	now = now.Add(time.Minute)
	require.Equal(t, 10, value.Get())
	now, fails = now.Add(time.Second), errors.New("the database is away")
	require.Equal(t, []int{10, 10}, []int{value.Get(), value.Get()})
	require.Equal(t, 3, reads)
	fails = nil
	require.Equal(t, []int{40, 40}, []int{value.Get(), value.Get()})
}
