package api

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

// Bookings that users make for the contact of a ticket, at the connected scheduling product.

// TicketServices lists what can be booked.
type TicketServices struct {
	Services []appointments.Offered `json:"services" nullable:"false" doc:"In the order of the scheduling product"`
}

func (a *API) listTicketServices(ctx context.Context, in *IDParam) (*struct{ Body TicketServices }, error) {
	_, _, integration, err := a.schedulingOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	found, err := a.appointments.Services(ctx, integration)
	return &struct{ Body TicketServices }{TicketServices{append([]appointments.Offered{}, found.Services...)}}, mapSchedulingError(err)
}

type freeTimesInput struct {
	IDParam
	ServiceID      string    `query:"service_id" required:"true" minLength:"1" maxLength:"200" doc:"Service to book, as the scheduling product calls it"`
	ProfessionalID string    `query:"professional_id" maxLength:"200" doc:"As the scheduling product calls it; absent: anybody"`
	After          time.Time `query:"after" doc:"Only later times; absent: from now on" example:"2026-03-02T09:00:00-03:00"`
	Limit          int       `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many at most"`
}

// TicketFreeTimes are times that can be booked.
type TicketFreeTimes struct {
	Service string                  `json:"service" doc:"Name of the service" example:"Haircut"`
	Times   []appointments.FreeTime `json:"times" nullable:"false" doc:"The earliest first"`
}

func (a *API) listFreeTimes(ctx context.Context, in *freeTimesInput) (*struct{ Body TicketFreeTimes }, error) {
	_, _, integration, err := a.schedulingOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	found, err := a.appointments.FreeTimes(ctx, integration, appointments.FreeTimeQuery{ServiceID: in.ServiceID, ProfessionalID: in.ProfessionalID, After: in.After, Limit: in.Limit})
	return &struct{ Body TicketFreeTimes }{TicketFreeTimes{found.Service, append([]appointments.FreeTime{}, found.Times...)}}, mapSchedulingError(err)
}

type createBookingInput struct {
	IDParam
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"100" pattern:"^[ -~]*$" doc:"Unique for the booking: the same key books once, and sends one message" example:"booking-17"`
	Body           struct {
		ServiceID      string    `json:"service_id" minLength:"1" maxLength:"200" doc:"Service to book"`
		ProfessionalID string    `json:"professional_id,omitempty" maxLength:"200" doc:"Who does it; absent: whoever is free"`
		StartAt        time.Time `json:"start_at" doc:"One of the free times" example:"2026-03-02T09:00:00-03:00"`
		Silent         bool      `json:"silent,omitempty" doc:"Sends no message to the contact"`
	} `nameHint:"NewBooking"`
}

// TicketBooking is an appointment that was booked for a ticket's contact.
type TicketBooking struct {
	AppointmentID string    `json:"appointment_id" doc:"As the scheduling product calls it"`
	Status        string    `json:"status" doc:"Of the appointment" example:"scheduled"`
	StartAt       time.Time `json:"start_at" doc:"With the organization's UTC offset"`
	EndAt         time.Time `json:"end_at" doc:"With the organization's UTC offset"`
	Service       string    `json:"service" doc:"Name" example:"Haircut"`
	Professional  string    `json:"professional" doc:"Name" example:"Ana"`
	CancelURL     string    `json:"cancel_url" doc:"Where the contact changes or cancels it; empty: nowhere"`
	MessageID     *string   `json:"message_id" doc:"Message that confirms it to the contact; null: none was sent"`
}

func (a *API) createBooking(ctx context.Context, in *createBookingInput) (*struct{ Body TicketBooking }, error) {
	user, ticket, integration, err := a.schedulingOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	source := "ticket-" + chat.FormatID(ticket.ID) + "-" + uuid.NewString()
	if in.IdempotencyKey != "" {
		source = "ticket-" + chat.FormatID(ticket.ID) + "-key-" + in.IdempotencyKey
	}
	contact, err := a.store.Contact(ctx, user.scope.Company, ticket.ContactID)
	if err != nil {
		return nil, err
	}
	if contact.Number == "" {
		return nil, refused("wapp_invalid_contact", "The contact was anonymized, or has no number yet.")
	}
	request := appointments.Booking{
		Phone: chat.FormatE164(contact.Number), ServiceID: in.Body.ServiceID, ProfessionalID: in.Body.ProfessionalID, StartAt: in.Body.StartAt, SourceID: source,
	}
	if contact.Name != contact.Number {
		request.Name = contact.Name
	}
	booked, err := a.appointments.Book(ctx, integration, request)
	if err != nil {
		return nil, mapSchedulingError(err)
	}
	b := booked
	out := &struct{ Body TicketBooking }{TicketBooking{b.AppointmentID, b.Status, b.StartAt, b.EndAt, b.Service, b.Professional, b.CancelURL, nil}}
	if !in.Body.Silent {
		out.Body.MessageID, err = a.announceBooking(ctx, user, ticket.ID, source, booked)
	}
	return out, err
}

// announceBooking writes to the contact what was booked, once for a source id. A contact that
// takes no message now, or whose ticket became another user's, gets none: the booking stands.
func (a *API) announceBooking(ctx context.Context, user userPrincipal, ticketID int64, source string, booked appointments.Booked) (id *string, err error) {
	draft := store.Message{UserID: &user.user.ID, Body: autoreply.FormatBooking(booked.Locale, booked), MediaType: chat.MediaText, Origin: chat.OriginAgent, ExternalKey: &source}
	var entry *store.OutboxEntry
	err = a.store.InTx(ctx, "confirming a booking", func(tx *store.Tx) error {
		entry = nil
		ticket, err := a.lockForMessage(ctx, tx, user, ticketID, draft)
		if err != nil {
			return err
		}
		if exists, err := tx.MessageExistsByExternalKey(ctx, user.scope.Company, ticketID, source); exists || err != nil {
			return err
		}
		_, written, err := a.outbound.Write(ctx, tx, outbound.Draft{Ticket: ticket, Message: draft})
		entry = &written
		return err
	})
	var refusal *hub.Error
	if errors.As(err, &refusal) && (errors.Is(err, hub.ErrMalformed) || errors.Is(err, hub.ErrForbidden)) || err == nil && entry == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = a.outbound.Send(ctx, user.scope, *entry)
	return &entry.MessageID, err
}

// schedulingOf returns the user of a request, a ticket that it sees, and the integration with
// the company's scheduling product.
func (a *API) schedulingOf(ctx context.Context, ticketID int64) (user userPrincipal, ticket store.Ticket, integration uuid.UUID, err error) {
	if user, err = a.requireUser(ctx); err != nil {
		return user, ticket, integration, err
	}
	if ticket, err = a.requireTicket(ctx, user, ticketID); err != nil {
		return user, ticket, integration, err
	}
	integration, err = a.appointments.Find(ctx, user.scope.Tenant)
	return user, ticket, integration, err
}

// mapSchedulingError returns the error of a call for callers: what the scheduling product
// refuses is a 400 with its code.
func mapSchedulingError(err error) error {
	var problem *hub.Error
	switch {
	case errors.Is(err, appointments.ErrTimeTaken), !errors.As(err, &problem):
		return err
	case errors.Is(err, hub.ErrInvalid), errors.Is(err, hub.ErrNotFound), errors.Is(err, hub.ErrConflict):
		return refused("scheduling_refused", "The scheduling product refused it ("+problem.Code+"): check service, professional and time.")
	}
	return err
}
