package api

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// FoundClient is a client in responses to connected products.
type FoundClient struct {
	ID                uuid.UUID     `json:"id" doc:"Names the client in this product"`
	Name              string        `json:"name" doc:"Display name"`
	Phone             *string       `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Email             *string       `json:"email" doc:"E-mail address; null: none"`
	CPF               *string       `json:"cpf" doc:"All but the check digits are hidden"`
	BirthDate         *string       `json:"birth_date" doc:"Day of birth, YYYY-MM-DD; null: unknown"`
	LastAppointment   *time.Time    `json:"last_appointment" doc:"When the latest one took place; null: none"`
	NextAppointment   *time.Time    `json:"next_appointment" doc:"When the next one begins; null: none"`
	TotalAppointments int           `json:"total_appointments" doc:"How many were completed"`
	TotalSpent        booking.Cents `json:"total_spent" doc:"Sum of what was paid, less refunds"`
}

// PhoneQuery holds the phone number of a search.
type PhoneQuery struct {
	Phone string `query:"phone" required:"true" maxLength:"40" doc:"Number of the person, with or without country"`
}

type foundClientOutput struct {
	Body struct {
		Found  bool         `json:"found" doc:"Whether somebody has this number"`
		Client *FoundClient `json:"client" doc:"Who has it; null: nobody"`
	} `nameHint:"ClientSearch"`
}

func (a *API) searchClients(ctx context.Context, in *PhoneQuery) (*foundClientOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.findClientsByPhone(ctx, org, in.Phone)
	out := &foundClientOutput{}
	if err != nil || len(rows) == 0 {
		return out, err
	}
	clients, err := a.toClients(ctx, org, rows[:1])
	if err != nil {
		return nil, err
	}
	client := clients[0]
	if client.CPF != nil {
		masked := "***.***.***" + (*client.CPF)[len(*client.CPF)-3:]
		client.CPF = &masked
	}
	out.Body.Found = true
	out.Body.Client = &FoundClient{
		ID: client.ID, Name: client.Name, Phone: client.Phone, Email: client.Email, CPF: client.CPF, BirthDate: client.BirthDate, LastAppointment: inZone(client.LastAppointmentAt, time.UTC),
		NextAppointment: inZone(client.NextAppointmentAt, time.UTC), TotalAppointments: client.TotalAppointments, TotalSpent: client.TotalSpent,
	}
	return out, nil
}

type searchAppointmentsInput struct {
	PhoneQuery
	Status string `query:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"Only those with this status"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Most appointments in the response"`
}

// FoundAppointment is an appointment in responses to connected products.
type FoundAppointment struct {
	ID           uuid.UUID      `json:"id" doc:"Names the appointment in this product"`
	Datetime     time.Time      `json:"datetime" doc:"When it begins"`
	Service      string         `json:"service" doc:"Name of what is booked"`
	Professional string         `json:"professional" doc:"Name of who does it"`
	Status       booking.Status `json:"status" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
	URL          string         `json:"url" doc:"Page that says where the appointment is shown"`
}

type foundAppointmentsOutput struct {
	Body struct {
		Appointments []FoundAppointment `json:"appointments" nullable:"false" doc:"The latest first"`
	} `nameHint:"AppointmentSearch"`
}

func (a *API) searchAppointments(ctx context.Context, in *searchAppointmentsInput) (*foundAppointmentsOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	clients, err := a.findClientsByPhone(ctx, org, in.Phone)
	if err != nil {
		return nil, err
	}
	var statuses []string
	if in.Status != "" {
		statuses = append(statuses, in.Status)
	}
	rows, err := a.store.LatestAppointments(ctx, org.ID, clientIDs(clients), statuses, in.Limit)
	out := &foundAppointmentsOutput{}
	out.Body.Appointments = rest.Map(rows, func(row store.AppointmentDetail) FoundAppointment {
		return FoundAppointment{
			ID: row.ID, Datetime: row.StartAt.UTC(), Service: row.ServiceName, Professional: row.ProfessionalName, Status: row.Status,
			URL: a.host.URLs.Public + AppointmentPages + row.ID.String(),
		}
	})
	return out, err
}

type bookByPhoneInput struct {
	Body struct {
		Phone          string              `json:"phone" maxLength:"40" doc:"Number of the person, with or without country"`
		Name           optional[string]    `json:"name,omitempty" maxLength:"120" doc:"What a new client is called; control characters are removed. Absent: the number"`
		Email          optional[string]    `json:"email,omitempty" maxLength:"254" doc:"Where a new client gets mail"`
		ServiceID      optional[uuid.UUID] `json:"service_id,omitempty" doc:"What is booked; or its name in service"`
		Service        optional[string]    `json:"service,omitempty" maxLength:"120" doc:"Instead of service_id: its exact name"`
		ProfessionalID nullable[uuid.UUID] `json:"professional_id,omitempty" doc:"null or absent: whoever has the fewest bookings that day"`
		StartAt        optional[string]    `json:"start_at,omitempty" maxLength:"35" doc:"Start: ISO 8601 date-time with UTC offset; fractions of a second are dropped" example:"2026-03-02T09:00:00-03:00"`
		Datetime       optional[string]    `json:"datetime,omitempty" maxLength:"35" doc:"The same as start_at"`
		Notes          optional[string]    `json:"notes,omitempty" maxLength:"2000" doc:"Remarks for the staff"`
		SourceID       optional[string]    `json:"source_id,omitempty" maxLength:"200" doc:"The caller's own id: the same booking with the same id is booked once; another booking with it is refused"`
	} `nameHint:"ActionBook"`
}

type bookByPhoneOutput struct {
	Body struct {
		AppointmentID uuid.UUID              `json:"appointment_id" doc:"Names the appointment in this product"`
		Status        booking.Status         `json:"status" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
		StartAt       time.Time              `json:"start_at" doc:"When it begins, in the organization's time zone"`
		EndAt         time.Time              `json:"end_at" doc:"When it ends, in the organization's time zone"`
		Service       string                 `json:"service" doc:"Name of what is booked"`
		Professional  string                 `json:"professional" doc:"Name of who does it"`
		CancelURL     string                 `json:"cancel_url" doc:"Page where the client can cancel"`
		Deposit       *publicbooking.Deposit `json:"deposit" doc:"To be paid by expires_at, or the appointment is cancelled; null: none is due"`
		Locale        string                 `json:"locale" doc:"Language of the organization, for messages to the client" example:"pt-BR"`
	} `nameHint:"ActionBooked"`
}

