package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/like"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// Client is a person who books appointments.
type Client struct {
	ID                uuid.UUID     `json:"id" doc:"Names the client in paths and events"`
	Name              string        `json:"name" doc:"Display name"`
	Phone             *string       `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Email             *string       `json:"email" doc:"E-mail address; null: none"`
	CPF               *string       `json:"cpf" doc:"Brazilian tax id, in full; null: none" example:"529.982.247-25"`
	BirthDate         *string       `json:"birth_date" doc:"Day of birth, YYYY-MM-DD; null: unknown" example:"1990-05-17"`
	Notes             string        `json:"notes" doc:"Remarks of the staff or the client"`
	Tags              []string      `json:"tags" nullable:"false" doc:"Words that the staff sorts clients by"`
	IsBlocked         bool          `json:"is_blocked" doc:"Must not book online"`
	TotalAppointments int           `json:"total_appointments" doc:"Completed ones"`
	TotalSpent        booking.Cents `json:"total_spent" doc:"Sum of what was paid, less refunds"`
	NoShowCount       int           `json:"no_show_count" doc:"Appointments that were missed"`
	LoyaltyPoints     int64         `json:"loyalty_points" doc:"Balance in the loyalty program"`
	LastAppointmentAt *time.Time    `json:"last_appointment_at" doc:"Latest one that took place; null: none"`
	NextAppointmentAt *time.Time    `json:"next_appointment_at" doc:"Earliest one to come; null: none"`
	CreatedAt         time.Time     `json:"created_at" doc:"When it was stored"`

	MarketingConsent       bool       `json:"marketing_consent" doc:"The client agreed to be written to"`
	MarketingConsentAt     *time.Time `json:"marketing_consent_at" doc:"When that was recorded; null: never"`
	MarketingConsentSource *string    `json:"marketing_consent_source" enum:"staff,client" doc:"Who recorded it"`
}

// SavedClient is a stored client with its warnings and possible duplicates.
type SavedClient struct {
	Client
	Warnings             []string    `json:"warnings" nullable:"false" doc:"cpf_check_digit"`
	PossibleDuplicateIDs []uuid.UUID `json:"possible_duplicate_ids" nullable:"false" maxItems:"50" doc:"Clients with the same phone, the oldest first"`
}

// ClientDetail is a client with the latest appointments and payments.
type ClientDetail struct {
	Client
	Appointments []Appointment `json:"appointments" nullable:"false" doc:"The latest ten"`
	Payments     []Payment     `json:"payments" nullable:"false" doc:"The latest ten"`
}

type clientFields struct {
	Name      optional[string]   `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How the client is called" example:"Carla Dias"`
	Phone     nullable[string]   `json:"phone,omitempty" maxLength:"40" doc:"null: none"`
	Email     nullable[string]   `json:"email,omitempty" maxLength:"254" doc:"null: none"`
	CPF       nullable[string]   `json:"cpf,omitempty" maxLength:"40" doc:"null: none"`
	BirthDate nullable[string]   `json:"birth_date,omitempty" format:"date" doc:"null: unknown"`
	Notes     nullable[string]   `json:"notes,omitempty" maxLength:"5000" doc:"null: empty"`
	Tags      optional[[]string] `json:"tags,omitempty" maxItems:"50" doc:"Words to sort clients by"`
	IsBlocked optional[bool]     `json:"is_blocked,omitempty" doc:"true: must not book online"`

	MarketingConsent optional[bool] `json:"marketing_consent,omitempty" doc:"The client agreed to be written to"`
}

type createClientInput struct {
	Body clientFields `nameHint:"ClientFields"`
}

type updateClientInput struct {
	ByID
	Body clientFields `nameHint:"ClientFields"`
}

// openCPF decrypts a client's tax ID. It returns nil if there is none.
func (a *API) openCPF(client *store.Client) (*string, error) {
	digits, err := a.store.OpenCPF(client)
	if err != nil || digits == "" {
		return nil, err
	}
	formatted := booking.FormatCPF(digits)
	return &formatted, nil
}

func clientIDs(clients []store.Client) []uuid.UUID {
	return rest.Map(clients, func(client store.Client) uuid.UUID { return client.ID })
}

