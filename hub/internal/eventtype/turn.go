package eventtype

import (
	"context"
	"time"

	"integrationhub/hub"
)

// LargeDataBytes is the size above which a check waits for its turn. The library makes an error for
// each item that does not agree: a megabyte of data can take more than a hundred megabytes.
const LargeDataBytes = 64 << 10

// largeChecks holds a place for each check of large data in this process. What has a place waits
// for nothing, and the steps of a check are bounded.
var largeChecks = make(chan struct{}, 2)

// MaxWait is how long a product's large data waits for its turn.
const MaxWait = 3 * time.Second

// Share is a product's share of the checks of large data: one at a time, so that others find a
// place.
type Share struct{ large chan struct{} }

// NewShare returns the share of a product.
func NewShare() *Share { return &Share{make(chan struct{}, 1)} }

// turn is what a check holds.
type turn struct {
	schema   *Schema
	instance *instance // nil: not compiled yet
	held     []chan struct{}
}

func (t *turn) end() {
	for _, places := range t.held {
		<-places
	}
	if t.schema != nil {
		t.schema.instances <- t.instance
	}
}

// takeTurn waits for what a check of data of a size needs. The place comes last: it is every
// product's, and must not be held by what still waits for its own product.
func (s *Schema) takeTurn(ctx context.Context, size int, share *Share) (*turn, error) {
	if size <= LargeDataBytes {
		return &turn{schema: s, instance: <-s.instances}, nil
	}
	t := &turn{}
	if share != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, MaxWait)
		defer cancel()
		if !t.hold(ctx, share.large) {
			return nil, t.abandon(ctx)
		}
	}
	if !t.takeInstance(ctx, s) || !t.hold(ctx, largeChecks) {
		return nil, t.abandon(ctx)
	}
	return t, nil
}

// hold takes one of the places, if there is one before ctx has ended. An ended context gets one
// that is free.
func (t *turn) hold(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
	default:
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	t.held = append(t.held, places)
	return true
}

// takeInstance is hold for a compiled copy of the schema.
func (t *turn) takeInstance(ctx context.Context, s *Schema) bool {
	select {
	case t.instance = <-s.instances:
	default:
		select {
		case t.instance = <-s.instances:
		case <-ctx.Done():
			return false
		}
	}
	t.schema = s
	return true
}

func (t *turn) abandon(ctx context.Context) error {
	t.end()
	return Busy(context.Cause(ctx))
}

// Busy returns the error of large data that got no turn.
func Busy(cause error) error {
	busy := hub.Errorf(hub.ErrUnavailable, "busy", "Too many large events are checked at once; send this again in a moment.")
	busy.RetryAfter = time.Second
	return busy.WithCause(cause)
}
