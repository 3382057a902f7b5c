package media

import (
	"sync"
	"time"

	"integrationhub/hub"
)

const (
	downloadsPerCompany = 3               // that a process makes at the same time
	retryDownload       = 5 * time.Second // until a company that has as many asks again
)

// downloadCounter counts the downloads of companies that are under way: each holds a request, and
// an address may answer slowly.
type downloadCounter struct {
	mu        sync.Mutex
	companies map[int64]int
}

// acquire counts a download of a company until release is called. Where the company has too many,
// it returns a [hub.ErrRateLimited].
func (c *downloadCounter) acquire(company int64) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.companies[company] >= downloadsPerCompany {
		err := hub.Errorf(hub.ErrRateLimited, "too_many_downloads", "The hub fetches %d files for the company already.", downloadsPerCompany)
		err.RetryAfter = retryDownload
		return nil, err
	}
	if c.companies == nil {
		c.companies = make(map[int64]int)
	}
	c.companies[company]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.companies[company]--; c.companies[company] == 0 {
			delete(c.companies, company)
		}
	}, nil
}
