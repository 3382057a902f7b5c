package delivery

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
)

const (
	claimBatch         = 512 // rows of one priority taken from the database at once
	maxTargetsPerClaim = 32
)

// queueClaim queues a lane whose due rows are to be claimed. The caller holds mu.
func (d *Dispatcher) queueClaim(l *lane) {
	if l.awaitsClaim {
		return
	}
	l.awaitsClaim = true
	t := l.tenant
	t.claims.push(l)
	if !t.inClaims {
		t.inClaims = true
		d.claimTurns.push(t)
	}
	d.signalClaims()
}

// signalClaims makes the sweep run a round of claims.
func (d *Dispatcher) signalClaims() {
	select {
	case d.claimSignal <- struct{}{}:
	default:
	}
}

// nextClaims takes the lanes of the next round: from the tenants in turn, and from each
// tenant's lanes in turn. The caller holds mu.
func (d *Dispatcher) nextClaims() []*lane {
	var lanes []*lane
	for d.claimTurns.len() > 0 && len(lanes) < maxTargetsPerClaim {
		t := d.claimTurns.pop()
		l := t.claims.pop()
		l.awaitsClaim = false
		lanes = append(lanes, l)
		if t.inClaims = t.claims.len() > 0; t.inClaims {
			d.claimTurns.push(t)
		}
	}
	if d.claimTurns.len() > 0 {
		d.signalClaims()
	}
	return lanes
}

// claimRequest asks for due rows of one lane and priority.
type claimRequest struct {
	lane     *lane
	priority hub.Priority
	places   int // reserved
}

// claimRound claims due rows of some lanes in one statement: of each as many as there are
// places for, within its share of the round.
func (d *Dispatcher) claimRound(ctx context.Context) error {
	if !d.beginClaim() {
		return nil
	}
	defer d.endClaim()
	d.mu.Lock()
	lanes := d.nextClaims()
	d.mu.Unlock()
	receivers := make([]*directory.Target, len(lanes))
	for i, l := range lanes {
		receivers[i] = d.receiverOf(ctx, l.target)
	}
	requests := d.reserveClaims(lanes, receivers)
	if len(requests) == 0 {
		return nil
	}
	targets, priorities, places := make([]uuid.UUID, len(requests)), make([]int16, len(requests)), make([]int32, len(requests))
	for i, request := range requests {
		targets[i], priorities[i], places[i] = request.lane.target, int16(request.priority), int32(request.places)
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	deliveries, err := d.claim(ctx, claimTargetsSQL, targets, priorities, places)
	d.settleClaims(requests, deliveries, err != nil)
	d.Dispatch(deliveries, nil)
	return err
}

// receiverOf returns the endpoint or integration of a target; nil if there is none, or it
// cannot be read now.
func (d *Dispatcher) receiverOf(ctx context.Context, target uuid.UUID) *directory.Target {
	for _, isIntegration := range []bool{false, true} {
		receiver, err := d.Directory.Target(ctx, target, isIntegration)
		if err == nil && receiver != nil {
			return receiver
		}
	}
	return nil
}

// reserveClaims reserves places for the lanes of a round. Lanes without a place get their
// turn when there is one.
func (d *Dispatcher) reserveClaims(lanes []*lane, receivers []*directory.Target) []claimRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	var requests []claimRequest
	for i, l := range lanes {
		var interval time.Duration // an unreadable target waits for the configuration, not for a turn
		if receiver := receivers[i]; receiver != nil {
			interval = paceInterval(receiver)
			l = d.laneOf(l.target, receiver.TenantID)
			l.tenant.limits = receiver.Limits
		}
		l.interval = interval
		for _, priority := range claimOrder {
			if !l.backlog.has(priority) {
				continue
			}
			wanted := claimBatch / len(lanes)
			if priority == hub.PriorityHigh {
				wanted = min(wanted, maxHighPlaces)
			}
			if places := d.reserveUpTo(l, priority, wanted); places > 0 {
				requests = append(requests, claimRequest{l, priority, places})
				l.backlog &^= setOf(priority) // until the rows are seen; set again by who stores others meanwhile
			}
		}
	}
	return requests
}

// settleClaims releases the places that were not needed, and queues the lanes again that
// may have more due rows.
func (d *Dispatcher) settleClaims(requests []claimRequest, deliveries []LeasedDelivery, failed bool) {
	type claimed struct {
		target   uuid.UUID
		priority hub.Priority
	}
	counts := make(map[claimed]int, len(requests))
	for _, delivery := range deliveries {
		counts[claimed{delivery.TargetID, delivery.Priority}]++
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, request := range requests {
		l, count := request.lane, counts[claimed{request.lane.target, request.priority}]
		d.release(l, request.priority, request.places-count)
		switch {
		case failed:
			l.backlog |= setOf(request.priority) // the next sweep tries again
		case count == request.places:
			l.backlog |= setOf(request.priority)
			if d.freePlaces(l, request.priority) > 0 {
				d.queueClaim(l)
			}
		}
	}
}
