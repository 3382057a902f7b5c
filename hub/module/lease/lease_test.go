package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/lease"
)

const (
	renewal = 5 * time.Second
	giveUp  = 11 * time.Second
)

// server is where a lease is renewed.
type server struct {
	renewals atomic.Int64
	answer   atomic.Pointer[answer]
}

type answer func(ctx context.Context) (bool, error)

func answering(a answer) *server {
	s := &server{}
	s.answer.Store(&a)
	return s
}

func (s *server) renew(ctx context.Context) (bool, error) {
	s.renewals.Add(1)
	return (*s.answer.Load())(ctx)
}

func isHeld(context.Context) (bool, error)    { return true, nil }
func isLost(context.Context) (bool, error)    { return false, nil }
func isAway(context.Context) (bool, error)    { return false, errors.New("no connection") }
func hangs(ctx context.Context) (bool, error) { <-ctx.Done(); return true, ctx.Err() }
func keep(ctx context.Context, s *server) (context.Context, func()) {
	return lease.Keep(ctx, time.Now(), lease.Terms{Renew: renewal, GiveUp: giveUp}, s.renew)
}

// pass lets time pass on the clock of synctest: nothing waits for it.
func pass(d time.Duration) { <-time.After(d) }

// A lease is renewed for as long as the work takes, and not after it.
func TestRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := answering(isHeld)
		working, stop := keep(t.Context(), s)
		pass(time.Hour + time.Second)
		require.NoError(t, working.Err())
		require.EqualValues(t, 720, s.renewals.Load())
		stop()
		require.ErrorIs(t, context.Cause(working), context.Canceled)
		pass(time.Hour)
		require.EqualValues(t, 720, s.renewals.Load())
	})
}

// The work ends at once when another holder has the lease, and in time when nobody knows.
func TestWorkEndsWhenLeaseIsLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer answer
		after  time.Duration
	}{"another's": {isLost, renewal}, "refused": {isAway, giveUp}, "hanging": {hangs, giveUp}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := answering(isHeld)
				began := time.Now()
				working, stop := keep(t.Context(), s)
				defer stop()
				pass(2*renewal + time.Second)
				s.answer.Store(&tc.answer)
				<-working.Done()
				require.ErrorIs(t, context.Cause(working), lease.ErrLost)
				require.Equal(t, 2*renewal+tc.after, time.Since(began))
			})
		})
	}
}

// What fails for a moment is tried again.
func TestAwayForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := answering(isAway)
		working, stop := keep(t.Context(), s)
		defer stop()
		pass(giveUp - time.Second/2)
		held := answer(isHeld)
		s.answer.Store(&held)
		pass(time.Hour)
		require.NoError(t, working.Err())
	})
}

// Work that goes on after its context has ended keeps the lease.
func TestKeptWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := answering(isHeld)
		working, stop := keep(ctx, s)
		cancel()
		require.ErrorIs(t, working.Err(), context.Canceled)
		pass(time.Minute + time.Second)
		require.EqualValues(t, 12, s.renewals.Load())
		stop()
	})
}