// parseStart validates the request and returns the start of the appointment.
func (in *bookByPhoneInput) parseStart(org store.Org) (start time.Time, err error) {
	body := &in.Body
	field, location := body.StartAt, "body.start_at"
	if !field.HasValue() && body.Datetime.HasValue() {
		field, location = body.Datetime, "body.datetime"
	}
	var errs fieldErrors
	errs.completePhoneText(&body.Phone, org)
	if body.Email.HasValue() {
		errs.CheckEmail(&body.Email.Value, "body.email")
	}
	errs.CheckLength(body.Name.Value, "body.name", 0, 120)
	errs.CheckLength(body.Notes.Value, "body.notes", 0, 2000)
	errs.CheckLength(body.SourceID.Value, "body.source_id", 0, 200)
	errs.Check(body.ServiceID.HasValue() || body.Service.HasValue(), "body.service_id", "is required")
	errs.Check(field.HasValue(), "body.start_at", "is required")
	if err := errs.Err(); err != nil {
		return start, err
	}
	return parseInstant(location, field.Value)
}

func (a *API) bookByPhone(ctx context.Context, in *bookByPhoneInput) (*bookByPhoneOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	start, err := in.parseStart(org)
	if err != nil {
		return nil, err
	}
	service, err := a.findService(ctx, org.ID, in)
	if err != nil {
		return nil, err
	}
	caller, _ := module.CallerFrom(ctx)
	body, view := &in.Body, a.callerView(ctx, org)
	request := store.NewAppointment{
		Org: org, ServiceChoice: store.ServiceChoice{Service: service, Online: view.Online}, Start: start, Notes: body.Notes.Value, Source: booking.SourceIntegration,
		By: currentActor(ctx), Limits: view.Limits,
	}
	body.ProfessionalID.ApplyTo(&request.Professional)
	if body.SourceID.Value != "" {
		source := caller.Peer + ":" + body.SourceID.Value
		request.SourceID, request.SourceHash = &source, hashSourceRequest(request, body.Phone)
	}
	contact := store.Contact{Name: names.Clean(body.Name.Value), Phone: body.Phone, Email: body.Email.Value, Source: "messaging"}
	if caller.Peer == "clinic" {
		contact.Source = caller.Peer
	}
	if contact.Name != "" || contact.Email != "" {
		override := contact
		request.Contact = &override
	}
	if contact.Name == "" {
		contact.Name = body.Phone
	}
	request.AdmitClient = func(ctx context.Context, tx *store.Tx) (store.Client, error) {
		client, err := tx.FindOrCreateClient(ctx, org.ID, contact)
		if err != nil {
			return client, err
		}
		return client, publicbooking.CheckNotBlocked(client)
	}
	booked, err := a.publicBooking.BookWithDeposit(ctx, request, provider.Payer{Name: contact.Name, Email: contact.Email})
	if err != nil {
		return nil, payment.WithPayerEmailField(err, "body.email")
	}
	out := &bookByPhoneOutput{}
	out.Body.AppointmentID, out.Body.Status, out.Body.StartAt, out.Body.EndAt = booked.ID, booked.Status, booked.StartAt.In(org.Zone), booked.EndAt.In(org.Zone)
	out.Body.Service, out.Body.Professional = booked.ServiceName, booked.ProfessionalName
	out.Body.CancelURL, out.Body.Deposit, out.Body.Locale = booked.ManageURL, booked.Deposit, org.Locale
	return out, nil
}

