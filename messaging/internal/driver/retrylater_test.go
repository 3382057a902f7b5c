package driver_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver"
)

func TestWithRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	refusal := errors.New("too many")
	for _, tc := range []struct {
		status int
		header string
		after  time.Duration
	}{
		{429, "120", 2 * time.Minute}, {429, "7", 7 * time.Second}, {503, "7", 0}, {429, now.Add(time.Hour).Format(http.TimeFormat), time.Hour},
		{429, "99999999999999999", 1 << 31 * time.Second},
		{429, "", 0}, {429, "0", 0}, {429, "-5", 0}, {429, "soon", 0}, {429, now.Add(-time.Hour).Format(http.TimeFormat), 0}, {400, "120", 0}, {500, "120", 0},
	} {
		err := driver.WithRetryAfter(refusal, &http.Response{StatusCode: tc.status, Header: http.Header{"Retry-After": {tc.header}}}, now)
		require.ErrorIs(t, err, refusal)
		var later *driver.RetryLaterError
		require.Equal(t, tc.after > 0, errors.As(err, &later), tc)
		if later != nil {
			require.Equal(t, tc.after, later.After, tc)
		}
	}
}
