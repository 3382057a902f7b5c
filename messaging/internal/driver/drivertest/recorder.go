package drivertest

import (
	"context"
	"errors"
	"sync"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// errSink is the error of a sink that cannot store.
var errSink = errors.New("the test's sink stores nothing")

// Recorder is a sink that stores in memory what the contract wants stored: the newest state
// of a connection, a message once by its remote id, and the farthest ack.
type Recorder struct {
	mu       sync.Mutex
	state    driver.ConnectionChange
	messages []driver.Incoming
	acks     map[string]chat.Ack
	failing  bool
}

// NewRecorder returns an empty sink.
func NewRecorder() *Recorder { return &Recorder{acks: make(map[string]chat.Ack)} }

var _ driver.Sink = (*Recorder)(nil)

// ChangeConnection implements [driver.Sink].
func (r *Recorder) ChangeConnection(_ context.Context, change driver.ConnectionChange) error {
	return r.store(func() {
		if change.Sequence == 0 || change.Sequence >= r.state.Sequence {
			change.Sequence = max(change.Sequence, r.state.Sequence)
			r.state = change
		}
	})
}

// ReceiveMessage implements [driver.Sink].
func (r *Recorder) ReceiveMessage(_ context.Context, m driver.Incoming) error {
	return r.store(func() {
		for _, known := range r.messages {
			if known.RemoteID == m.RemoteID {
				return
			}
		}
		r.messages = append(r.messages, m)
	})
}

// ReceiveReceipt implements [driver.Sink].
func (r *Recorder) ReceiveReceipt(_ context.Context, receipt driver.Receipt) error {
	return r.store(func() {
		for _, id := range receipt.RemoteIDs {
			if receipt.Ack.Follows(r.acks[id]) {
				r.acks[id] = receipt.Ack
			}
		}
	})
}

func (r *Recorder) store(change func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing {
		return errSink
	}
	change()
	return nil
}

// Fail makes the sink refuse everything, or take it again.
func (r *Recorder) Fail(fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = fails
}

// State returns the connection's state.
func (r *Recorder) State() driver.ConnectionChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Messages returns the stored messages.
func (r *Recorder) Messages() []driver.Incoming {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]driver.Incoming(nil), r.messages...)
}

// Ack returns how far a message has come.
func (r *Recorder) Ack(remoteID string) chat.Ack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acks[remoteID]
}