// hashSourceRequest returns the hash of what a request with a source_id books: what a repeat
// must have in common with it. Name, e-mail address and notes may differ.
func hashSourceRequest(request store.NewAppointment, phone string) []byte {
	professional := ""
	if request.Professional != nil {
		professional = request.Professional.String()
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{request.Service.String(), professional, strconv.FormatInt(request.Start.Unix(), 10), booking.CanonicalPhone(phone)}, " ")))
	return sum[:]
}

// findService returns the service of the given ID or exact name.
func (a *API) findService(ctx context.Context, org uuid.UUID, in *bookByPhoneInput) (uuid.UUID, error) {
	if in.Body.ServiceID.HasValue() {
		return in.Body.ServiceID.Value, nil
	}
	services, err := a.store.ListServices(ctx, org)
	if err != nil {
		return uuid.Nil, err
	}
	for _, service := range services {
		if service.Name == in.Body.Service.Value && service.IsActive {
			return service.ID, nil
		}
	}
	return uuid.Nil, hub.Invalid("body.service", "is not the name of a service")
}

// Integration is a connected product in the shape of docs/interfaces/scheduling.md
// (Integrations).
type Integration struct {
	ID              uuid.UUID  `json:"id" doc:"Names the connection in paths"`
	Product         string     `json:"product" doc:"Name of the other side"`
	Status          string     `json:"status" enum:"active,inactive,error" doc:"Whether it works"`
	LastError       *string    `json:"last_error" doc:"What went wrong last; null: nothing"`
	Features        []string   `json:"features" nullable:"false" doc:"What the other product offers"`
	Enabled         []string   `json:"enabled" nullable:"false" doc:"What the connection is used for"`
	APIURL          string     `json:"api_url" doc:"Base address of the other side"`
	WebhookURL      string     `json:"webhook_url" doc:"Where events arrive here"`
	APIKeyLocal     string     `json:"api_key_local" example:"a1B2****" doc:"The last four characters of it, then asterisks"`
	APIKeyRemote    string     `json:"api_key_remote" example:"a1B2****" doc:"As api_key_local"`
	LastHealthCheck *time.Time `json:"last_health_check" doc:"When the other side was last asked; null: never"`
	CreatedAt       time.Time  `json:"created_at" doc:"When it was stored"`
}

// Integrations lists an organization's integrations.
type Integrations struct {
	Integrations []Integration `json:"integrations" nullable:"false" doc:"Connections of the organization"`
}

// ToIntegration converts an integration for its administrator.
func ToIntegration(integration module.Integration) Integration {
	output := Integration{
		ID: integration.ID, Product: integration.Product, Status: integration.Status, Features: append([]string{}, integration.Features...), Enabled: append([]string{}, integration.EnabledUses...),
		APIURL: integration.APIURL, WebhookURL: integration.WebhookURL, APIKeyLocal: maskKey(integration.LocalKeyLast4), APIKeyRemote: maskKey(integration.RemoteKeyLast4),
		LastHealthCheck: inZone(&integration.LastHealthCheck, time.UTC), CreatedAt: integration.CreatedAt.UTC(),
	}
	if integration.LastError != "" {
		output.LastError = &integration.LastError
	}
	return output
}

// ToIntegrations converts a list of integrations.
func ToIntegrations(integrations []module.Integration) Integrations {
	return Integrations{rest.Map(integrations, ToIntegration)}
}

// maskKey returns the last four characters of a key, then asterisks.
func maskKey(last4 string) string {
	if last4 == "" {
		return ""
	}
	return last4 + "****"
}

// SearchPhone returns at most 100 clients of all organizations with the phone number.
func (a *API) SearchPhone(ctx context.Context, phone string) ([]module.PersonMatch, error) {
	rows, err := a.store.ClientsByPhoneInAllOrgs(ctx, booking.PhoneForms(phone))
	return clientMatches(rows), dberr.Wrap("finding clients", err)
}

// SearchEmail returns at most 100 clients of all organizations with an e-mail address.
func (a *API) SearchEmail(ctx context.Context, email string) ([]module.PersonMatch, error) {
	rows, err := a.store.ClientsByEmailInAllOrgs(ctx, email)
	return clientMatches(rows), dberr.Wrap("finding clients", err)
}

// SearchCPFEnd returns at most 100 clients of all organizations whose CPF ends with two digits.
func (a *API) SearchCPFEnd(ctx context.Context, lastTwo string) ([]module.PersonMatch, error) {
	rows, err := a.store.ClientsByCPFEnd(ctx, lastTwo)
	return clientMatches(rows), dberr.Wrap("finding clients", err)
}

func clientMatches(rows []store.Client) []module.PersonMatch {
	return rest.Map(rows, func(client store.Client) module.PersonMatch {
		return module.PersonMatch{TenantID: client.OrgID, Kind: "client", ID: client.ID.String(), Name: client.Name}
	})
}
