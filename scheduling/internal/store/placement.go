package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// slotPlacement is a seat in a professional's time.
type slotPlacement struct {
	offer      booking.Offer
	seat       int
	overbooked bool
	warnings   []string
}

// choosePlacement locks a professional's time and finds a seat. Without a
// requested professional it tries those who offer the time, the least booked first.
func (t *Tx) choosePlacement(ctx context.Context, request NewAppointment, offers []ServiceOffer) (ServiceOffer, slotPlacement, error) {
	if request.Professional != nil {
		placement, err := t.lockAndFindPlacement(ctx, request, offers[0])
		return offers[0], placement, err
	}
	day := booking.DateOf(request.Start, request.Org.Zone)
	for len(offers) > 0 {
		calendars, err := LoadCalendars(ctx, t.DB, request.Org, offers, DayRange{First: day, Last: day, ExceptID: request.HoldID, Now: t.now})
		if err != nil {
			return ServiceOffer{}, slotPlacement{}, err
		}
		slot, ok := booking.FindSlot(request.Org.Zone, request.Limits, request.Start, calendars)
		if !ok {
			break
		}
		var rest []ServiceOffer
		for _, offer := range offers {
			if offer.ProfessionalID != slot.Professional {
				rest = append(rest, offer)
				continue
			}
			placement, err := t.tryPlacement(ctx, request, offer)
			if err == nil || !errors.Is(err, errSlotTaken) {
				return offer, placement, err
			}
		}
		offers = rest
	}
	return ServiceOffer{}, slotPlacement{}, errSlotTaken
}

func (t *Tx) lockAndFindPlacement(ctx context.Context, request NewAppointment, offer ServiceOffer) (slotPlacement, error) {
	if err := t.LockProfessionalTime(ctx, offer.ProfessionalID); err != nil {
		return slotPlacement{}, err
	}
	return t.findPlacement(ctx, request.Org, offer, ResolveOffer(offer, request.Org.Policy), request.Start, request.HoldID, placementOptions{online: request.Online, limits: request.Limits, overbook: request.Overbook})
}

// tryPlacement is [Tx.lockAndFindPlacement] in a savepoint. Without a seat it releases
// the lock before the next professional is tried.
func (t *Tx) tryPlacement(ctx context.Context, request NewAppointment, offer ServiceOffer) (placement slotPlacement, err error) {
	err = t.withSavepoint(ctx, func(tx *Tx) error {
		placement, err = tx.lockAndFindPlacement(ctx, request, offer)
		return err
	})
	return placement, err
}

// placementOptions are the constraints of a placement.
type placementOptions struct {
	online   bool // only what is offered within the limits
	limits   booking.Limits
	overbook bool
}

// findPlacement finds a seat at a time, ignoring the appointment or hold exceptID. The
// caller holds the lock of the professional's time.
func (t *Tx) findPlacement(ctx context.Context, org Org, row ServiceOffer, offer booking.Offer, start time.Time, exceptID uuid.UUID, options placementOptions) (slotPlacement, error) {
	day := booking.DateOf(start, org.Zone)
	last := booking.DateOf(start.Add(offer.Duration), org.Zone)
	calendars, err := LoadCalendars(ctx, t.DB, org, []ServiceOffer{row}, DayRange{First: min(day, last), Last: max(day, last), ExceptID: exceptID, Now: t.now})
	if err != nil {
		return slotPlacement{}, err
	}
	calendar := &calendars[0]
	calendar.Offer = offer
	placement := slotPlacement{offer: offer}
	if options.online {
		if _, ok := booking.FindSlot(org.Zone, options.limits, start, calendars); !ok {
			return slotPlacement{}, errSlotTaken
		}
	} else {
		placement.warnings = staffWarnings(org, calendar, start, t.now)
	}
	if booking.SeatsAt(start, offer, calendar.Busy) > 0 {
		placement.seat, err = t.FreeSeat(ctx, dbgen.FreeSeatParams{
			Capacity: offer.Capacity, ProfessionalID: row.ProfessionalID, ServiceID: row.Service.ID, StartAt: start, EndAt: start.Add(offer.Duration), ExceptID: exceptID,
		})
		if err != nil {
			return slotPlacement{}, err
		}
	}
	if placement.seat == 0 {
		if !options.overbook {
			return slotPlacement{}, errSlotTaken
		}
		placement.seat, placement.overbooked = 1, true
	}
	return placement, nil
}

func staffWarnings(org Org, calendar *booking.Calendar, start, now time.Time) []string {
	var warnings []string
	if !booking.WithinHours(org.Zone, start, start.Add(calendar.Offer.Duration), calendar.Rules, calendar.Exceptions) {
		warnings = append(warnings, "outside_working_hours")
	}
	if start.Before(now) {
		warnings = append(warnings, "in_the_past")
	}
	if calendar.Full(org.Zone, booking.DateOf(start, org.Zone)) {
		warnings = append(warnings, "daily_limit_reached")
	}
	return warnings
}
