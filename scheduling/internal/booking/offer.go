package booking

import (
	"time"

	"github.com/google/uuid"
)

// maxBufferMinutes is the longest buffer before or after an appointment.
const maxBufferMinutes = 240

// Service is the part of a service that decides its slots.
type Service struct {
	ID                  uuid.UUID
	DurationMinutes     int
	Price               Cents
	Capacity            int  // clients in one session; 1: one at a time
	SlotIntervalMinutes *int // nil: the organization's
	BufferBeforeMinutes *int // nil: the organization's
	BufferAfterMinutes  *int // nil: the organization's
	RequiresDeposit     bool
	DepositAmount       Cents // where a deposit is required
}

// Override is a professional's own duration and price of a service.
type Override struct {
	DurationMinutes *int   // nil: as the service
	Price           *Cents // nil: as the service
}

// Offer is a service as one professional offers it, resolved from the override, the
// service and the organization's policy.
type Offer struct {
	Service       uuid.UUID
	Duration      time.Duration // of a slot, in real elapsed time
	Step          time.Duration // from one start to the next; 0: the duration
	BufferBefore  time.Duration
	BufferAfter   time.Duration
	Capacity      int // clients in one session
	Price         Cents
	DepositAmount Cents // 0: none
}

// NewOffer resolves an offer. The deposit is never more than the price, which an
// override may have lowered.
func NewOffer(service Service, override Override, policy Policy) Offer {
	offer := Offer{
		Service:      service.ID,
		Duration:     minutes(valueOr(override.DurationMinutes, service.DurationMinutes)),
		Step:         minutes(valueOr(service.SlotIntervalMinutes, valueOr(policy.SlotIntervalMinutes, 0))),
		BufferBefore: minutes(valueOr(service.BufferBeforeMinutes, policy.BufferBeforeMinutes)),
		BufferAfter:  minutes(valueOr(service.BufferAfterMinutes, policy.BufferAfterMinutes)),
		Capacity:     max(service.Capacity, 1),
		Price:        valueOr(override.Price, service.Price),
	}
	if service.RequiresDeposit {
		offer.DepositAmount = min(service.DepositAmount, offer.Price)
	}
	return offer
}

// WithDurationAndPrice returns the offer with the length and price of an appointment
// that is rescheduled: they stay as they were booked.
func (o Offer) WithDurationAndPrice(length time.Duration, price Cents) Offer {
	o.Duration, o.Price = length, price
	return o
}

// valueOr returns the value behind a pointer, or other for nil.
func valueOr[T any](value *T, other T) T {
	if value == nil {
		return other
	}
	return *value
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// Limits are the bounds of time for new bookings.
type Limits struct {
	Earliest time.Time // no slot starts before it
	LastDate *Date     // no slot starts on a later day; nil: no bound
	FullDays bool      // allow days that have reached [Calendar.MaxPerDay]
}

// StaffLimits returns the limits of staff, who see every free slot from now on.
func StaffLimits(now time.Time) Limits { return Limits{Earliest: now, FullDays: true} }

// PublicLimits returns the limits of clients: the minimum notice, and the horizon
// counted in days of the organization's zone.
func (p Policy) PublicLimits(now time.Time, loc *time.Location) Limits {
	limits := Limits{Earliest: now.Add(minutes(p.MinNoticeMinutes))}
	if p.MaxAdvanceDays != nil {
		last := DateOf(now, loc) + Date(*p.MaxAdvanceDays)
		limits.LastDate = &last
	}
	return limits
}
