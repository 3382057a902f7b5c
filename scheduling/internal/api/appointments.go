package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// Appointment is an appointment in API responses.
type Appointment struct {
	ID               uuid.UUID             `json:"id" doc:"Names the appointment in paths and events"`
	OrgID            uuid.UUID             `json:"org_id" doc:"Organization that owns it"`
	ClientID         uuid.UUID             `json:"client_id" doc:"Client whom it is for"`
	ProfessionalID   uuid.UUID             `json:"professional_id" doc:"Professional who does it"`
	ServiceID        uuid.UUID             `json:"service_id" doc:"Service that is booked"`
	StartAt          time.Time             `json:"start_at" doc:"When it begins, in the organization's time zone"`
	EndAt            time.Time             `json:"end_at" doc:"When it ends, in the organization's time zone"`
	DurationMinutes  int                   `json:"duration_minutes" doc:"Length in minutes"`
	Price            booking.Cents         `json:"price" doc:"Amount to pay, in the organization's currency"`
	Status           booking.Status        `json:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
	Source           booking.Source        `json:"source" enum:"web,dashboard,api,integration" doc:"Where it was booked: the public page, the dashboard, this API or a connected product"`
	Notes            string                `json:"notes" doc:"Remarks of the staff or the client"`
	Locale           *string               `json:"locale" doc:"Language the client booked in and is written to, pt-BR, en or es; null: the organization's"`
	Reason           *string               `json:"reason" doc:"Of the cancellation"`
	CancelledBy      *string               `json:"cancelled_by" doc:"Who cancelled: staff, client, system or integration; null: nobody"`
	CancelledAt      *time.Time            `json:"cancelled_at" doc:"When it was cancelled; null: it was not"`
	ConfirmedAt      *time.Time            `json:"confirmed_at" doc:"When it was confirmed; null: it was not"`
	CompletedAt      *time.Time            `json:"completed_at" doc:"When it was marked as completed; null: it was not"`
	NoShowAt         *time.Time            `json:"no_show_at" doc:"When it was marked as missed; null: it was not"`
	RescheduledCount int                   `json:"rescheduled_count" doc:"How often it was moved"`
	OriginalStartAt  *time.Time            `json:"original_start_at" doc:"When it first was to begin; null: it was never moved"`
	DepositStatus    booking.DepositStatus `json:"deposit_status" enum:"none,pending,paid,refunded,forfeited" doc:"Whether a deposit is due, paid, refunded or kept. Of a cancelled appointment, paid means that the refund is still to be made"`
	DepositAmount    *booking.Cents        `json:"deposit_amount" doc:"Part of the price that is paid in advance; null: none"`
	PaymentStatus    booking.PaymentStatus `json:"payment_status" enum:"unpaid,partial,paid" doc:"How much of the price is paid"`
	NeedsRefund      bool                  `json:"needs_refund" doc:"Money must be refunded by hand"`
	EmailsWithheld   bool                  `json:"emails_withheld" doc:"The last e-mail to the client was left out, because the address got too many about online bookings. None follows, also no reminder, until staff or the client change the appointment"`
	Version          int                   `json:"version" doc:"Send it as If-Match to change only what you have seen"`
	Overbooked       bool                  `json:"overbooked" doc:"Booked although the time was taken"`
	Client           NamedClient           `json:"client" doc:"Who comes, in short"`
	Professional     NamedProfessional     `json:"professional" doc:"Who does it, in short"`
	Service          NamedService          `json:"service" doc:"What is done, in short"`
	CreatedAt        time.Time             `json:"created_at" doc:"When it was stored"`
	UpdatedAt        time.Time             `json:"updated_at" doc:"When it was last changed"`
}

// NamedProfessional is the ID and name of a professional.
type NamedProfessional struct {
	ID   uuid.UUID `json:"id" doc:"Names the professional in paths"`
	Name string    `json:"name" doc:"Display name"`
}

// NamedClient is the short form of a client.
type NamedClient struct {
	ID    uuid.UUID `json:"id" doc:"Names the client in paths"`
	Name  string    `json:"name" doc:"Display name"`
	Phone *string   `json:"phone" doc:"In international form, +5511987654321; null: none"`
}

// NamedService is the short form of a service.
type NamedService struct {
	ID    uuid.UUID `json:"id" doc:"Names the service in paths"`
	Name  string    `json:"name" doc:"Display name"`
	Color string    `json:"color" doc:"How calendars paint it, #RRGGBB"`
}

// AppointmentSummary is the short form of an appointment.
type AppointmentSummary struct {
	ID           uuid.UUID      `json:"id" doc:"Names the appointment in paths"`
	StartAt      time.Time      `json:"start_at" doc:"When it begins, in the organization's time zone"`
	EndAt        time.Time      `json:"end_at" doc:"When it ends, in the organization's time zone"`
	Status       booking.Status `json:"status" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
	Client       string         `json:"client" doc:"Name of who comes"`
	Service      string         `json:"service" doc:"Name of what is booked"`
	Professional string         `json:"professional" doc:"Name of who does it"`
}

