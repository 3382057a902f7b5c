// Package delivery sends committed deliveries to their receivers: it dispatches them
// fairly, signs and sends them, retries, and parks what cannot be delivered.
package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
)

// LeaseDuration is how long a delivery belongs to the process that claimed it, by the
// database's clock. It must equal the 30 seconds in claim.go and in the default of
// hub.leases.due_at. An attempt that did not start within startWithin is not made, so
// that attempts (HUB_DELIVERY_TIMEOUT, 14 s at most) end before another process may claim the row.
const (
	LeaseDuration = 30 * time.Second
	startWithin   = 15 * time.Second

	// MaterializeAfter is how long the lease of a commit covers deliveries: most are settled
	// within milliseconds, and the others should be visible in the log.
	MaterializeAfter = 2 * time.Second
)

// CommitLease is the row of hub.leases that covers the deliveries of one commit with a
// place in this process's queue. They have no rows of their own until they are settled
// or materialized.
type CommitLease struct {
	ID           uuid.UUID
	TakenAt      time.Time // local clock
	WithoutRow   int       // deliveries without a row, those of the view hub.promised; maintained by the log's writer alone
	Materialized bool      // all have rows now, or may have; set by the log's writer alone
}

// LeasedDelivery is a delivery whose lease this process holds.
type LeasedDelivery struct {
	ID              uuid.UUID
	TargetID        uuid.UUID
	IsIntegration   bool // Target is an integration, else an endpoint
	Priority        hub.Priority
	Event           *Event
	PriorAttempts   int              // attempts made so far
	CountedAttempts int              // of these, the ones that count against this round's four: the column spent
	RoundAt         time.Time        // when this round of attempts began; database clock, local clock before the first attempt
	ReadyAt         time.Time        // when the attempt became due; local clock
	LeasedAt        time.Time        // when the lease was requested; local clock
	CommitLease     *CommitLease     // covers a delivery without a row; nil: it has one
	OrderingKey     string           // by which it is the head of an order of its target; "": none
	Previous        *PreviousAttempt // the attempt before, of a delivery whose lease was kept; nil otherwise
	paced           bool             // has this process's turn at a paced target
}

// PreviousAttempt is what the row of a delivery says of its last attempt.
type PreviousAttempt struct {
	StatusCode int // 0 = no response
	Duration   time.Duration
}

// makeDue makes deliveries due again at once: they were leased but not attempted.
func (d *Dispatcher) makeDue(ctx context.Context, deliveries []LeasedDelivery) error {
	ids := make([]uuid.UUID, len(deliveries))
	var leases []uuid.UUID
	for i, delivery := range deliveries {
		ids[i] = delivery.ID
		if delivery.CommitLease != nil && !slices.Contains(leases, delivery.CommitLease.ID) {
			leases = append(leases, delivery.CommitLease.ID)
		}
	}
	statements := &pgx.Batch{}
	statements.Queue(`select hub.unfold_leases($1)`, leases)
	statements.Queue(`
		update hub.deliveries d set due_at = now()
		from unnest($1::uuid[]) u(id) where d.id = u.id and d.status + 0 = 0 and d.next_attempt_at is null`, ids)
	if err := d.Pool.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("releasing leases: %w", err)
	}
	return nil
}

// releaseExpired releases deliveries that could not start in time, as when other
// processes had most of a paced target's turns: nobody has to wait for the lease's end.
func (d *Dispatcher) releaseExpired(ctx context.Context) error {
	d.mu.Lock()
	expired := d.stillLeased(d.expired)
	d.expired = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, releaseMargin)
	defer cancel()
	return d.ReleaseLeases(ctx, expired)
}

// stillLeased returns the deliveries whose leases run for more than releaseMargin.
func (d *Dispatcher) stillLeased(deliveries []LeasedDelivery) []LeasedDelivery {
	var leased []LeasedDelivery
	for _, delivery := range deliveries {
		if d.Now().Sub(delivery.LeasedAt) < LeaseDuration-releaseMargin {
			leased = append(leased, delivery)
		}
	}
	return leased
}

// ReleaseLeases makes deliveries that will not be attempted here due again at once.
func (d *Dispatcher) ReleaseLeases(ctx context.Context, deliveries []LeasedDelivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	return d.makeDue(ctx, deliveries)
}
