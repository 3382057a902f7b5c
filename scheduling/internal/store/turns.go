package store

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
)

// turns keeps clients who want one professional's time at the same moment from queueing
// for it in the database, where each would hold a connection, and make a client that is
// taken back again. It only saves work: what is booked is decided there.
type turns struct {
	mu       sync.Mutex
	underWay map[uuid.UUID]chan struct{} // by professional, closed when it ends
}

// acquire begins a booking, which ends with done; or, while another is under way in this
// process, waits until that one has ended.
func (t *turns) acquire(ctx context.Context, professional uuid.UUID) (done func(), waited bool, err error) {
	t.mu.Lock()
	other, busy := t.underWay[professional]
	if !busy {
		mine := make(chan struct{})
		if t.underWay == nil {
			t.underWay = make(map[uuid.UUID]chan struct{})
		}
		t.underWay[professional] = mine
		t.mu.Unlock()
		return func() {
			t.mu.Lock()
			delete(t.underWay, professional)
			t.mu.Unlock()
			close(mine)
		}, false, nil
	}
	t.mu.Unlock()
	select {
	case <-other:
		return nil, true, nil
	case <-ctx.Done():
		return nil, true, ctx.Err()
	}
}

// enterGate waits for a client's turn, at most twice: then it is tried in any case. Who has
// waited looks first whether the time is still offered; where it is not, the answer is a
// *[booking.SlotTakenError].
func (s *Store) enterGate(ctx context.Context, request NewAppointment) (done func(), err error) {
	for range 2 {
		done, waited, err := s.gate.acquire(ctx, *request.Professional)
		if err != nil || !waited {
			return done, err
		}
		calendars, err := s.loadTwoWeeks(ctx, request.Org, request.Choice, request.Start)
		if err != nil {
			return nil, err
		}
		if _, ok := booking.FindSlot(request.Org.Zone, request.Limits, request.Start, calendars); !ok {
			return nil, booking.NewSlotTakenError(booking.Alternatives(request.Org.Zone, request.Limits, request.Start, maxAlternatives, calendars))
		}
	}
	return func() {}, nil
}