// HistoryEntry is a change of an appointment.
type HistoryEntry struct {
	At                 time.Time      `json:"at" doc:"When the change was made"`
	Action             string         `json:"action" doc:"create, edit (price, client or notes), rebook, or the action that was done"`
	By                 string         `json:"by" enum:"staff,client,system,integration" doc:"Kind of the person or program that made the change"`
	User               *string        `json:"user" doc:"Name of the user"`
	FromStatus         *string        `json:"from_status" doc:"State before; null: it was new"`
	ToStatus           string         `json:"to_status" doc:"State after the change"`
	FromStartAt        *time.Time     `json:"from_start_at" doc:"Begin before, where it was moved"`
	ToStartAt          *time.Time     `json:"to_start_at" doc:"Begin after, where it was moved"`
	FromProfessionalID *uuid.UUID     `json:"from_professional_id" doc:"Who did it before, where that changed"`
	ToProfessionalID   *uuid.UUID     `json:"to_professional_id" doc:"Who does it since, where that changed"`
	FromPrice          *booking.Cents `json:"from_price" doc:"Where an edit changed the price"`
	ToPrice            *booking.Cents `json:"to_price" doc:"Price after, where an edit changed it"`
	FromClientID       *uuid.UUID     `json:"from_client_id" doc:"Where an edit changed the client"`
	ToClientID         *uuid.UUID     `json:"to_client_id" doc:"Client after, where an edit changed it"`
	Reason             *string        `json:"reason" doc:"Why, in the caller's words"`
}

// AppointmentDetail is an appointment with its payments and history.
type AppointmentDetail struct {
	Appointment
	Payments []Payment      `json:"payments" nullable:"false" doc:"Money that was asked for or paid for it, the latest first"`
	History  []HistoryEntry `json:"history" nullable:"false" doc:"What was done with it, the latest first"`
}

// BookedAppointment is an appointment with the warnings of the change.
type BookedAppointment struct {
	Appointment
	Warnings []string `json:"warnings" nullable:"false" doc:"outside_working_hours, in_the_past, daily_limit_reached: what staff may do all the same"`
}

func toAppointment(row store.AppointmentDetail, zone *time.Location) Appointment {
	return Appointment{
		ID: row.ID, OrgID: row.OrgID, ClientID: row.ClientID, ProfessionalID: row.ProfessionalID, ServiceID: row.ServiceID,
		StartAt: row.StartAt.In(zone), EndAt: row.EndAt.In(zone), DurationMinutes: int(row.EndAt.Sub(row.StartAt).Minutes()), Price: row.PriceCents,
		Status: row.Status, Source: row.Source, Notes: row.Notes, Locale: row.Locale, Reason: row.CancelReason, CancelledBy: row.CancelledBy,
		CancelledAt: inZone(row.CancelledAt, zone), ConfirmedAt: inZone(row.ConfirmedAt, zone), CompletedAt: inZone(row.CompletedAt, zone), NoShowAt: inZone(row.NoShowAt, zone),
		RescheduledCount: row.RescheduledCount, OriginalStartAt: inZone(row.OriginalStartAt, zone), DepositStatus: row.DepositStatus, DepositAmount: row.DepositCents,
		PaymentStatus: booking.PaymentStatusOf(row.PriceCents, row.PaidCents), NeedsRefund: row.NeedsRefund, EmailsWithheld: row.EmailsWithheld, Version: row.Version, Overbooked: row.Overbooked,
		Client: NamedClient{row.ClientID, row.ClientName, row.ClientPhone}, Professional: NamedProfessional{row.ProfessionalID, row.ProfessionalName},
		Service: NamedService{row.ServiceID, row.ServiceName, row.ServiceColor}, CreatedAt: row.CreatedAt.In(zone), UpdatedAt: row.UpdatedAt.In(zone),
	}
}

