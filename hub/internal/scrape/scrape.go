// Package scrape reads values from the database for the metrics, so that it makes no difference
// how often these are asked for.
package scrape

import (
	"context"
	"sync"
	"time"
)

// readTimeout bounds a read. Prometheus waits for ten seconds.
const readTimeout = 2 * time.Second

// Value is read when it is asked for, unless it was read a short while ago. It is safe for
// concurrent use.
type Value[T any] struct {
	maxAge time.Duration
	now    func() time.Time
	read   func(ctx context.Context) (T, error)
	mu     sync.Mutex
	readAt time.Time
	last   T
}

// NewValue returns a value that is at most maxAge old as long as read succeeds.
func NewValue[T any](maxAge time.Duration, now func() time.Time, read func(ctx context.Context) (T, error)) *Value[T] {
	return &Value[T]{maxAge: maxAge, now: now, read: read}
}

// Get returns the value; while it cannot be read, as it was read last.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now().Sub(v.readAt) > v.maxAge {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		if read, err := v.read(ctx); err == nil {
			v.last, v.readAt = read, v.now()
		}
	}
	return v.last
}
