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

// ServiceChoice is a requested service, with the professional and the kind of requester.
type ServiceChoice struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: any who offers it
	Online       bool       // by a client: only what is active and public
	Field        string     // the request's field, for errors; "" means body.service_id
	Booked       *Booked    // what the appointment to move has; nil: it is a new booking
}

// Booked is the service and the professional of an appointment that is moved.
type Booked struct {
	Service, Professional uuid.UUID
}

// keepsProfessional reports whether an appointment is moved with its professional.
func (c ServiceChoice) keepsProfessional() bool {
	return c.Booked != nil && c.Professional != nil && *c.Professional == c.Booked.Professional
}

// unavailableError is the error for an appointment whose own professional cannot take it
// to another time.
func (c ServiceChoice) unavailableError() *hub.Error {
	if c.Online {
		return hub.Errorf(hub.ErrConflict, "professional_unavailable", "The professional of this appointment takes no bookings online any more. Contact the business.")
	}
	return hub.Errorf(hub.ErrConflict, "professional_unavailable", "The professional of this appointment was removed. Choose another professional with professional_id.")
}

// notOfferedError is the error for a professional who does not offer the service.
func (c ServiceChoice) notOfferedError() *hub.Error {
	problem := hub.Errorf(hub.ErrInvalid, "service_not_offered", "Professional does not offer this service")
	problem.Fields = []hub.FieldError{{Location: cmp.Or(c.Field, "body.service_id"), Message: "does not fit: the professional does not offer the service"}}
	return problem
}

// ServiceOffer is a service with a professional who offers it and their own duration
// and price.
type ServiceOffer = dbgen.ServiceOffersRow

// LoadOffers loads the professionals who offer the service of a choice. A service or
// professional that the requester cannot see is a [hub.ErrNotFound]. A professional who
// does not offer the service is a [hub.ErrInvalid] with code service_not_offered.
// Without a professional the list may be empty. An appointment that is moved with its
// service keeps it, whatever became of the service; if its own professional cannot take
// it, the error is a [hub.ErrConflict] with code professional_unavailable.
func LoadOffers(ctx context.Context, db DB, org uuid.UUID, choice ServiceChoice) ([]ServiceOffer, error) {
	if choice.Booked != nil && choice.Booked.Service == choice.Service && choice.Professional != nil {
		offer, err := loadMoveOffer(ctx, db, org, choice)
		return []ServiceOffer{offer}, err
	}
	all, err := db.ServiceOffers(ctx, org, choice.Service)
	if err != nil {
		return nil, dberr.Wrap("loading offers", err)
	}
	if err := checkService(ctx, db, org, choice, all); err != nil {
		return nil, err
	}
	var found []ServiceOffer
	for _, offer := range all {
		if choice.Professional != nil && offer.ProfessionalID != *choice.Professional {
			continue
		}
		if choice.Online && (!offer.ProfessionalActive || !offer.AcceptsOnlineBooking) {
			if choice.Professional != nil {
				return nil, hub.NotFound("Professional")
			}
			continue
		}
		found = append(found, offer)
	}
	if choice.Professional != nil && len(found) == 0 {
		professionals, err := db.ListProfessionals(ctx, org, choice.Professional)
		switch {
		case err != nil:
			return nil, dberr.Wrap("loading the professional", err)
		case len(professionals) == 0 && choice.keepsProfessional():
			return nil, choice.unavailableError()
		case len(professionals) == 0 || choice.Online && (!professionals[0].Professional.IsActive || !professionals[0].Professional.AcceptsOnlineBooking):
			return nil, hub.NotFound("Professional")
		}
		return nil, choice.notOfferedError()
	}
	return found, nil
}

// loadMoveOffer loads the offer for an appointment that is moved with its service. Another
// professional must offer the service, unless it was deleted: then none can.
func loadMoveOffer(ctx context.Context, db DB, org uuid.UUID, choice ServiceChoice) (ServiceOffer, error) {
	row, err := db.MoveOffer(ctx, dbgen.MoveOfferParams{OrgID: org, ServiceID: choice.Service, ProfessionalID: *choice.Professional})
	if errors.Is(err, pgx.ErrNoRows) {
		return ServiceOffer{}, hub.NotFound("Professional")
	}
	if err != nil {
		return ServiceOffer{}, dberr.Wrap("loading the offer of an appointment", err)
	}
	bookable := !row.ProfessionalRemoved && (!choice.Online || row.ProfessionalActive && row.AcceptsOnlineBooking)
	switch {
	case !bookable && choice.keepsProfessional():
		return ServiceOffer{}, choice.unavailableError()
	case !bookable:
		return ServiceOffer{}, hub.NotFound("Professional")
	case !row.IsOffered && row.Service.DeletedAt == nil && !choice.keepsProfessional():
		return ServiceOffer{}, choice.notOfferedError()
	}
	return ServiceOffer{
		Service: row.Service, ProfessionalID: row.ProfessionalID, ProfessionalName: row.ProfessionalName, MaxBookingsPerDay: row.MaxBookingsPerDay,
		ProfessionalActive: row.ProfessionalActive, AcceptsOnlineBooking: row.AcceptsOnlineBooking,
		CustomDurationMinutes: row.CustomDurationMinutes, CustomPriceCents: row.CustomPriceCents,
	}, nil
}

