package driver

import (
	"net/http"
	"strconv"
	"time"
)

// RetryLaterError is an error of a network that said how long it wants to be left alone.
type RetryLaterError struct {
	After time.Duration
	Err   error // of the network
}

// Error implements error.
func (e *RetryLaterError) Error() string { return e.Err.Error() }

// Unwrap returns the network's error.
func (e *RetryLaterError) Unwrap() error { return e.Err }

// WithRetryAfter returns the error of a response as a [RetryLaterError] if the response is a 429
// with the header Retry-After, in seconds or as a date; else the error itself. A 503 is a network
// that does not respond: its connection waits until it does, and no single message for longer.
func WithRetryAfter(err error, response *http.Response, now time.Time) error {
	if response.StatusCode != http.StatusTooManyRequests {
		return err
	}
	if after := parseRetryAfter(response.Header.Get("Retry-After"), now); after > 0 {
		return &RetryLaterError{after, err}
	}
	return err
}

// maxSeconds keeps a number of seconds within a [time.Duration].
const maxSeconds = 1 << 31

// parseRetryAfter returns the time that a header names; 0 = none.
func parseRetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(seconds, maxSeconds)) * time.Second
	}
	if until, err := http.ParseTime(header); err == nil {
		return until.Sub(now)
	}
	return 0
}
