package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"integrationhub/hub"
)

// Bounds of a gate.
const (
	maxWaiting        = 1000
	maxWaitingAddress = 32 // of one address
	knownTurns        = 3  // known requesters that go before a stranger that waits too
	strangerWait      = 5 * time.Second
)

// requester is what asks for a slot, such as that of a password hash.
type requester struct {
	// Known requesters go first and wait as long as their context allows: logged-in callers,
	// and accounts at an address from which they logged in before. Others, strangers, are
	// refused if too many of them wait, or for too long.
	isKnown bool
	name    string // takes turns with others: a stranger's address, or a known account
}

// turnGate grants slots: to known requesters before strangers, and to the requesters of each
// kind in turns. So a flood of logins waits by itself.
type turnGate struct {
	slots         int // granted at the same time
	strangerSlots int // of these for strangers, however many addresses they have

	mu        sync.Mutex
	running   int
	strangers int // of running
	turns     int // of known requesters since a stranger's
	waiting   struct{ known, strangers turnQueue }
}

// acquire waits for a slot; release frees it. A stranger that has to wait for too long gets
// a [hub.ErrUnavailable].
func (g *turnGate) acquire(ctx context.Context, from requester) (release func(), err error) {
	waiter, err := g.enqueue(from)
	if err != nil {
		return nil, err
	}
	var timeout <-chan time.Time
	if !from.isKnown {
		timer := time.NewTimer(strangerWait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-waiter.granted:
		return sync.OnceFunc(func() { g.release(from) }), nil
	case <-ctx.Done():
		g.leave(waiter)
		return nil, fmt.Errorf("waiting for a login before this one: %w", ctx.Err())
	case <-timeout:
		g.leave(waiter)
		return nil, tooManyWaiting()
	}
}

func tooManyWaiting() error {
	busy := hub.Errorf(hub.ErrUnavailable, "busy", "Too many logins at once; try again in a moment.")
	busy.RetryAfter = strangerWait
	return busy
}

func (g *turnGate) enqueue(from requester) (*gateWaiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := g.lineOf(from)
	if !from.isKnown && (line.length >= maxWaiting || len(line.byName[from.name]) >= maxWaitingAddress) {
		return nil, tooManyWaiting()
	}
	waiter := &gateWaiter{requester: from, granted: make(chan struct{})}
	line.push(waiter)
	g.grant()
	return waiter, nil
}

func (g *turnGate) lineOf(from requester) *turnQueue {
	if from.isKnown {
		return &g.waiting.known
	}
	return &g.waiting.strangers
}

func (g *turnGate) release(from requester) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.releaseLocked(from)
}

// leave removes a waiter that gave up, or frees the slot that it was granted meanwhile.
func (g *turnGate) leave(waiter *gateWaiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lineOf(waiter.requester).remove(waiter) {
		g.releaseLocked(waiter.requester)
	}
}

// releaseLocked frees a slot; g.mu is held.
func (g *turnGate) releaseLocked(from requester) {
	g.running--
	if !from.isKnown {
		g.strangers--
	}
	g.grant()
}

// grant hands out the free slots.
func (g *turnGate) grant() {
	for g.running < g.slots {
		known, strangers := &g.waiting.known, &g.waiting.strangers
		strangerMay := strangers.length > 0 && g.strangers < g.strangerSlots
		switch {
		case known.length > 0 && (!strangerMay || g.turns < knownTurns):
			g.turns++
			close(known.pop().granted)
		case strangerMay:
			g.turns = 0
			g.strangers++
			close(strangers.pop().granted)
		default:
			return
		}
		g.running++
	}
}

// length returns how many requesters wait.
func (g *turnGate) length() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.known.length + g.waiting.strangers.length
}

type gateWaiter struct {
	requester

	granted chan struct{} // closed when the waiter has a slot
}

// turnQueue holds waiters. Names take turns; the waiters of one name go in their order.
type turnQueue struct {
	byName map[string][]*gateWaiter
	names  []string // with waiters, the next one first
	length int
}

func (l *turnQueue) push(waiter *gateWaiter) {
	if l.byName == nil {
		l.byName = make(map[string][]*gateWaiter)
	}
	if len(l.byName[waiter.name]) == 0 {
		l.names = append(l.names, waiter.name)
	}
	l.byName[waiter.name] = append(l.byName[waiter.name], waiter)
	l.length++
}

func (l *turnQueue) pop() *gateWaiter {
	name := l.names[0]
	l.names = l.names[1:]
	first := l.byName[name][0]
	if rest := l.byName[name][1:]; len(rest) > 0 {
		l.byName[name] = rest
		l.names = append(l.names, name)
	} else {
		delete(l.byName, name)
	}
	l.length--
	return first
}

// remove removes a waiter. It reports false for one that is not there any more.
func (l *turnQueue) remove(waiter *gateWaiter) bool {
	line := l.byName[waiter.name]
	i := slices.Index(line, waiter)
	if i < 0 {
		return false
	}
	if line = slices.Delete(line, i, i+1); len(line) > 0 {
		l.byName[waiter.name] = line
	} else {
		delete(l.byName, waiter.name)
		l.names = slices.DeleteFunc(l.names, func(name string) bool { return name == waiter.name })
	}
	l.length--
	return true
}
