// Package delivery sends committed deliveries to their receivers: it dispatches them
// fairly, signs and sends them, retries, and parks what cannot be delivered.
package delivery

import (
	"context"
	"fmt"
	"maps"
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

	// claimTimeout bounds a claim: the connection may be cut, and the lease is over by then.
	claimTimeout = LeaseDuration
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
	LeaseEnd        time.Time        // of the row's lease; database clock; zero where CommitLease covers the delivery
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

// releaseExpired releases deliveries that could not start in time, as when other
// processes had most of a paced target's turns: nobody has to wait for the lease's end.
func (d *Dispatcher) releaseExpired(ctx context.Context) error {
	d.mu.Lock()
	expired := d.stillLeased(d.expired)
	d.expired = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, releaseMargin)
	defer cancel()
	err := d.ReleaseLeases(ctx, expired)
	if err != nil {
		d.giveBack(expired...)
	}
	return err
}

// giveBack has the sweep release deliveries that this process has leased and does not attempt.
func (d *Dispatcher) giveBack(deliveries ...LeasedDelivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expired = append(d.expired, deliveries...)
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

// releaseSQL makes rows due again at once that this process has leased: another one may have
// claimed them since, and then the lease has another end. The leases of rows that another
// transaction holds run out instead: nobody waits for that one.
const releaseSQL = `
	update hub.deliveries d set due_at = now() where d.id in (
		select d.id from unnest($1::uuid[], $2::timestamptz[]) r(id, lease_end) join hub.deliveries d on d.id = r.id
		where d.status + 0 = 0 and d.next_attempt_at is null
			and (d.due_at = r.lease_end or r.lease_end is null and ` + isLeasedSinceCommitSQL + `)
		for update of d skip locked)`

// ReleaseLeases makes deliveries that will not be attempted here due again at once, those whose
// retry is not due yet with their retry.
func (d *Dispatcher) ReleaseLeases(ctx context.Context, deliveries []LeasedDelivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	ids, ends := make([]uuid.UUID, len(deliveries)), make([]*time.Time, len(deliveries))
	leases := make(map[uuid.UUID]bool)
	for i, delivery := range deliveries {
		ids[i] = delivery.ID
		if delivery.CommitLease != nil {
			leases[delivery.CommitLease.ID] = true
		} else {
			ends[i] = &delivery.LeaseEnd
		}
	}
	statements := &pgx.Batch{}
	statements.Queue(`select hub.unfold_leases($1)`, slices.Collect(maps.Keys(leases)))
	statements.Queue(releaseSQL, ids, ends)
	if err := d.Pool.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("releasing leases: %w", err)
	}
	return nil
}
