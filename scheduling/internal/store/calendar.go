package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Choice is which service is asked for, of whom, and by whom.
type Choice struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: anybody who gives it
	Online       bool       // by a client: only what is active and public
	Field        string     // the field that asks, for errors; "" is body.service_id
}

// notOfferedError is the answer where a professional does not give a service.
func (c Choice) notOfferedError() *hub.Error {
	e := hub.Errorf(hub.ErrInvalid, "service_not_offered", "Professional does not offer this service")
	e.Fields = []hub.FieldError{{Location: cmp.Or(c.Field, "body.service_id"), Message: "does not fit: the professional does not offer the service"}}
	return e
}

// LoadOffers finds who gives the service of a choice. A service or professional that
// is not there for whoever asks is a [hub.ErrNotFound]; a professional who does not
// give the service is a [hub.ErrInvalid], service_not_offered. With anybody, the list may be empty.
func LoadOffers(ctx context.Context, q *dbgen.Queries, org uuid.UUID, c Choice) ([]dbgen.OffersRow, error) {
	all, err := q.Offers(ctx, org, c.Service)
	if err != nil {
		return nil, dberr.Wrap("loading offers", err)
	}
	if err := checkService(ctx, q, org, c, all); err != nil {
		return nil, err
	}
	var found []dbgen.OffersRow
	for _, o := range all {
		if c.Professional != nil && o.ProfessionalID != *c.Professional {
			continue
		}
		if c.Online && (!o.ProfessionalActive || !o.AcceptsOnlineBooking) {
			if c.Professional != nil {
				return nil, notFound("Professional")
			}
			continue
		}
		found = append(found, o)
	}
	if c.Professional != nil && len(found) == 0 {
		people, err := q.ListProfessionals(ctx, org, c.Professional)
		switch {
		case err != nil:
			return nil, dberr.Wrap("loading the professional", err)
		case len(people) == 0 || c.Online && (!people[0].Professional.IsActive || !people[0].Professional.AcceptsOnlineBooking):
			return nil, notFound("Professional")
		}
		return nil, c.notOfferedError()
	}
	return found, nil
}

func checkService(ctx context.Context, q *dbgen.Queries, org uuid.UUID, c Choice, offers []dbgen.OffersRow) error {
	var service dbgen.Service
	if len(offers) > 0 {
		service = offers[0].Service
	} else {
		var err error
		if service, err = q.ServiceByID(ctx, org, c.Service); errors.Is(err, pgx.ErrNoRows) {
			return notFound("Service")
		} else if err != nil {
			return dberr.Wrap("loading the service", err)
		}
	}
	if c.Online && (!service.IsActive || !service.IsPublic) {
		return notFound("Service")
	}
	return nil
}

// Days are what calendars are loaded for. Without is an appointment or a hold whose
// time does not count as taken; the zero id is none.
type Days struct {
	First, Last booking.Date
	ExceptID    uuid.UUID
	Now         time.Time
}

// LoadCalendars loads the calendars of offers, in two queries however many they are.
func LoadCalendars(ctx context.Context, db DB, org Org, offers []dbgen.OffersRow, days Days) ([]booking.Calendar, error) {
	if len(offers) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(offers))
	at := make(map[uuid.UUID]int, len(offers))
	calendars := make([]booking.Calendar, len(offers))
	for i, o := range offers {
		ids[i], at[o.ProfessionalID] = o.ProfessionalID, i
		calendars[i] = booking.Calendar{Professional: o.ProfessionalID, Offer: ResolveOffer(o, org.Policy), MaxPerDay: org.Policy.MaxPerDay(o.MaxBookingsPerDay)}
	}
	if err := loadHours(ctx, db.Queries, org.ID, ids, days, func(id uuid.UUID) *booking.Calendar { return &calendars[at[id]] }); err != nil {
		return nil, err
	}
	since, until := booking.LoadRange(org.Zone, days.First, days.Last)
	err := db.EachBusy(ctx, Taken{org.ID, ids, since, until, days.ExceptID, days.Now}, org.Policy, func(id uuid.UUID, b booking.Busy) {
		c := &calendars[at[id]]
		c.Busy = append(c.Busy, b)
	})
	if err != nil {
		return nil, dberr.Wrap("loading what is taken", err)
	}
	return calendars, nil
}

// loadHours loads the rules and exceptions of professionals.
func loadHours(ctx context.Context, q *dbgen.Queries, org uuid.UUID, ids []uuid.UUID, days Days, of func(uuid.UUID) *booking.Calendar) error {
	rows, err := q.Hours(ctx, dbgen.HoursParams{OrgID: org, ProfessionalIds: ids, First: days.First.Time(), Last: days.Last.Time()})
	if err != nil {
		return dberr.Wrap("loading working hours", err)
	}
	for _, r := range rows {
		c := of(r.ProfessionalID)
		hours := booking.Hours{Start: booking.Clock(r.Starts), End: booking.Clock(r.Ends)}
		if r.Kind == "rule" {
			rule := booking.Rule{Weekday: r.Weekday, Start: hours.Start, End: hours.End, Active: true}
			if r.BreakStarts >= 0 {
				rule.Break = &booking.Break{Start: booking.Clock(r.BreakStarts), End: booking.Clock(r.BreakEnds)}
			}
			c.Rules = append(c.Rules, rule)
			continue
		}
		e := booking.Exception{Date: booking.NewDate(r.Date.Date()), Kind: booking.ExceptionKind(r.Kind)}
		if r.Starts >= 0 {
			e.Hours = &hours
		}
		c.Exceptions = append(c.Exceptions, e)
	}
	return nil
}

// ServiceRules is what the rules read of a service.
func ServiceRules(s dbgen.Service) booking.Service {
	rules := booking.Service{
		ID: s.ID, DurationMinutes: s.DurationMinutes, Price: s.PriceCents, Capacity: s.Capacity, SlotIntervalMinutes: s.SlotIntervalMinutes,
		BufferBeforeMinutes: s.BufferBeforeMinutes, BufferAfterMinutes: s.BufferAfterMinutes, RequiresDeposit: s.RequiresDeposit,
	}
	if s.DepositCents != nil {
		rules.DepositAmount = *s.DepositCents
	}
	return rules
}

// ResolveOffer resolves an offer.
func ResolveOffer(o dbgen.OffersRow, p booking.Policy) booking.Offer {
	return booking.NewOffer(ServiceRules(o.Service), booking.Override{DurationMinutes: o.CustomDurationMinutes, Price: o.CustomPriceCents}, p)
}

// LoadWeeks loads the rules and exceptions of professionals for some days, for reports.
func (s *Store) LoadWeeks(ctx context.Context, org uuid.UUID, ids []uuid.UUID, first, last booking.Date) (map[uuid.UUID]*booking.Calendar, error) {
	weeks := make(map[uuid.UUID]*booking.Calendar, len(ids))
	for _, id := range ids {
		weeks[id] = &booking.Calendar{Professional: id}
	}
	return weeks, loadHours(ctx, s.Queries, org, ids, Days{First: first, Last: last}, func(id uuid.UUID) *booking.Calendar { return weeks[id] })
}