func toAppointmentSummary(row store.AppointmentDetail, zone *time.Location) AppointmentSummary {
	return AppointmentSummary{row.ID, row.StartAt.In(zone), row.EndAt.In(zone), row.Status, row.ClientName, row.ServiceName, row.ProfessionalName}
}

type bookedOutput struct{ Body BookedAppointment }

func toBookedOutput(booked store.BookedAppointment, zone *time.Location) *bookedOutput {
	if booked.Warnings == nil {
		booked.Warnings = []string{}
	}
	return &bookedOutput{BookedAppointment{toAppointment(booked.AppointmentDetail, zone), booked.Warnings}}
}

type appointmentsInput struct {
	Date           string   `query:"date" maxLength:"10" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" format:"date" doc:"Those that start on this day"`
	DateFrom       string   `query:"date_from" format:"date" doc:"With date_to: those that start on these days, at most 93"`
	DateTo         string   `query:"date_to" format:"date" doc:"With date_from: the last of the days, YYYY-MM-DD"`
	Status         []string `query:"status,explode" enum:"scheduled,confirmed,completed,cancelled,no_show" maxItems:"20" doc:"May repeat"`
	ProfessionalID string   `query:"professional_id" format:"uuid" doc:"Only those of this professional"`
	ClientID       string   `query:"client_id" format:"uuid" doc:"Only those of this client"`
	Page           int      `query:"page" minimum:"1" maximum:"100000" default:"1" doc:"Which part of the list, from 1"`
	PerPage        int      `query:"per_page" minimum:"1" maximum:"500" default:"200" doc:"Most appointments in the response"`
	Limit          int      `query:"limit" minimum:"0" maximum:"500" doc:"The same as per_page"`
}

type appointmentsOutput struct {
	Total int    `header:"X-Total-Count"`
	Link  string `header:"Link"`
	Body  []Appointment
}

// maxListDays is the longest range of days of an appointment list.
const maxListDays = 93

// parseSpan parses the range of days. It returns nil for both ends if the query has none.
func (in *appointmentsInput) parseSpan(zone *time.Location) (since, until *time.Time, err error) {
	first, last := in.DateFrom, in.DateTo
	switch {
	case in.Date != "" && (first != "" || last != ""):
		return nil, nil, hub.Invalid("query.date", "cannot be combined with date_from and date_to")
	case in.Date != "":
		if _, err := parseDate("query.date", in.Date); err != nil {
			return nil, nil, err
		}
		first, last = in.Date, in.Date
	case first == "" && last == "":
		return nil, nil, nil
	case first == "":
		return nil, nil, hub.Invalid("query.date_from", "is needed with date_to")
	case last == "":
		return nil, nil, hub.Invalid("query.date_to", "is needed with date_from")
	}
	from, err := parseDate("query.date_from", first)
	if err != nil {
		return nil, nil, err
	}
	to, err := parseDate("query.date_to", last)
	if err != nil {
		return nil, nil, err
	}
	if to < from || to-from >= maxListDays {
		return nil, nil, hub.Invalid("query.date_to", "must be at most 93 days from date_from")
	}
	start, end := dayBounds(from, to, zone)
	return &start, &end, nil
}