// toClients converts rows, with each client's last and next appointment.
func (a *API) toClients(ctx context.Context, org store.Org, rows []store.Client) ([]Client, error) {
	visitDates, err := a.store.LoadVisitDates(ctx, org.ID, clientIDs(rows))
	if err != nil {
		return nil, err
	}
	list := make([]Client, len(rows))
	for i := range rows {
		client := &rows[i]
		cpf, err := a.openCPF(client)
		if err != nil {
			return nil, err
		}
		visits := visitDates[client.ID]
		list[i] = Client{
			ID: client.ID, Name: client.Name, Phone: client.Phone, Email: client.Email, CPF: cpf, Notes: client.Notes, Tags: append([]string{}, client.Tags...), IsBlocked: client.IsBlocked,
			TotalAppointments: client.TotalAppointments, TotalSpent: client.TotalSpentCents, NoShowCount: client.NoShowCount, LoyaltyPoints: client.LoyaltyPoints,
			LastAppointmentAt: inZone(&visits.LastAt, org.Zone), NextAppointmentAt: inZone(&visits.NextAt, org.Zone), CreatedAt: client.CreatedAt.In(org.Zone),
			MarketingConsent: client.MarketingConsentAt != nil, MarketingConsentAt: inZone(client.MarketingConsentAt, org.Zone), MarketingConsentSource: client.MarketingConsentSource,
		}
		if client.BirthDate != nil {
			day := client.BirthDate.Format(time.DateOnly)
			list[i].BirthDate = &day
		}
	}
	return list, nil
}

// applyClientFields applies the fields to a client and validates the result.
func (a *API) applyClientFields(fields *clientFields, client *store.Client, org store.Org) (warnings []string, err error) {
	var errs fieldErrors
	errs.completePhone(&fields.Phone, org)
	fields.Name.ApplyTo(&client.Name)
	fields.Phone.ApplyTo(&client.Phone)
	fields.Email.ApplyTo(&client.Email)
	fields.Notes.ApplyOrZero(&client.Notes)
	fields.Tags.ApplyTo(&client.Tags)
	fields.IsBlocked.ApplyTo(&client.IsBlocked)
	fields.applyConsent(client, a.host.Now())
	client.Name = strings.TrimSpace(client.Name)
	errs.checkName(fields.Name.HasValue(), client.Name)
	errs.CheckEmail(client.Email, "body.email")
	errs.CheckLength(client.Notes, "body.notes", 0, 5000)
	errs.Check(len(client.Tags) <= 50, "body.tags", "must be at most 50")
	for i, tag := range client.Tags {
		errs.CheckLength(tag, fmt.Sprintf("body.tags[%d]", i), 1, 60)
	}
	if fields.Phone.Set {
		if client.PhoneE164 = nil; client.Phone != nil {
			client.PhoneE164 = booking.E164(*client.Phone)
		}
	}
	if fields.CPF.Set {
		a.store.SealCPF(client, "")
	}
	if fields.CPF.HasValue() && fields.CPF.Value != "" {
		digits, valid, ok := booking.CPFDigits(fields.CPF.Value)
		errs.Check(ok, "body.cpf", "must be 11 digits")
		if ok && !valid {
			warnings = append(warnings, "cpf_check_digit")
		}
		if ok {
			a.store.SealCPF(client, digits)
		}
	}
	if fields.BirthDate.Set {
		client.BirthDate = nil
	}
	if fields.BirthDate.HasValue() {
		d, err := parseDate("body.birth_date", fields.BirthDate.Value)
		if err := errs.merge(err); err != nil {
			return nil, err
		}
		errs.Check(d <= booking.DateOf(a.host.Now(), org.Zone), "body.birth_date", "must not be in the future")
		day := d.Time()
		client.BirthDate = &day
	}
	return warnings, errs.Err()
}

type clientsInput struct {
	Paging
	Search string `query:"search" maxLength:"200" doc:"Part of a name, phone or e-mail, or the first or last digits of a tax id"`
}

func (a *API) listClients(ctx context.Context, in *clientsInput) (*struct{ Body Page[Client] }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	term := strings.TrimSpace(in.Search)
	search := store.ClientSearch{Term: like.Escape(term)}
	if digits := booking.Digits(term); digits != "" && strings.Trim(term, "0123456789+-(). ") == "" {
		search.Digits, search.Phones = digits, []string{}
		if len(digits) >= 10 { // a whole number, in whichever form it was stored
			search.Phones = booking.PhoneForms(term)
		}
		switch {
		case len(digits) == 11:
			search.CPFHash = a.store.CPFHash(org.ID, digits)
		case len(digits) < 11:
			search.CPFParts = a.store.CPFPartHashes(org.ID, digits)
		}
	}
	rows, total, err := a.store.FindClients(ctx, org.ID, search, toPage(in.Paging))
	if err != nil {
		return nil, err
	}
	list, err := a.toClients(ctx, org, rows)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Page[Client] }{rest.NewPage(list, total, in.Paging)}, nil
}

// maxDuplicates is how many clients with the same phone a response names.
const maxDuplicates = 50

