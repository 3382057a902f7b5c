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
	host    module.Host
	store   *store.Store
	cashier *payment.Cashier
}

// New makes the desk of an opened product.
func New(host module.Host, s *store.Store, c *payment.Cashier) *Desk { return &Desk{host, s, c} }

// Limits are of one address: wide, for a clinic's clients often share one.
func Limits() []module.RateLimit {
	return []module.RateLimit{
		{Name: "public-reads", Max: 300, Period: time.Minute},
		{Name: "public-writes", Max: 120, Period: time.Minute},
		{Name: "holds", Max: 30, Period: time.Minute}, // which keep times from others
	}
}

// AllowRead counts a request that changes nothing; over the limit it is a
// [hub.ErrRateLimited].
func (d *Desk) AllowRead(ctx context.Context) error {
	return d.host.RateLimiter.Allow(ctx, "public-reads", module.ClientIP(ctx))
}

// AllowWrite counts a request that may change something; over the limit it is a
// [hub.ErrRateLimited].
func (d *Desk) AllowWrite(ctx context.Context) error {
	return d.host.RateLimiter.Allow(ctx, "public-writes", module.ClientIP(ctx))
}

// Organization finds an organization by its slug, or by one it had until lately:
// its Slug is the present one. [hub.ErrNotFound] where there is none.
func (d *Desk) Organization(ctx context.Context, slug string) (store.Org, error) {
	return d.store.OrgBySlug(ctx, slug)
}

// LogoURL is where an organization's logo is; nil where it has none.
func (d *Desk) LogoURL(o store.Org) *string {
	if o.LogoKey == nil {
		return nil
	}
	link := d.host.Files.URL(*o.LogoKey)
	return &link
}

// Services are what clients can book, in their order.
func (d *Desk) Services(ctx context.Context, o store.Org) ([]dbgen.Service, error) {
	all, err := d.store.ListServices(ctx, o.ID)
	var list []dbgen.Service
	for _, s := range all {
		if s.IsActive && s.IsPublic {
			list = append(list, s)
		}
	}
	return list, err
}

// Professionals are those with whom clients can book a service. [hub.ErrNotFound]
// where clients cannot book it.
func (d *Desk) Professionals(ctx context.Context, o store.Org, service uuid.UUID) ([]dbgen.OffersRow, error) {
	return store.OffersOf(ctx, d.store.Queries, o.ID, store.Choice{Service: service, Online: true})
}

// View is what somebody may see of an organization's time.
type View struct {
	Org    store.Org
	Online bool // as its clients do
	Limits booking.Limits
}

// View is what clients see: nothing where the organization takes no bookings online.
func (d *Desk) View(o store.Org) View {
	v := View{o, true, o.Policy.PublicLimits(d.host.Now(), o.Zone)}
	if !o.Settings.BookingEnabled {
		v.Limits.LastDate = new(booking.Date) // nothing can be booked
	}
	return v
}

// Choice is which service is asked about, and of whom.
type Choice struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: anybody
	// Moved is an appointment that looks for another time: its own counts as free, and
	// its length and price stay. nil: none.
	Moved *dbgen.AppointmentDetail
}

// Moving is the choice of a client who moves a booking.
func Moving(a dbgen.AppointmentDetail) Choice {
	return Choice{Service: a.ServiceID, Professional: &a.ProfessionalID, Moved: &a}
}

// Calendars loads what slots are made of, and who offers the service. Errors as
// [store.OffersOf] has them.
func (d *Desk) Calendars(ctx context.Context, v View, c Choice, first, last booking.Date) ([]dbgen.OffersRow, []booking.Calendar, error) {
	offers, err := store.OffersOf(ctx, d.store.Queries, v.Org.ID, store.Choice{Service: c.Service, Professional: c.Professional, Online: v.Online, Named: "query.service_id"})
	if err != nil {
		return nil, nil, err
	}
	days := store.Days{First: first, Last: last, Now: d.host.Now()}
	if c.Moved != nil {
		days.Without = c.Moved.ID
	}
	calendars, err := store.Calendars(ctx, d.store.DB, v.Org, offers, days)
	for i := range calendars {
		if m := c.Moved; m != nil {
			calendars[i].Offer = calendars[i].Offer.Keeping(m.EndAt.Sub(m.StartAt), m.PriceCents)
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

// Day gives the free slots of a day. Errors as [store.OffersOf] has them.
func (d *Desk) Day(ctx context.Context, v View, c Choice, day booking.Date) (Day, error) {
	if err := v.allows(c); err != nil {
		return Day{}, err
	}
	offers, calendars, err := d.Calendars(ctx, v, c, day, day)
	return Day{offers, calendars, booking.Day(v.Org.Zone, v.Limits, day, calendars)}, err
}

// allows refuses clients who leave the professional open where they may not.
func (v View) allows(c Choice) error {
	if c.Professional == nil && v.Online && !v.Org.Settings.AllowAnyProfessional {
		return hub.Invalid("query.professional_id", "is required")
	}
	return nil
}

// Days sums up the days first to last. Errors as [store.OffersOf] has them.
func (d *Desk) Days(ctx context.Context, v View, c Choice, first, last booking.Date) ([]booking.DayFree, error) {
	if err := v.allows(c); err != nil {
		return nil, err
	}
	_, calendars, err := d.Calendars(ctx, v, c, first, last)
	return booking.Month(v.Org.Zone, v.Limits, first, last, calendars), err
}

// How far ahead [Desk.NextFree] looks, and how many days at once.
const (
	farthest = 366
	stretch  = 61
)

// NextFree finds the first day from a day on that has free slots, within a year; ok is
// false where there is none.
func (d *Desk) NextFree(ctx context.Context, v View, c Choice, from booking.Date) (found booking.DayFree, ok bool, err error) {
	last := from + farthest
	if v.Limits.LastDate != nil {
		last = min(last, *v.Limits.LastDate)
	}
	for first := from; first <= last; first += stretch {
		days, err := d.Days(ctx, v, c, first, min(last, first+stretch-1))
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
