package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How long a probe waits for an answer. A load balancer waits for a second or two.
const (
	databasePing = 900 * time.Millisecond
	redisPing    = 400 * time.Millisecond // only reported
)

// errNoAnswer is the error of a dependency that did not answer in time.
var errNoAnswer = errors.New("no response in time")

// dependency is a server that is probed. At most one probe runs: clients of servers that hang
// may ignore their contexts for long.
type dependency struct {
	mu      sync.Mutex
	current *pendingProbe // nil: no probe runs
}

// pendingProbe is a probe that has been started. Its error is valid once done is closed.
type pendingProbe struct {
	done chan struct{}
	err  error
}

// probe starts a probe and returns it, or the one that runs.
func (d *dependency) probe(check func() error) *pendingProbe {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		return d.current
	}
	answer := &pendingProbe{done: make(chan struct{})}
	d.current = answer
	go func() {
		answer.err = check()
		d.mu.Lock()
		d.current = nil
		d.mu.Unlock()
		close(answer.done)
	}()
	return answer
}

// await returns the probe's error, or errNoAnswer if it does not end within limit.
func (a *pendingProbe) await(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-a.done:
		return a.err
	case <-timer.C:
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}