func (a *API) listAppointments(ctx context.Context, in *appointmentsInput) (*appointmentsOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	since, until, err := in.parseSpan(org.Zone)
	if err != nil {
		return nil, err
	}
	professional, err := parseOptionalID("query.professional_id", in.ProfessionalID)
	if err != nil {
		return nil, err
	}
	client, err := parseOptionalID("query.client_id", in.ClientID)
	if err != nil {
		return nil, err
	}
	if in.Limit > 0 {
		in.PerPage = in.Limit
	}
	filter := store.AppointmentFilter{Since: since, Until: until, Statuses: in.Status, Professional: professional, Client: client}
	rows, total, err := a.store.AppointmentPage(ctx, org.ID, filter, store.Page{Limit: in.PerPage, Offset: (in.Page - 1) * in.PerPage})
	if err != nil {
		return nil, err
	}
	return &appointmentsOutput{
		Total: total, Link: a.pageLinks(in, total),
		Body: rest.Map(rows, func(appointment store.AppointmentDetail) Appointment { return toAppointment(appointment, org.Zone) }),
	}, nil
}

// pageLinks returns the Link header with the neighbouring pages (RFC 8288).
func (a *API) pageLinks(in *appointmentsInput, total int) string {
	query := url.Values{}
	for name, value := range map[string]string{
		"date": in.Date, "date_from": in.DateFrom, "date_to": in.DateTo, "professional_id": in.ProfessionalID, "client_id": in.ClientID,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for _, status := range in.Status {
		query.Add("status", status)
	}
	query.Set("per_page", strconv.Itoa(in.PerPage))
	link := ""
	add := func(page int, rel string) {
		query.Set("page", strconv.Itoa(page))
		if link != "" {
			link += ", "
		}
		link += fmt.Sprintf(`<%s/api/v1/appointments?%s>; rel=%q`, a.host.URLs.Base, query.Encode(), rel)
	}
	last := max(1, (total+in.PerPage-1)/in.PerPage)
	if in.Page > 1 {
		add(in.Page-1, "prev")
	}
	if in.Page < last {
		add(in.Page+1, "next")
	}
	add(1, "first")
	add(last, "last")
	return link
}

func (a *API) getAppointment(ctx context.Context, in *ByID) (*struct{ Body AppointmentDetail }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.AppointmentByID(ctx, org.ID, in.ID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Appointment", err)
	}
	history, err := a.store.ListHistory(ctx, org.ID, in.ID)
	if err != nil {
		return nil, err
	}
	payments, err := a.store.ListAppointmentPayments(ctx, org.ID, &in.ID)
	return &struct{ Body AppointmentDetail }{AppointmentDetail{
		Appointment: toAppointment(row, org.Zone),
		Payments:    toPayments(payments, org.Zone),
		History: rest.Map(history, func(entry store.HistoryEntry) HistoryEntry {
			return HistoryEntry{
				At: entry.At.In(org.Zone), Action: entry.Action, By: entry.Actor, User: entry.UserName, FromStatus: entry.FromStatus, ToStatus: entry.ToStatus,
				FromStartAt: inZone(entry.FromStartAt, org.Zone), ToStartAt: inZone(entry.ToStartAt, org.Zone),
				FromProfessionalID: entry.FromProfessionalID, ToProfessionalID: entry.ToProfessionalID, Reason: entry.Reason,
				FromPrice: entry.FromPriceCents, ToPrice: entry.ToPriceCents, FromClientID: entry.FromClientID, ToClientID: entry.ToClientID,
			}
		}),
	}}, err
}

type createAppointmentInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key books once, for 24 hours"`
	Body           struct {
		ClientID       uuid.UUID        `json:"client_id" doc:"Client whom it is for"`
		ProfessionalID uuid.UUID        `json:"professional_id" doc:"Professional who does it"`
		ServiceID      uuid.UUID        `json:"service_id" doc:"Service that is booked"`
		StartAt        string           `json:"start_at" maxLength:"35" doc:"ISO 8601 date-time with UTC offset; fractions of a second are dropped" example:"2026-03-02T09:00:00-03:00"`
		Notes          nullable[string] `json:"notes,omitempty" maxLength:"2000" doc:"null: empty"`
		Overbook       bool             `json:"overbook,omitempty" doc:"Owners and administrators: even where the time is taken"`
	} `nameHint:"NewAppointment"`
}

