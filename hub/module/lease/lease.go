// Package lease keeps a lease while its holder works: it renews the lease in time, and cancels
// the work before another process can claim the lease.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"
)

// retryInterval is the time between attempts to renew, after one that failed.
const retryInterval = time.Second

// ErrLost is the cause with which a context ends when its lease may be another process's.
var ErrLost = errors.New("another process may have the lease now")

// NewHolder returns a name for the leases of this process, or of a part of it. No other
// holder has it. It begins with the process's id and a hyphen.
func NewHolder() string { return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()) }

// Terms say how a lease is kept. Times are on this process's clock, whichever one the lease
// itself is on.
type Terms struct {
	Renew  time.Duration // time between renewals
	GiveUp time.Duration // time without a renewal after which the work ends. What is left of the lease then is the time for its end.
}

// Keep renews a lease until stop is called, even after ctx has ended, because work may need
// time to end. claimed is a time before the lease was claimed. renew renews the lease and reports
// whether that was possible. The context that Keep returns ends with ctx, with stop, and,
// with the cause [ErrLost], when renew has reported false or has failed for too long.
func Keep(ctx context.Context, claimed time.Time, terms Terms, renew func(context.Context) (isHeld bool, err error)) (working context.Context, stop func()) {
	working, lose := context.WithCancelCause(ctx)
	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if !keepRenewing(renewing, claimed, terms, renew) {
			lose(ErrLost)
		}
	}()
	return working, func() {
		cancel()
		<-stopped
		lose(nil)
	}
}

// keepRenewing renews a lease until ctx ends. It returns false when the lease is lost.
func keepRenewing(ctx context.Context, renewed time.Time, terms Terms, renew func(context.Context) (bool, error)) bool {
	timer := time.NewTimer(terms.Renew)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case <-timer.C:
		}
		began, end := time.Now(), renewed.Add(terms.GiveUp)
		calling, cancel := context.WithDeadline(ctx, end)
		isHeld, err := renew(calling)
		cancel()
		switch {
		case ctx.Err() != nil:
			return true
		case err == nil && isHeld:
			renewed = began
			timer.Reset(terms.Renew)
		case err == nil || time.Until(end) <= 0:
			return false
		default:
			timer.Reset(min(retryInterval, time.Until(end)))
		}
	}
}
