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
var errNoAnswer = errors.New("no answer in time")

// dependency is a server that probes ask. At most one question is on its way: clients of
// servers that hang may ignore their contexts for long.
type dependency struct {
	mu      sync.Mutex
	current *pendingAnswer // nil: nothing is asked
}

// pendingAnswer is the answer to a question, once done is closed.
type pendingAnswer struct {
	done chan struct{}
	err  error
}

// ask asks a question, unless one is on its way: then that one counts.
func (d *dependency) ask(question func() error) *pendingAnswer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		return d.current
	}
	answer := &pendingAnswer{done: make(chan struct{})}
	d.current = answer
	go func() {
		answer.err = question()
		d.mu.Lock()
		d.current = nil
		d.mu.Unlock()
		close(answer.done)
	}()
	return answer
}

// await returns the answer's error, or errNoAnswer if there is none within a limit.
func (a *pendingAnswer) await(ctx context.Context, limit time.Duration) error {
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
