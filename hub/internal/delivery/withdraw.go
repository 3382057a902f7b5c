package delivery

import (
	"time"

	"github.com/google/uuid"
)

// ParkCancelled parks those of the deliveries that wait in this process: the replay that sent
// them was cancelled. Those under way go on.
func (d *Dispatcher) ParkCancelled(ids []uuid.UUID) {
	wanted := setOfIDs(ids)
	d.withdraw(func(delivery LeasedDelivery) bool { return wanted[delivery.ID] && delivery.CountedAttempts == 0 }, Parked, ReasonReplayCancelled)
}

// FailErased fails what waits in this process of events that were erased, so that nothing has
// to wait until it is their turn.
func (d *Dispatcher) FailErased(seqs []uuid.UUID) {
	erased := setOfIDs(seqs)
	d.withdraw(func(delivery LeasedDelivery) bool { return erased[delivery.Event.Seq] }, Failed, ReasonErased)
}

func setOfIDs(ids []uuid.UUID) map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// withdraw settles, without an attempt, the waiting deliveries that selects accepts.
func (d *Dispatcher) withdraw(selects func(LeasedDelivery) bool, status Status, reason string) {
	var withdrawn []LeasedDelivery
	d.mu.Lock()
	for id, leasedAt := range d.withdrawn { // its delivery left this process's queue long ago
		if d.Now().Sub(leasedAt) > 2*LeaseDuration {
			delete(d.withdrawn, id)
		}
	}
	for _, l := range d.lanes {
		for i := range l.queues {
			for _, delivery := range l.queues[i].waiting() {
				if !selects(delivery) || d.withdrawn[delivery.ID].Equal(delivery.LeasedAt) {
					continue
				}
				if d.withdrawn == nil {
					d.withdrawn = make(map[uuid.UUID]time.Time)
				}
				d.withdrawn[delivery.ID] = delivery.LeasedAt
				withdrawn = append(withdrawn, delivery)
			}
		}
	}
	d.hasWithdrawn.Store(len(d.withdrawn) > 0)
	d.mu.Unlock()
	for _, delivery := range withdrawn {
		d.Attempts.Record(AttemptResult{LeasedDelivery: delivery, Decision: Decision{Status: status, CountedAttempts: delivery.CountedAttempts, Reason: reason}})
	}
}

// isWithdrawn reports whether a delivery was settled while it waited here.
func (d *Dispatcher) isWithdrawn(delivery LeasedDelivery) bool {
	if !d.hasWithdrawn.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.takeWithdrawn(delivery)
}

// takeWithdrawn is isWithdrawn; the caller holds mu.
func (d *Dispatcher) takeWithdrawn(delivery LeasedDelivery) bool {
	leasedAt, found := d.withdrawn[delivery.ID]
	if !found || !leasedAt.Equal(delivery.LeasedAt) {
		return false
	}
	delete(d.withdrawn, delivery.ID)
	d.hasWithdrawn.Store(len(d.withdrawn) > 0)
	return true
}
