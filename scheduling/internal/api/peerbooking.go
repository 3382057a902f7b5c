package api

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// What connected products need to book for clients, and to confirm and cancel for them.

// BookableService is a service in responses to connected products.
type BookableService struct {
	ID              uuid.UUID     `json:"id" doc:"Id of the service"`
	Name            string        `json:"name" doc:"As clients read it"`
	DurationMinutes int           `json:"duration_minutes" doc:"How long it takes; a professional may need another time"`
	Price           booking.Cents `json:"price" doc:"A professional may have another one"`
	RequiresDeposit bool          `json:"requires_deposit" doc:"Booking it takes a deposit"`
}

type bookableServicesOutput struct {
	Body struct {
		Services []BookableService `json:"services" nullable:"false" doc:"What clients can book, in the order of the booking page"`
		Locale   string            `json:"locale" doc:"Language of the organization" example:"pt-BR"`
	} `nameHint:"ServiceSearch"`
}

func (a *API) searchServices(ctx context.Context, _ *struct{}) (*bookableServicesOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.publicBooking.Services(ctx, org)
	out := &bookableServicesOutput{}
	out.Body.Locale = org.Locale
	out.Body.Services = rest.Map(rows, func(service store.Service) BookableService {
		return BookableService{service.ID, service.Name, service.DurationMinutes, service.PriceCents, service.RequiresDeposit}
	})
	return out, err
}

// Days that [API.searchFreeTimes] looks at, and loads at once.
const (
	freeTimesDays  = 60
	freeTimesChunk = 10
)

type freeTimesInput struct {
	ServiceID      uuid.UUID `query:"service_id" required:"true" doc:"Service to book"`
	ProfessionalID string    `query:"professional_id" format:"uuid" doc:"Absent: anybody"`
	After          string    `query:"after" maxLength:"35" doc:"Only times after this one, RFC 3339; absent: all that clients may book now" example:"2026-03-02T09:00:00-03:00"`
	Limit          int       `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many at most"`
}

// FreeTime is a time that can be booked, with who would do it.
type FreeTime struct {
	StartAt        time.Time `json:"start_at" doc:"RFC 3339, with the organization's UTC offset"`
	EndAt          time.Time `json:"end_at" doc:"RFC 3339, with the organization's UTC offset"`
	ProfessionalID uuid.UUID `json:"professional_id" doc:"Who would do it"`
	Professional   string    `json:"professional" doc:"Display name"`
}

type freeTimesOutput struct {
	Body struct {
		Service  string     `json:"service" doc:"Name of the service; empty where nobody offers it"`
		Timezone string     `json:"timezone" doc:"Of the organization" example:"America/Sao_Paulo"`
		Locale   string     `json:"locale" doc:"Language of the organization" example:"pt-BR"`
		Times    []FreeTime `json:"times" nullable:"false" doc:"Of the next 60 days, the earliest first"`
	} `nameHint:"FreeTimes"`
}

// searchFreeTimes returns the next free times of a service, whatever their day: one call in
// place of one for each day.
func (a *API) searchFreeTimes(ctx context.Context, in *freeTimesInput) (*freeTimesOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	professional, err := parseOptionalID("query.professional_id", in.ProfessionalID)
	if err != nil {
		return nil, err
	}
	after := a.host.Now()
	if in.After != "" {
		requested, err := parseInstant("query.after", in.After)
		if err != nil {
			return nil, err
		}
		if requested.After(after) {
			after = requested
		}
	}
	choice := publicbooking.Choice{Service: in.ServiceID, Professional: professional}
	offers, slots, err := a.publicBooking.NextSlots(ctx, a.callerView(ctx, org), choice, after, freeTimesDays, freeTimesChunk, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &freeTimesOutput{}
	out.Body.Timezone, out.Body.Locale, out.Body.Times = org.Timezone, org.Locale, []FreeTime{}
	names := make(map[uuid.UUID]string)
	for _, offer := range offers {
		out.Body.Service, names[offer.ProfessionalID] = offer.Service.Name, offer.ProfessionalName
	}
	for _, slot := range slots {
		out.Body.Times = append(out.Body.Times, FreeTime{slot.Start.In(org.Zone), slot.End.In(org.Zone), slot.Professional, names[slot.Professional]})
	}
	return out, nil
}

type changeForClientInput struct {
	Body struct {
		AppointmentID uuid.UUID        `json:"appointment_id" doc:"Appointment to change"`
		Phone         string           `json:"phone,omitempty" maxLength:"40" doc:"Number of the client who wants it: an appointment of a client with another number is not found; absent: any client" example:"+5511987654321"`
		Reason        optional[string] `json:"reason,omitempty" maxLength:"500" doc:"Why it is cancelled, at most 500 characters"`
	} `nameHint:"ActionChange"`
}

type changedForClientOutput struct {
	Body struct {
		AppointmentID uuid.UUID      `json:"appointment_id" doc:"Names the appointment in this product"`
		Status        booking.Status `json:"status" doc:"After the change"`
		StartAt       time.Time      `json:"start_at" doc:"RFC 3339, with the organization's UTC offset"`
		Service       string         `json:"service" doc:"Name of the service"`
		Professional  string         `json:"professional" doc:"Display name"`
	} `nameHint:"ActionChanged"`
}

func (a *API) confirmForClient(ctx context.Context, in *changeForClientInput) (*changedForClientOutput, error) {
	return a.changeForClient(ctx, booking.Confirm, in)
}

func (a *API) cancelForClient(ctx context.Context, in *changeForClientInput) (*changedForClientOutput, error) {
	return a.changeForClient(ctx, booking.Cancel, in)
}

// changeForClient changes an appointment as its client wants it: connected products have the
// client's notice to keep. Repeating a change is no error.
func (a *API) changeForClient(ctx context.Context, action booking.Action, in *changeForClientInput) (*changedForClientOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	reason, err := parseReason(in.Body.Reason)
	if err != nil {
		return nil, err
	}
	var clients []uuid.UUID
	if in.Body.Phone != "" {
		var errs fieldErrors
		errs.completePhoneText(&in.Body.Phone, org)
		if err := errs.Err(); err != nil {
			return nil, err
		}
		found, err := a.findClientsByPhone(ctx, org, in.Body.Phone)
		if err != nil {
			return nil, err
		}
		clients = clientIDs(found)
	}
	caller, _ := module.CallerFrom(ctx)
	before, err := a.store.AppointmentByID(ctx, org.ID, in.Body.AppointmentID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Appointment", err)
	}
	if in.Body.Phone != "" && !slices.Contains(clients, before.ClientID) {
		return nil, hub.NotFound("Appointment")
	}
	updated, err := a.store.ApplyAction(ctx, action, store.AppointmentChange{
		Org: org, ID: before.ID, By: currentActor(ctx), Reason: reason,
		Check: func(locked store.Appointment) error {
			switch {
			case locked.ClientID != before.ClientID:
				return hub.NotFound("Appointment")
			case caller.UserID != uuid.Nil:
				return nil
			case action == booking.Cancel:
				return org.Policy.ClientMayCancel(locked.StartAt.In(org.Zone), a.host.Now())
			case !locked.StartAt.After(a.host.Now()):
				return hub.Errorf(hub.ErrConflict, "already_started", "The appointment has begun.")
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	out := &changedForClientOutput{}
	out.Body.AppointmentID, out.Body.Status, out.Body.StartAt = updated.ID, updated.Status, updated.StartAt.In(org.Zone)
	out.Body.Service, out.Body.Professional = updated.ServiceName, updated.ProfessionalName
	return out, nil
}
