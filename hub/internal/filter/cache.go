package filter

import "sync"

// maxCached bounds a cache. Beyond it the cache is emptied: what is in use is compiled again.
const maxCached = 10_000

// Cache holds one filter for each expression, so that an expression is compiled once however
// often its endpoints are loaded, and evaluated once for all endpoints that have it.
type Cache struct {
	mu      sync.Mutex
	filters map[string]*Filter
}

// Filter returns the filter of an expression; nil for "".
func (c *Cache) Filter(text string) *Filter {
	if text == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.filters[text]; f != nil {
		return f
	}
	if c.filters == nil || len(c.filters) >= maxCached {
		c.filters = make(map[string]*Filter)
	}
	f := New(text)
	c.filters[text] = f
	return f
}
