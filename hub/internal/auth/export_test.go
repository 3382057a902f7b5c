package auth

import "context"

// Gate is a [turnGate].
type Gate struct{ turnGate }

// NewGate returns a gate.
func NewGate(slots, strangerSlots int) *Gate {
	return &Gate{turnGate{slots: slots, strangerSlots: strangerSlots}}
}

// Acquire waits for a slot.
func (g *Gate) Acquire(ctx context.Context, known bool, name string) (release func(), err error) {
	return g.acquire(ctx, requester{known, name})
}

// Waiting returns how many requesters wait.
func (g *Gate) Waiting() int { return g.length() }
