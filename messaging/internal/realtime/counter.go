package realtime

import (
	"sync"
	"time"

	"integrationhub/hub"
)

// Streams that are open at once in each process. Browsers open a few for each user; what is above
// costs others.
const (
	streamsPerUser    = 10
	streamsPerCompany = 500
	retryStream       = 30 * time.Second // after which a refused stream may be tried again
)

// counter counts open streams. It is safe for concurrent use.
type counter struct {
	mu        sync.Mutex
	users     map[int64]int
	companies map[int64]int
}

// AcquireStream counts a stream of a user until release is called. Where a user or a company has
// too many, it returns a [hub.ErrRateLimited].
func (s *Service) AcquireStream(companyID, userID int64) (release func(), err error) {
	c := &s.counter
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.users[userID] >= streamsPerUser:
		return nil, errTooManyStreams("You have %d streams open; close one first.", streamsPerUser)
	case c.companies[companyID] >= streamsPerCompany:
		return nil, errTooManyStreams("Your company has %d streams open; close one first.", streamsPerCompany)
	}
	if c.users == nil {
		c.users, c.companies = make(map[int64]int), make(map[int64]int)
	}
	c.users[userID]++
	c.companies[companyID]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		decrement(c.users, userID)
		decrement(c.companies, companyID)
	}), nil
}

func decrement(counts map[int64]int, id int64) {
	if counts[id]--; counts[id] == 0 {
		delete(counts, id)
	}
}

func errTooManyStreams(format string, limit int) error {
	err := hub.Errorf(hub.ErrRateLimited, "too_many_streams", format, limit)
	err.RetryAfter = retryStream
	return err
}
