package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// Availability lists the free slots of a day.
type Availability struct {
	Date           string         `json:"date" doc:"Day that was asked for, YYYY-MM-DD"`
	Professional   string         `json:"professional" doc:"Display name; empty where nobody offers the service"`
	Service        string         `json:"service" doc:"Display name"`
	Duration       int            `json:"duration" doc:"Minutes; for any professional the shortest, and each slot has its own"`
	Slots          []Slot         `json:"slots" nullable:"false" doc:"Times that can be booked, in their order"`
	ProfessionalID *uuid.UUID     `json:"professional_id" doc:"null: anybody"`
	ServiceID      uuid.UUID      `json:"service_id" doc:"Service that was asked for"`
	Timezone       string         `json:"timezone" doc:"IANA zone that days and times are counted in"`
	Price          *booking.Cents `json:"price" doc:"For any professional the lowest, and each slot has its own"`
}

// Slot is a time that can be booked.
type Slot struct {
	Start          string         `json:"start" doc:"Clock time of the start, HH:MM" example:"09:00"`
	End            string         `json:"end" doc:"Clock time of the end, HH:MM" example:"09:30"`
	StartAt        time.Time      `json:"start_at" doc:"When it begins, in the organization's time zone"`
	EndAt          time.Time      `json:"end_at" doc:"When it ends, in the organization's time zone"`
	Remaining      *int           `json:"remaining,omitempty" doc:"Free seats of a group"`
	ProfessionalID *uuid.UUID     `json:"professional_id,omitempty" doc:"Where anybody was asked for: who would do it"`
	Duration       *int           `json:"duration,omitempty" doc:"Where anybody was asked for: minutes"`
	Price          *booking.Cents `json:"price,omitempty" doc:"Where anybody was asked for"`
}

// alternative is a free slot proposed in place of a taken slot.
type alternative struct {
	StartAt        time.Time `json:"start_at" doc:"When the free time begins"`
	EndAt          time.Time `json:"end_at" doc:"When it ends, in the organization's time zone"`
	ProfessionalID uuid.UUID `json:"professional_id" doc:"Professional who does it"`
}

// AvailabilityQuery holds the query parameters for the free slots of a day.
type AvailabilityQuery struct {
	ProfessionalID string    `query:"professional_id" format:"uuid" doc:"Whose times; absent: anybody's"`
	ServiceID      uuid.UUID `query:"service_id" required:"true" doc:"What is to be booked"`
	Date           string    `query:"date" required:"true" format:"date" doc:"YYYY-MM-DD"`
}

type availabilityOutput struct{ Body Availability }

type monthInput struct {
	ProfessionalID string    `query:"professional_id" format:"uuid" doc:"Absent: anybody"`
	ServiceID      uuid.UUID `query:"service_id" required:"true" doc:"What is to be booked"`
	Month          string    `query:"month" required:"true" pattern:"^[0-9]{4}-[0-9]{2}$" doc:"YYYY-MM"`
}

// MonthAvailability lists the days of a month with their free slots.
type MonthAvailability struct {
	Month    string    `json:"month" doc:"The one asked for, YYYY-MM"`
	Timezone string    `json:"timezone" doc:"IANA zone that days and times are counted in"`
	Days     []FreeDay `json:"days" nullable:"false" doc:"Every day of it, in order"`
}

// FreeDay is the number of free slots of a day.
type FreeDay struct {
	Date  string  `json:"date" doc:"Day, YYYY-MM-DD"`
	Free  int     `json:"free" doc:"How many slots"`
	First *string `json:"first" doc:"Clock time of the earliest, HH:MM; null: none is free" example:"09:00"`
}

type monthOutput struct{ Body MonthAvailability }

// callerView returns the availability limits of the caller. Staff see every free slot;
// connected products see what clients see.
func (a *API) callerView(ctx context.Context, org store.Org) publicbooking.View {
	caller, authenticated := module.CallerFrom(ctx)
	if authenticated && caller.UserID != uuid.Nil {
		return publicbooking.View{Org: org, Limits: booking.StaffLimits(a.host.Now())}
	}
	return publicbooking.View{Org: org, Online: true, Limits: org.Policy.PublicLimits(a.host.Now(), org.Zone)}
}

