// Package publicbooking is what clients of an organization do without an account: they see
// what is offered and when, book, and change what they booked with their token. The
// interface and the pages both stand on it.
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
	"integrationhub/scheduling/internal/store/dbgen"
)

// Desk serves clients. It is safe for concurrent use.
type Desk struct {
	host     module.Host
	store    *store.Store
	payments *payment.Cashier
}

// New makes the desk of an opened product.
func New(host module.Host, s *store.Store, payments *payment.Cashier) *Desk {
	return &Desk{host, s, payments}
}

// Limits are of one address: wide, for a clinic's clients often share one.
func Limits() []module.Limit {
	return []module.Limit{
		{Name: "public-reads", Max: 300, Period: time.Minute},
		{Name: "public-writes", Max: 120, Period: time.Minute},
		{Name: "holds", Max: 30, Period: time.Minute}, // which keep times from others
	}
}

// AllowRead counts a request that changes nothing; over the limit it is a
// [hub.ErrLimited].
func (d *Desk) AllowRead(ctx context.Context) error {
	return d.host.Limits.Allow(ctx, "public-reads", module.ClientIP(ctx))
}

// AllowWrite counts a request that may change something; over the limit it is a
// [hub.ErrLimited].
func (d *Desk) AllowWrite(ctx context.Context) error {
	return d.host.Limits.Allow(ctx, "public-writes", module.ClientIP(ctx))
}

// Organization finds an organization by its slug, or by one it had until lately:
// its Slug is the present one. [hub.ErrNotFound] where there is none.
func (d *Desk) Organization(ctx context.Context, slug string) (store.Org, error) {
	return d.store.LoadOrgBySlug(ctx, slug)
}

// LogoURL is where an organization's logo is; nil where it has none.
func (d *Desk) LogoURL(org store.Org) *string {
	if org.LogoKey == nil {
		return nil
	}
	link := d.host.Files.URL(*org.LogoKey)
	return &link
}

// Services are what clients can book, in their order.
func (d *Desk) Services(ctx context.Context, org store.Org) ([]dbgen.Service, error) {
	all, err := d.store.ListServices(ctx, org.ID)
	var list []dbgen.Service
	for _, service := range all {
		if service.IsActive && service.IsPublic {
			list = append(list, service)
		}
	}
	return list, err
}

// Professionals are those with whom clients can book a service. [hub.ErrNotFound]
// where clients cannot book it.
func (d *Desk) Professionals(ctx context.Context, org store.Org, service uuid.UUID) ([]dbgen.OffersRow, error) {
	return store.LoadOffers(ctx, d.store.Queries, org.ID, store.Choice{Service: service, Online: true})
}

// View is what somebody may see of an organization's time.
type View struct {
	Org    store.Org
	Online bool // as its clients do
	Limits booking.Limits
}

// ClientView is what clients see: nothing where the organization takes no bookings online.
func (d *Desk) ClientView(org store.Org) View {
	view := View{org, true, org.Policy.PublicLimits(d.host.Now(), org.Zone)}
	if !org.Settings.BookingEnabled {
		view.Limits.LastDate = new(booking.Date) // nothing can be booked
	}
	return view
}

// Choice is which service is asked about, and of whom.
type Choice struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: anybody
	// Moved is an appointment that looks for another time: its own counts as free, and
	// its length and price stay. nil: none.
	Moved *dbgen.AppointmentDetail
}

// RescheduleChoice is the choice of a client who moves a booking.
func RescheduleChoice(appointment dbgen.AppointmentDetail) Choice {
	return Choice{Service: appointment.ServiceID, Professional: &appointment.ProfessionalID, Moved: &appointment}
}

// LoadCalendars loads what slots are made of, and who offers the service. Errors as
// [store.LoadOffers] has them.
func (d *Desk) LoadCalendars(ctx context.Context, view View, choice Choice, first, last booking.Date) ([]dbgen.OffersRow, []booking.Calendar, error) {
	offers, err := store.LoadOffers(ctx, d.store.Queries, view.Org.ID, store.Choice{Service: choice.Service, Professional: choice.Professional, Online: view.Online, Field: "query.service_id"})
	if err != nil {
		return nil, nil, err
	}
	days := store.Days{First: first, Last: last, Now: d.host.Now()}
	if choice.Moved != nil {
		days.ExceptID = choice.Moved.ID
	}
	calendars, err := store.LoadCalendars(ctx, d.store.DB, view.Org, offers, days)
	for i := range calendars {
		if moved := choice.Moved; moved != nil {
			calendars[i].Offer = calendars[i].Offer.WithDurationAndPrice(moved.EndAt.Sub(moved.StartAt), moved.PriceCents)
		}
	}
	return offers, calendars, err
}

// Day is the free slots of a day.
type Day struct {
	Offers    []dbgen.OffersRow // who offers the service; empty: nobody does
	Calendars []booking.Calendar
	Slots     []booking.Slot
}

// FreeSlots gives the free slots of a day. Errors as [store.LoadOffers] has them.
func (d *Desk) FreeSlots(ctx context.Context, view View, choice Choice, day booking.Date) (Day, error) {
	if err := view.checkChoice(choice); err != nil {
		return Day{}, err
	}
	offers, calendars, err := d.LoadCalendars(ctx, view, choice, day, day)
	return Day{offers, calendars, booking.FreeSlots(view.Org.Zone, view.Limits, day, calendars)}, err
}

// checkChoice refuses clients who leave the professional open where they may not.
func (v View) checkChoice(choice Choice) error {
	if choice.Professional == nil && v.Online && !v.Org.Settings.AllowAnyProfessional {
		return hub.Invalid("query.professional_id", "is required")
	}
	return nil
}

// FreeDays sums up the days first to last. Errors as [store.LoadOffers] has them.
func (d *Desk) FreeDays(ctx context.Context, view View, choice Choice, first, last booking.Date) ([]booking.DayFree, error) {
	if err := view.checkChoice(choice); err != nil {
		return nil, err
	}
	_, calendars, err := d.LoadCalendars(ctx, view, choice, first, last)
	return booking.FreeDays(view.Org.Zone, view.Limits, first, last, calendars), err
}

// How far ahead [Desk.NextFreeDay] looks, and how many days at once.
const (
	nextFreeDays  = 366
	nextFreeChunk = 61
)

// NextFreeDay finds the first day from a day on that has free slots, within a year; ok is
// false where there is none.
func (d *Desk) NextFreeDay(ctx context.Context, view View, choice Choice, from booking.Date) (found booking.DayFree, ok bool, err error) {
	last := from + nextFreeDays
	if view.Limits.LastDate != nil {
		last = min(last, *view.Limits.LastDate)
	}
	for first := from; first <= last; first += nextFreeChunk {
		days, err := d.FreeDays(ctx, view, choice, first, min(last, first+nextFreeChunk-1))
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