func (a *API) createAppointment(ctx context.Context, in *createAppointmentInput) (*bookedOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	body := &in.Body
	start, err := parseInstant("body.start_at", body.StartAt)
	if err != nil {
		return nil, err
	}
	var errs fieldErrors
	errs.CheckLength(body.Notes.Value, "body.notes", 0, 2000)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	actor := currentActor(ctx)
	if body.Overbook && !actor.Manager {
		return nil, adminOnlyError()
	}
	request := store.NewAppointment{
		Org: org, ServiceChoice: store.ServiceChoice{Service: body.ServiceID, Professional: &body.ProfessionalID}, Start: start, Notes: body.Notes.Value,
		Source: booking.SourceDashboard, By: actor, Overbook: body.Overbook,
		AdmitClient: func(ctx context.Context, tx *store.Tx) (store.Client, error) {
			return tx.LoadClient(ctx, org.ID, body.ClientID)
		},
	}
	if request.Idempotency, err = newIdempotencyKey("appointments.create", in.IdempotencyKey, body); err != nil {
		return nil, err
	}
	booked, err := a.store.Book(ctx, request)
	if err != nil {
		return nil, err
	}
	return toBookedOutput(booked, org.Zone), nil
}

func adminOnlyError() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "admin_only", "Only owners and administrators may do this.")
}

type updateAppointmentInput struct {
	ByID
	IfMatch string `header:"If-Match" doc:"The version you have seen"`
	Body    struct {
		Notes          nullable[string]        `json:"notes,omitempty" maxLength:"2000" doc:"null: empty"`
		ClientID       optional[uuid.UUID]     `json:"client_id,omitempty" doc:"Another client, while it is scheduled or confirmed"`
		ServiceID      optional[uuid.UUID]     `json:"service_id,omitempty" doc:"Another service, with its duration and price"`
		ProfessionalID optional[uuid.UUID]     `json:"professional_id,omitempty" doc:"Another professional, who offers the service"`
		StartAt        optional[string]        `json:"start_at,omitempty" maxLength:"35" doc:"Another begin: ISO 8601 date-time with UTC offset; fractions of a second are dropped"`
		Price          optional[booking.Cents] `json:"price,omitempty" minimum:"0" maximum:"99999999.99" doc:"Another amount, for this appointment only"`
		Status         json.RawMessage         `json:"status,omitempty" doc:"Not here: use the actions"`
		Overbook       bool                    `json:"overbook,omitempty" doc:"Owners and administrators: book even where the time is taken"`
	} `nameHint:"AppointmentFields"`
}

func (a *API) updateAppointment(ctx context.Context, in *updateAppointmentInput) (*bookedOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	body, actor := &in.Body, currentActor(ctx)
	if body.Status != nil {
		readOnlyErr := hub.Invalid("body.status", "is read-only")
		readOnlyErr.Code, readOnlyErr.Detail = "status_read_only", "Use the action endpoints to change status"
		return nil, readOnlyErr
	}
	update := store.AppointmentUpdate{
		Overbook: body.Overbook, Client: body.ClientID.Pointer(), Service: body.ServiceID.Pointer(), Professional: body.ProfessionalID.Pointer(), Price: body.Price.Pointer(),
	}
	if body.Notes.Set {
		update.Notes = &body.Notes.Value
	}
	if body.StartAt.HasValue() {
		start, err := parseInstant("body.start_at", body.StartAt.Value)
		if err != nil {
			return nil, err
		}
		update.Start = &start
	}
	var errs fieldErrors
	errs.CheckLength(body.Notes.Value, "body.notes", 0, 2000)
	errs.checkAmount(update.Price, org.Currency, "body.price")
	errs.Check(update.Price == nil || *update.Price >= 0 && *update.Price <= booking.MaxPrice, "body.price", "must be 0 to "+booking.MaxPrice.String())
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return a.applyUpdate(ctx, in.IfMatch, update, store.AppointmentChange{Org: org, ID: in.ID, By: actor})
}

