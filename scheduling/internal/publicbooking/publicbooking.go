// Package publicbooking implements what clients do without an account: see free times,
// book, and change a booking with its token. The API and the pages share it.
package publicbooking

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/store"
)

// Service implements public booking. It is safe for concurrent use.
type Service struct {
	host     module.Host
	store    *store.Store
	payments *payment.Service
}

// New returns the public booking of an opened product.
func New(host module.Host, s *store.Store, payments *payment.Service) *Service {
	return &Service{host, s, payments}
}

// RateLimits returns the rate limits per address. They are wide because a clinic's clients
// often share an address.
func RateLimits() []module.RateLimit {
	return []module.RateLimit{
		{Name: "public-reads", Max: 300, Period: time.Minute},
		{Name: "public-writes", Max: 120, Period: time.Minute},
		{Name: "holds", Max: 30, Period: time.Minute}, // each blocks a time for others
	}
}

// AllowRead counts a read request. Over the limit the error is [hub.ErrRateLimited].
func (s *Service) AllowRead(ctx context.Context) error {
	return s.host.RateLimiter.Allow(ctx, "public-reads", module.ClientIP(ctx))
}

// AllowWrite counts a request that may change something. Over the limit the error is
// [hub.ErrRateLimited].
func (s *Service) AllowWrite(ctx context.Context) error {
	return s.host.RateLimiter.Allow(ctx, "public-writes", module.ClientIP(ctx))
}

// Organization finds an organization by its current slug or a recent former one. The
// result has the current slug. [hub.ErrNotFound] where there is none.
func (s *Service) Organization(ctx context.Context, slug string) (store.Org, error) {
	return s.store.LoadOrgBySlug(ctx, slug)
}

// LogoURL returns the address of an organization's logo, or nil.
func (s *Service) LogoURL(org store.Org) *string { return s.PhotoURL(org.LogoKey, nil) }

// PhotoURL returns the address of a picture: of the uploaded file, else the address
// elsewhere, else nil.
func (s *Service) PhotoURL(file, externalURL *string) *string {
	if file == nil {
		return externalURL
	}
	link := s.host.Files.URL(*file)
	return &link
}

// Services returns the services clients can book, in display order.
func (s *Service) Services(ctx context.Context, org store.Org) ([]store.Service, error) {
	all, err := s.store.ListServices(ctx, org.ID)
	var list []store.Service
	for _, service := range all {
		if service.IsActive && service.IsPublic {
			list = append(list, service)
		}
	}
	return list, err
}

// Professionals returns the professionals with whom clients can book a service, or
// [hub.ErrNotFound] where clients cannot book it.
func (s *Service) Professionals(ctx context.Context, org store.Org, service uuid.UUID) ([]store.ServiceOffer, error) {
	return store.LoadOffers(ctx, s.store.DB, org.ID, store.ServiceChoice{Service: service, Online: true})
}

// View is what a requester may see of an organization's calendars.
type View struct {
	Org    store.Org
	Online bool // the view of a client
	Limits booking.Limits
}

// ClientView returns what clients see. While online booking is off that is nothing.
func (s *Service) ClientView(org store.Org) View {
	view := View{org, true, org.Policy.PublicLimits(s.host.Now(), org.Zone)}
	if !org.Settings.BookingEnabled {
		view.Limits.LastDate = new(booking.Date) // nothing can be booked
	}
	return view
}

// Choice is the requested service and professional.
type Choice struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: any
	// Rescheduled is an appointment that looks for another time: its own counts as free, and
	// its length and price stay. nil: none.
	Rescheduled *store.AppointmentDetail
}

// RescheduleChoice returns the choice for rescheduling a booking.
func RescheduleChoice(appointment store.AppointmentDetail) Choice {
	return Choice{Service: appointment.ServiceID, Professional: &appointment.ProfessionalID, Rescheduled: &appointment}
}

