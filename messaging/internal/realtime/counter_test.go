package realtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A user and a company have so many streams at once; those that end leave room for others.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := &Service{}
	var ends []func()
	for i := range int64(streamsPerCompany) {
		end, err := s.Begin(1, i/streamsPerUser)
		require.NoError(t, err)
		ends = append(ends, end)
	}
	_, err := s.Begin(1, 1000)
	require.ErrorIs(t, err, hub.ErrRateLimited, "the company")
	_, err = s.Begin(2, 0)
	require.ErrorIs(t, err, hub.ErrRateLimited, "the user")
	end, err := s.Begin(2, 2000)
	require.NoError(t, err, "another company")
	end()
	for range 2 { // the second time has no effect
		ends[0]()
	}
	_, err = s.Begin(1, 0)
	require.NoError(t, err)
	_, err = s.Begin(1, 1000)
	require.ErrorIs(t, err, hub.ErrRateLimited)
	for _, end := range ends {
		end()
	}
	require.Equal(t, map[int64]int{0: 1}, s.counter.users)
	require.Equal(t, map[int64]int{1: 1}, s.counter.companies)
}
