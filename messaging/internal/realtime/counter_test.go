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
	var releases []func()
	for i := range int64(streamsPerCompany) {
		release, err := s.AcquireStream(1, i/streamsPerUser)
		require.NoError(t, err)
		releases = append(releases, release)
	}
	_, err := s.AcquireStream(1, 1000)
	require.ErrorIs(t, err, hub.ErrRateLimited, "the company")
	_, err = s.AcquireStream(2, 0)
	require.ErrorIs(t, err, hub.ErrRateLimited, "the user")
	release, err := s.AcquireStream(2, 2000)
	require.NoError(t, err, "another company")
	release()
	for range 2 { // the second time has no effect
		releases[0]()
	}
	_, err = s.AcquireStream(1, 0)
	require.NoError(t, err)
	_, err = s.AcquireStream(1, 1000)
	require.ErrorIs(t, err, hub.ErrRateLimited)
	for _, release := range releases {
		release()
	}
	require.Equal(t, map[int64]int{0: 1}, s.counter.users)
	require.Equal(t, map[int64]int{1: 1}, s.counter.companies)
}