// toSavedClient converts a stored client and looks for others with the same phone.
func (a *API) toSavedClient(ctx context.Context, org store.Org, row store.Client, warnings []string) (*struct{ Body SavedClient }, error) {
	list, err := a.toClients(ctx, org, []store.Client{row})
	if err != nil {
		return nil, err
	}
	out := &struct{ Body SavedClient }{SavedClient{Client: list[0], Warnings: append([]string{}, warnings...), PossibleDuplicateIDs: []uuid.UUID{}}}
	if row.Phone == nil {
		return out, nil
	}
	samePhone, err := a.store.ClientsByPhone(ctx, org.ID, booking.PhoneForms(*row.Phone))
	for _, other := range samePhone {
		if other.ID != row.ID && len(out.Body.PossibleDuplicateIDs) < maxDuplicates {
			out.Body.PossibleDuplicateIDs = append(out.Body.PossibleDuplicateIDs, other.ID)
		}
	}
	return out, err
}

func (a *API) createClient(ctx context.Context, in *createClientInput) (*struct{ Body SavedClient }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Client{OrgID: org.ID, ID: store.NewID()}
	warnings, err := a.applyClientFields(&in.Body, &draft, org)
	if err != nil {
		return nil, err
	}
	var created store.Client
	err = a.store.InTx(ctx, "making a client", func(tx *store.Tx) error {
		created, err = tx.AddClient(ctx, draft, "staff")
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.toSavedClient(ctx, org, created, warnings)
}

func (a *API) updateClient(ctx context.Context, in *updateClientInput) (*struct{ Body SavedClient }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Client
	var warnings []string
	err = a.store.InTx(ctx, "updating a client", func(tx *store.Tx) error {
		client, err := tx.LockClient(ctx, org.ID, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Client", err)
		}
		if warnings, err = a.applyClientFields(&in.Body, &client, org); err != nil {
			return err
		}
		if in.Body.Name.HasValue() {
			client.NameSource = "staff"
		}
		if in.Body.Email.Set {
			client.EmailSource = "staff"
		}
		updated, err = tx.SaveClient(ctx, client)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.toSavedClient(ctx, org, updated, warnings)
}

// deleteClient erases a client's personal data; bookings and payments stay.
func (a *API) deleteClient(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.store.EraseClientByID(ctx, org, in.ID)
}

func (a *API) getClient(ctx context.Context, in *ByID) (*struct{ Body ClientDetail }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.ClientByID(ctx, org.ID, in.ID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Client", err)
	}
	list, err := a.toClients(ctx, org, []store.Client{row})
	if err != nil {
		return nil, err
	}
	const latest = 10
	appointments, err := a.listClientAppointments(ctx, &clientListInput{ByID: *in, Paging: Paging{Page: 1, PerPage: latest}})
	if err != nil {
		return nil, err
	}
	payments, err := a.listClientPayments(ctx, &clientListInput{ByID: *in, Paging: Paging{Page: 1, PerPage: latest}})
	if err != nil {
		return nil, err
	}
	return &struct{ Body ClientDetail }{ClientDetail{list[0], appointments.Body.Items, payments.Body.Items}}, nil
}

type clientListInput struct {
	ByID
	Paging
}

func (a *API) listClientAppointments(ctx context.Context, in *clientListInput) (*struct{ Body Page[Appointment] }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.store.ClientByID(ctx, org.ID, in.ID); err != nil {
		return nil, rest.NotFoundIfNoRows("Client", err)
	}
	rows, total, err := a.store.AppointmentPage(ctx, org.ID, store.AppointmentFilter{Client: &in.ID, NewestFirst: true}, toPage(in.Paging))
	items := rest.Map(rows, func(row store.AppointmentDetail) Appointment { return toAppointment(row, org.Zone) })
	return &struct{ Body Page[Appointment] }{rest.NewPage(items, total, in.Paging)}, err
}

func (a *API) listClientPayments(ctx context.Context, in *clientListInput) (*struct{ Body Page[Payment] }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.store.ClientByID(ctx, org.ID, in.ID); err != nil {
		return nil, rest.NotFoundIfNoRows("Client", err)
	}
	rows, total, err := a.store.ClientPaymentPage(ctx, org.ID, in.ID, toPage(in.Paging))
	return &struct{ Body Page[Payment] }{rest.NewPage(toPayments(rows, org.Zone), total, in.Paging)}, err
}

// findClientsByPhone finds an organization's clients by phone number.
func (a *API) findClientsByPhone(ctx context.Context, org store.Org, phone string) ([]store.Client, error) {
	phone, ok := booking.CompletePhone(phone, org.AreaCode())
	if !ok {
		return nil, hub.Invalid("phone", booking.PhoneProblem(phone))
	}
	rows, err := a.store.ClientsByPhone(ctx, org.ID, booking.PhoneForms(phone))
	return slices.Clip(rows), err
}
