package delivery

import (
	"time"

	"github.com/google/uuid"
)

// TakeBack parks those of the deliveries that wait in this process: the replay that sent
// them was cancelled. Those under way go on.
func (d *Dispatcher) TakeBack(ids []uuid.UUID) {
	wanted := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	var taken []LeasedDelivery
	d.mu.Lock()
	for id, leasedAt := range d.takenBack { // nobody waits any more
		if d.Now().Sub(leasedAt) > 2*LeaseDuration {
			delete(d.takenBack, id)
		}
	}
	for _, l := range d.lanes {
		for i := range l.queues {
			for _, delivery := range l.queues[i].waiting() {
				if !wanted[delivery.ID] || delivery.Spent > 0 || d.takenBack[delivery.ID].Equal(delivery.LeasedAt) {
					continue
				}
				if d.takenBack == nil {
					d.takenBack = make(map[uuid.UUID]time.Time)
				}
				d.takenBack[delivery.ID] = delivery.LeasedAt
				taken = append(taken, delivery)
			}
		}
	}
	d.hasTakenBack.Store(len(d.takenBack) > 0)
	d.mu.Unlock()
	for _, delivery := range taken {
		d.Attempts.Record(AttemptResult{LeasedDelivery: delivery, Decision: Decision{Status: Parked, Spent: delivery.Spent, Reason: ReasonReplayCancelled}})
	}
}

// isTakenBack reports whether a delivery was parked while it waited here.
func (d *Dispatcher) isTakenBack(delivery LeasedDelivery) bool {
	if !d.hasTakenBack.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	leasedAt, found := d.takenBack[delivery.ID]
	if !found || !leasedAt.Equal(delivery.LeasedAt) {
		return false
	}
	delete(d.takenBack, delivery.ID)
	d.hasTakenBack.Store(len(d.takenBack) > 0)
	return true
}