func checkService(ctx context.Context, db DB, org uuid.UUID, choice ServiceChoice, offers []ServiceOffer) error {
	var service Service
	if len(offers) > 0 {
		service = offers[0].Service
	} else {
		var err error
		if service, err = db.ServiceByID(ctx, org, choice.Service); errors.Is(err, pgx.ErrNoRows) {
			return hub.NotFound("Service")
		} else if err != nil {
			return dberr.Wrap("loading the service", err)
		}
	}
	if choice.Online && (!service.IsActive || !service.IsPublic) {
		return hub.NotFound("Service")
	}
	return nil
}

// DayRange is the range of days to load calendars for. ExceptID is an appointment or
// hold whose time does not count as taken; the zero id excludes nothing.
type DayRange struct {
	First, Last booking.Date
	ExceptID    uuid.UUID
	Now         time.Time
}

// LoadCalendars loads the calendars of offers with two queries in total.
func LoadCalendars(ctx context.Context, db DB, org Org, offers []ServiceOffer, days DayRange) ([]booking.Calendar, error) {
	if len(offers) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(offers))
	indexByProfessional := make(map[uuid.UUID]int, len(offers))
	calendars := make([]booking.Calendar, len(offers))
	for i, offer := range offers {
		ids[i], indexByProfessional[offer.ProfessionalID] = offer.ProfessionalID, i
		calendars[i] = booking.Calendar{Professional: offer.ProfessionalID, Offer: ResolveOffer(offer, org.Policy), MaxPerDay: org.Policy.MaxPerDay(offer.MaxBookingsPerDay)}
	}
	if err := loadHours(ctx, db, org.ID, ids, days, func(id uuid.UUID) *booking.Calendar { return &calendars[indexByProfessional[id]] }); err != nil {
		return nil, err
	}
	since, until := booking.LoadRange(org.Zone, days.First, days.Last)
	err := db.EachBusy(ctx, BusyQuery{org.ID, ids, since, until, days.ExceptID, days.Now}, org.Policy, func(id uuid.UUID, busy booking.Busy) {
		calendar := &calendars[indexByProfessional[id]]
		calendar.Busy = append(calendar.Busy, busy)
	})
	if err != nil {
		return nil, dberr.Wrap("loading busy times", err)
	}
	return calendars, nil
}

// loadHours loads the rules and exceptions of professionals.
func loadHours(ctx context.Context, db DB, org uuid.UUID, ids []uuid.UUID, days DayRange, calendarOf func(uuid.UUID) *booking.Calendar) error {
	rows, err := db.WorkingHours(ctx, dbgen.WorkingHoursParams{OrgID: org, ProfessionalIds: ids, First: days.First.Time(), Last: days.Last.Time()})
	if err != nil {
		return dberr.Wrap("loading working hours", err)
	}
	for _, row := range rows {
		calendar := calendarOf(row.ProfessionalID)
		hours := booking.Hours{Start: booking.TimeOfDay(row.Starts), End: booking.TimeOfDay(row.Ends)}
		if row.Kind == "rule" {
			rule := booking.Rule{Weekday: row.Weekday, Start: hours.Start, End: hours.End, Active: true}
			if row.BreakStarts >= 0 {
				rule.Break = &booking.Break{Start: booking.TimeOfDay(row.BreakStarts), End: booking.TimeOfDay(row.BreakEnds)}
			}
			calendar.Rules = append(calendar.Rules, rule)
			continue
		}
		exception := booking.Exception{Date: booking.NewDate(row.Date.Date()), Kind: booking.ExceptionKind(row.Kind)}
		if row.Starts >= 0 {
			exception.Hours = &hours
		}
		calendar.Exceptions = append(calendar.Exceptions, exception)
	}
	return nil
}

// ResolveOffer combines a service with the professional's overrides and the policy.
func ResolveOffer(offer ServiceOffer, policy booking.Policy) booking.Offer {
	return booking.NewOffer(ServiceRules(offer.Service), booking.Override{DurationMinutes: offer.CustomDurationMinutes, Price: offer.CustomPriceCents}, policy)
}

// LoadWeeks loads the rules and exceptions of professionals, for reports.
func (s *Store) LoadWeeks(ctx context.Context, org uuid.UUID, ids []uuid.UUID, first, last booking.Date) (map[uuid.UUID]*booking.Calendar, error) {
	weeks := make(map[uuid.UUID]*booking.Calendar, len(ids))
	for _, id := range ids {
		weeks[id] = &booking.Calendar{Professional: id}
	}
	return weeks, loadHours(ctx, s.DB, org, ids, DayRange{First: first, Last: last}, func(id uuid.UUID) *booking.Calendar { return weeks[id] })
}
