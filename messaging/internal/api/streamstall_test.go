package api_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A database that stalls for some seconds ends no stream: what happened meanwhile comes afterwards.
func TestStreamOutlivesAStall(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	stream, status := openStream(t, company, "", "Authorization", "Bearer "+company.Token)
	require.Equal(t, 200, status)
	stream.position()
	lock, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `lock table messaging.users in access exclusive mode`)
	require.NoError(t, err)
	for range 3 { // each after a check that has failed
		stream.position()
	}
	require.NoError(t, lock.Rollback(t.Context()))
	company.Connect()
	require.Equal(t, "connection", stream.next().Name)
}

// Streams that end together do not all come back together.
func TestStreamsComeBackAtDifferentTimes(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	times := make(map[int]bool)
	for range 6 {
		stream, _ := openStream(t, company, "", "Authorization", "Bearer "+company.Token)
		require.True(t, stream.lines.Scan())
		retry, err := strconv.Atoi(strings.TrimPrefix(stream.lines.Text(), "retry: "))
		require.NoError(t, err)
		require.GreaterOrEqual(t, retry, 1000)
		require.LessOrEqual(t, retry, 5000)
		times[retry] = true
		stream.cancel()
	}
	require.Greater(t, len(times), 1)
}
