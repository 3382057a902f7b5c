package logid

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// The 64 bits of an event id that the hub chose contain its time and its generator. So
// they are unique without coordination and need no index: the time leads to the event's
// seq.
//
//	41 bits  milliseconds since 2020-01-01 UTC (until 2089)
//	10 bits  node: which generator made it
//	13 bits  counter within the millisecond
const (
	counterBits = 13
	nodeBits    = 10

	// Nodes is the number of nodes; node numbers are taken modulo Nodes.
	Nodes = 1 << nodeBits
)

var eventEpoch = uint64(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())

// stepBack is how many milliseconds the clock may go back before a generator takes a new
// node. During shorter steps it makes ids of the last millisecond.
const stepBack = 1000

// EventIDs makes event ids. It is safe for concurrent use.
type EventIDs struct {
	node func(context.Context) (uint64, error)

	mu      sync.Mutex
	known   bool
	number  uint64 // node
	last    uint64 // milliseconds since eventEpoch
	counter uint64
}

// NewEventIDs returns a generator. node returns a number that no other generator has; it is
// called again whenever the clock went back.
func NewEventIDs(node func(context.Context) (uint64, error)) *EventIDs {
	return &EventIDs{node: node}
}

// Next returns the id of an event that happens now. at equals now unless the clock went
// back.
func (g *EventIDs) Next(ctx context.Context, now time.Time) (bits uint64, at time.Time, err error) {
	ms := uint64(max(0, now.UnixMilli())) - eventEpoch
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known || ms+stepBack < g.last {
		number, err := g.node(ctx)
		if err != nil {
			return 0, at, fmt.Errorf("getting a number for event ids: %w", err)
		}
		g.known, g.number, g.last, g.counter = true, number%Nodes, ms, 0
	}
	switch {
	case ms > g.last:
		g.last, g.counter = ms, 0
	case g.counter == 1<<counterBits-1:
		g.last, g.counter = g.last+1, 0
	default:
		g.counter++
	}
	if g.last != ms {
		now = time.UnixMilli(int64(g.last + eventEpoch))
	}
	return g.last<<(nodeBits+counterBits) | g.number<<counterBits | g.counter, now, nil
}

// EventSpan returns the range of the seq of an event whose id the hub chose; upto is
// exclusive. The range of an id that a publisher chose is meaningless.
func EventSpan(bits uint64) (from, upto uuid.UUID) {
	at := time.UnixMilli(int64(bits>>(nodeBits+counterBits) + eventEpoch))
	return Floor(at), Floor(at.Add(time.Millisecond))
}