// LoadCalendars loads the offers of a choice and their calendars. Errors are those of
// [store.LoadOffers].
func (s *Service) LoadCalendars(ctx context.Context, view View, choice Choice, first, last booking.Date) ([]store.ServiceOffer, []booking.Calendar, error) {
	requested := store.ServiceChoice{Service: choice.Service, Professional: choice.Professional, Online: view.Online, Field: "query.service_id"}
	days := store.DayRange{First: first, Last: last, Now: s.host.Now()}
	if moved := choice.Rescheduled; moved != nil {
		requested.Booked, days.ExceptID = &store.Booked{Service: moved.ServiceID, Professional: moved.ProfessionalID}, moved.ID
	}
	offers, err := store.LoadOffers(ctx, s.store.DB, view.Org.ID, requested)
	if err != nil {
		return nil, nil, err
	}
	calendars, err := store.LoadCalendars(ctx, s.store.DB, view.Org, offers, days)
	for i := range calendars {
		if moved := choice.Rescheduled; moved != nil {
			calendars[i].Offer = calendars[i].Offer.WithDurationAndPrice(moved.EndAt.Sub(moved.StartAt), moved.PriceCents)
		}
	}
	return offers, calendars, err
}

// DaySlots are the free slots of a day.
type DaySlots struct {
	Offers    []store.ServiceOffer // empty: no professional offers the service
	Calendars []booking.Calendar
	Slots     []booking.Slot
}

// FreeSlots returns the free slots of a day. Errors are those of [store.LoadOffers].
func (s *Service) FreeSlots(ctx context.Context, view View, choice Choice, day booking.Date) (DaySlots, error) {
	if err := view.checkChoice(choice); err != nil {
		return DaySlots{}, err
	}
	offers, calendars, err := s.LoadCalendars(ctx, view, choice, day, day)
	return DaySlots{offers, calendars, booking.FreeSlots(view.Org.Zone, view.Limits, day, calendars)}, err
}

// checkChoice requires a professional where clients may not leave it open.
func (v View) checkChoice(choice Choice) error {
	if choice.Professional == nil && v.Online && !v.Org.Settings.AllowAnyProfessional {
		return hub.Invalid("query.professional_id", "is required")
	}
	return nil
}

// FreeDays summarizes the days from first to last. Errors are those of
// [store.LoadOffers].
func (s *Service) FreeDays(ctx context.Context, view View, choice Choice, first, last booking.Date) ([]booking.DayFree, error) {
	if err := view.checkChoice(choice); err != nil {
		return nil, err
	}
	_, calendars, err := s.LoadCalendars(ctx, view, choice, first, last)
	if err != nil {
		return nil, err
	}
	return booking.FreeDays(ctx, view.Org.Zone, view.Limits, first, last, calendars)
}

// Range of [Service.NextFreeDay] and the days it loads per query.
const (
	nextFreeDays  = 366
	nextFreeChunk = 61
)

// NextFreeDay finds the first day with free slots within a year; ok is false where
// there is none.
func (s *Service) NextFreeDay(ctx context.Context, view View, choice Choice, from booking.Date) (found booking.DayFree, ok bool, err error) {
	last := from + nextFreeDays
	if view.Limits.LastDate != nil {
		last = min(last, *view.Limits.LastDate)
	}
	for first := from; first <= last; first += nextFreeChunk {
		days, err := s.FreeDays(ctx, view, choice, first, min(last, first+nextFreeChunk-1))
		if err != nil {
			return found, false, err
		}
		for _, day := range days {
			if day.Free > 0 {
				return day, true, nil
			}
		}
	}
	return found, false, nil
}

// NextSlots returns the first free slots after a time, within a number of days from then; chunk
// is how many days are loaded at once. Errors are those of [store.LoadOffers].
func (s *Service) NextSlots(ctx context.Context, view View, choice Choice, after time.Time, days, chunk, limit int) (offers []store.ServiceOffer, slots []booking.Slot, err error) {
	if err := view.checkChoice(choice); err != nil {
		return nil, nil, err
	}
	first := booking.DateOf(after, view.Org.Zone)
	last := first + booking.Date(days)
	if view.Limits.LastDate != nil {
		last = min(last, *view.Limits.LastDate)
	}
	for day := first; day <= last; {
		end := min(last, day+booking.Date(chunk)-1)
		var calendars []booking.Calendar
		if offers, calendars, err = s.LoadCalendars(ctx, view, choice, day, end); err != nil {
			return nil, nil, err
		}
		for ; day <= end; day++ {
			if err := ctx.Err(); err != nil { // computing takes no query that would notice it
				return nil, nil, err
			}
			for _, slot := range booking.FreeSlots(view.Org.Zone, view.Limits, day, calendars) {
				if !slot.Start.After(after) {
					continue
				}
				if slots = append(slots, slot); len(slots) == limit {
					return offers, slots, nil
				}
			}
		}
	}
	return offers, slots, nil
}
