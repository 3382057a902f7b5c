package store

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
)

// bookingGate lets a booking of a professional wait for others in this process, at most twice.
// Waiting in the database instead would hold a connection each and create clients that
// are rolled back. The gate only saves work: the database decides what is booked.
type bookingGate struct {
	mu      sync.Mutex
	running map[uuid.UUID]chan struct{} // by professional, closed when the booking ends
}

// tryAcquire starts a booking, which ends with release. If another booking is running, it
// waits until that booking ends and returns waited true instead.
func (g *bookingGate) tryAcquire(ctx context.Context, professional uuid.UUID) (release func(), waited bool, err error) {
	g.mu.Lock()
	other, busy := g.running[professional]
	if !busy {
		current := make(chan struct{})
		if g.running == nil {
			g.running = make(map[uuid.UUID]chan struct{})
		}
		g.running[professional] = current
		g.mu.Unlock()
		return func() {
			g.mu.Lock()
			delete(g.running, professional)
			g.mu.Unlock()
			close(current)
		}, false, nil
	}
	g.mu.Unlock()
	select {
	case <-other:
		return nil, true, nil
	case <-ctx.Done():
		return nil, true, ctx.Err()
	}
}

// waitForProfessional waits at the gate at most twice and then proceeds anyway. After a wait it
// checks whether the time is still offered; if not, the error is a
// *[booking.SlotTakenError].
func (s *Store) waitForProfessional(ctx context.Context, request NewAppointment) (release func(), err error) {
	for range 2 {
		release, waited, err := s.gate.tryAcquire(ctx, *request.Professional)
		if err != nil || !waited {
			return release, err
		}
		calendars, err := s.loadAlternativeCalendars(ctx, request.Org, request.ServiceChoice, request.Start)
		if err != nil {
			return nil, err
		}
		if _, ok := booking.FindSlot(request.Org.Zone, request.Limits, request.Start, calendars); !ok {
			return nil, booking.NewSlotTakenError(booking.Alternatives(request.Org.Zone, request.Limits, request.Start, maxAlternatives, calendars))
		}
	}
	return func() {}, nil
}