// availabilityView returns the view of the caller's organization. Without credentials it
// is a client's view of the service's organization.
func (a *API) availabilityView(ctx context.Context, service uuid.UUID) (publicbooking.View, error) {
	if _, authenticated := module.CallerFrom(ctx); authenticated {
		org, err := a.loadOrg(ctx)
		return a.callerView(ctx, org), err
	}
	row, err := a.store.OrganizationByService(ctx, service)
	if err != nil {
		return publicbooking.View{}, rest.NotFoundIfNoRows("Service", err)
	}
	org, err := store.NewOrg(row.Organization, row.Settings)
	return a.publicBooking.ClientView(org), err
}

func (a *API) getAvailability(ctx context.Context, in *AvailabilityQuery) (*availabilityOutput, error) {
	view, err := a.availabilityView(ctx, in.ServiceID)
	if err != nil {
		return nil, err
	}
	return a.dayAvailability(ctx, view, in)
}

func (a *API) dayAvailability(ctx context.Context, view publicbooking.View, in *AvailabilityQuery) (*availabilityOutput, error) {
	date, err := parseDate("query.date", in.Date)
	if err != nil {
		return nil, err
	}
	professional, err := parseOptionalID("query.professional_id", in.ProfessionalID)
	if err != nil {
		return nil, err
	}
	free, err := a.publicBooking.FreeSlots(ctx, view, publicbooking.Choice{Service: in.ServiceID, Professional: professional}, date)
	if err != nil {
		return nil, err
	}
	out := &availabilityOutput{Availability{
		Date: date.String(), ServiceID: in.ServiceID, ProfessionalID: professional, Timezone: view.Org.Timezone,
		Slots: toSlots(free.Slots, view.Org.Zone, free.Calendars, professional == nil),
	}}
	if len(free.Offers) > 0 {
		lowest := free.Calendars[0].Offer
		for _, calendar := range free.Calendars {
			lowest.Duration, lowest.Price = min(lowest.Duration, calendar.Offer.Duration), min(lowest.Price, calendar.Offer.Price)
		}
		out.Body.Service, out.Body.Duration = free.Offers[0].Service.Name, int(lowest.Duration.Minutes())
		out.Body.Price = &lowest.Price
		if professional != nil {
			out.Body.Professional = free.Offers[0].ProfessionalName
		}
	}
	return out, nil
}

func toSlots(slots []booking.Slot, zone *time.Location, calendars []booking.Calendar, anyProfessional bool) []Slot {
	group := len(calendars) > 0 && calendars[0].Offer.Capacity > 1
	offers := make(map[uuid.UUID]booking.Offer, len(calendars))
	for _, calendar := range calendars {
		offers[calendar.Professional] = calendar.Offer
	}
	return rest.Map(slots, func(free booking.Slot) Slot {
		start, end := free.Start.In(zone), free.End.In(zone)
		slot := Slot{Start: start.Format("15:04"), End: end.Format("15:04"), StartAt: start, EndAt: end}
		if group {
			slot.Remaining = &free.Remaining
		}
		if anyProfessional {
			offer := offers[free.Professional]
			minutes := int(offer.Duration.Minutes())
			slot.ProfessionalID, slot.Duration, slot.Price = &free.Professional, &minutes, &offer.Price
		}
		return slot
	})
}

func (a *API) getMonthAvailability(ctx context.Context, in *monthInput) (*monthOutput, error) {
	view, err := a.availabilityView(ctx, in.ServiceID)
	if err != nil {
		return nil, err
	}
	first, last, err := parseMonth(in.Month, a.host.Now(), view.Org.Zone)
	if err != nil {
		return nil, err
	}
	professional, err := parseOptionalID("query.professional_id", in.ProfessionalID)
	if err != nil {
		return nil, err
	}
	days, err := a.publicBooking.FreeDays(ctx, view, publicbooking.Choice{Service: in.ServiceID, Professional: professional}, first, last)
	if err != nil {
		return nil, err
	}
	return &monthOutput{MonthAvailability{
		Month: in.Month, Timezone: view.Org.Timezone,
		Days: rest.Map(days, func(day booking.DayFree) FreeDay {
			freeDay := FreeDay{Date: day.Date.String(), Free: day.Free}
			if day.Free > 0 {
				firstTime := day.First.In(view.Org.Zone).Format("15:04")
				freeDay.First = &firstTime
			}
			return freeDay
		}),
	}}, nil
}