func (a *API) applyUpdate(ctx context.Context, ifMatch string, update store.AppointmentUpdate, change store.AppointmentChange) (*bookedOutput, error) {
	var err error
	if change.Version, err = parseIfMatch(ifMatch); err != nil {
		return nil, err
	}
	if update.Overbook && !change.By.Manager {
		return nil, adminOnlyError()
	}
	updated, err := a.store.UpdateAppointment(ctx, update, change)
	if err != nil {
		return nil, err
	}
	return toBookedOutput(updated, change.Org.Zone), nil
}

type rescheduleInput struct {
	ByID
	IfMatch string `header:"If-Match" doc:"Version that you have seen; absent: any"`
	Body    struct {
		StartAt        string              `json:"start_at" maxLength:"35" doc:"ISO 8601 date-time with UTC offset; fractions of a second are dropped"`
		ProfessionalID optional[uuid.UUID] `json:"professional_id,omitempty" doc:"Another professional; absent: the same"`
		Reason         optional[string]    `json:"reason,omitempty" maxLength:"500" doc:"Why, in the caller's words"`
		NotifyClient   optional[bool]      `json:"notify_client,omitempty" doc:"false: the client is not notified. Absent: true"`
		Overbook       bool                `json:"overbook,omitempty" doc:"Owners and administrators: book even where the time is taken"`
	} `nameHint:"Reschedule"`
}

func (a *API) rescheduleAppointment(ctx context.Context, in *rescheduleInput) (*bookedOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	start, err := parseInstant("body.start_at", in.Body.StartAt)
	if err != nil {
		return nil, err
	}
	update := store.AppointmentUpdate{Start: &start, Professional: in.Body.ProfessionalID.Pointer(), Overbook: in.Body.Overbook, Reschedule: true}
	reason, err := parseReason(in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return a.applyUpdate(ctx, in.IfMatch, update, store.AppointmentChange{Org: org, ID: in.ID, By: currentActor(ctx), Reason: reason, SkipClient: in.Body.NotifyClient.HasValue() && !in.Body.NotifyClient.Value})
}

// parseReason validates the reason for a change.
func parseReason(field optional[string]) (*string, error) {
	reason := field.Pointer()
	var errs fieldErrors
	errs.CheckLength(pointer.ValueOrZero(reason), "body.reason", 0, 500)
	return reason, errs.Err()
}

// ActionInput holds the parameters of every status action.
type ActionInput struct {
	ByID
	IfMatch string `header:"If-Match" doc:"Version that you have seen; absent: any"`
}

type cancelInput struct {
	ActionInput
	Body *struct {
		Reason optional[string] `json:"reason,omitempty" maxLength:"500" doc:"Why, in the caller's words"`
	} `nameHint:"Cancel" required:"false"`
}

type appointmentOutput struct{ Body Appointment }

func (a *API) applyAction(ctx context.Context, action booking.Action, in *ActionInput, reason *string) (*appointmentOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	version, err := parseIfMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	updated, err := a.store.ApplyAction(ctx, action, store.AppointmentChange{Org: org, ID: in.ID, By: currentActor(ctx), Reason: reason, Version: version})
	if err != nil {
		return nil, err
	}
	return &appointmentOutput{toAppointment(updated, org.Zone)}, nil
}

func (a *API) confirmAppointment(ctx context.Context, in *ActionInput) (*appointmentOutput, error) {
	return a.applyAction(ctx, booking.Confirm, in, nil)
}

func (a *API) completeAppointment(ctx context.Context, in *ActionInput) (*appointmentOutput, error) {
	return a.applyAction(ctx, booking.Complete, in, nil)
}

func (a *API) markNoShow(ctx context.Context, in *ActionInput) (*appointmentOutput, error) {
	return a.applyAction(ctx, booking.MarkNoShow, in, nil)
}

func (a *API) reopenAppointment(ctx context.Context, in *ActionInput) (*appointmentOutput, error) {
	return a.applyAction(ctx, booking.Reopen, in, nil)
}

func (a *API) cancelAppointment(ctx context.Context, in *cancelInput) (*appointmentOutput, error) {
	var reason *string
	if in.Body != nil {
		var err error
		if reason, err = parseReason(in.Body.Reason); err != nil {
			return nil, err
		}
	}
	return a.applyAction(ctx, booking.Cancel, &in.ActionInput, reason)
}
