package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Client is somebody who books.
type Client struct {
	ID                uuid.UUID     `json:"id"`
	Name              string        `json:"name"`
	Phone             *string       `json:"phone"`
	Email             *string       `json:"email"`
	CPF               *string       `json:"cpf" example:"529.982.247-25"`
	BirthDate         *string       `json:"birth_date" example:"1990-05-17"`
	Notes             string        `json:"notes"`
	Tags              []string      `json:"tags" nullable:"false"`
	IsBlocked         bool          `json:"is_blocked"`
	TotalAppointments int           `json:"total_appointments" doc:"Completed ones"`
	TotalSpent        booking.Cents `json:"total_spent"`
	NoShowCount       int           `json:"no_show_count"`
	LoyaltyPoints     int64         `json:"loyalty_points"`
	LastAppointmentAt *time.Time    `json:"last_appointment_at"`
	NextAppointmentAt *time.Time    `json:"next_appointment_at"`
	CreatedAt         time.Time     `json:"created_at"`

	MarketingConsent       bool       `json:"marketing_consent" doc:"The client agreed to be written to"`
	MarketingConsentAt     *time.Time `json:"marketing_consent_at"`
	MarketingConsentSource *string    `json:"marketing_consent_source" enum:"staff,client" doc:"Who noted it"`
}

// SavedClient is a client as it was stored.
type SavedClient struct {
	Client
	Warnings             []string    `json:"warnings" nullable:"false" doc:"cpf_check_digit"`
	PossibleDuplicateIDs []uuid.UUID `json:"possible_duplicate_ids" nullable:"false" doc:"Clients with the same phone"`
}

// ClientDetail is a client with the latest of the history.
type ClientDetail struct {
	Client
	Appointments []Appointment `json:"appointments" nullable:"false"`
	Payments     []Payment     `json:"payments" nullable:"false"`
}

type clientFields struct {
	Name      optional[string]   `json:"name,omitempty" example:"Carla Dias"`
	Phone     optional[string]   `json:"phone,omitempty"`
	Email     optional[string]   `json:"email,omitempty"`
	CPF       optional[string]   `json:"cpf,omitempty"`
	BirthDate optional[string]   `json:"birth_date,omitempty"`
	Notes     optional[string]   `json:"notes,omitempty"`
	Tags      optional[[]string] `json:"tags,omitempty"`
	IsBlocked optional[bool]     `json:"is_blocked,omitempty"`

	MarketingConsent optional[bool] `json:"marketing_consent,omitempty" doc:"The client agreed to be written to"`
}

type createClientInput struct {
	Body clientFields `nameHint:"ClientFields"`
}

type updateClientInput struct {
	ByID
	Body clientFields `nameHint:"ClientFields"`
}

// openCPF opens a client's tax id, nil where there is none.
func (a *API) openCPF(c *dbgen.Client) (*string, error) {
	digits, err := a.store.OpenCPF(c)
	if err != nil || digits == "" {
		return nil, err
	}
	written := booking.FormatCPF(digits)
	return &written, nil
}

// toClients shows rows with the appointments around now.
func (a *API) toClients(ctx context.Context, org store.Org, rows []dbgen.Client) ([]Client, error) {
	ids := rest.Map(rows, func(c dbgen.Client) uuid.UUID { return c.ID })
	around, err := a.store.NeighboursOf(ctx, dbgen.NeighboursOfParams{Now: a.host.Now(), OrgID: org.ID, ClientIds: ids})
	if err != nil {
		return nil, err
	}
	times := make(map[uuid.UUID]dbgen.NeighboursOfRow, len(around))
	for _, n := range around {
		times[n.ID] = n
	}
	list := make([]Client, len(rows))
	for i := range rows {
		c := &rows[i]
		cpf, err := a.openCPF(c)
		if err != nil {
			return nil, err
		}
		n := times[c.ID]
		list[i] = Client{
			ID: c.ID, Name: c.Name, Phone: c.Phone, Email: c.Email, CPF: cpf, Notes: c.Notes, Tags: append([]string{}, c.Tags...), IsBlocked: c.IsBlocked,
			TotalAppointments: c.TotalAppointments, TotalSpent: c.TotalSpentCents, NoShowCount: c.NoShowCount, LoyaltyPoints: c.LoyaltyPoints,
			LastAppointmentAt: inZone(&n.LastAt, org.Zone), NextAppointmentAt: inZone(&n.NextAt, org.Zone), CreatedAt: c.CreatedAt.In(org.Zone),
			MarketingConsent: c.MarketingConsentAt != nil, MarketingConsentAt: inZone(c.MarketingConsentAt, org.Zone), MarketingConsentSource: c.MarketingConsentSource,
		}
		if c.BirthDate != nil {
			day := c.BirthDate.Format(time.DateOnly)
			list[i].BirthDate = &day
		}
	}
	return list, nil
}

// applyClientFields applies the fields to a client and checks what comes out.
func (a *API) applyClientFields(f *clientFields, c *dbgen.Client, today booking.Date) (warnings []string, err error) {
	f.Name.ApplyTo(&c.Name)
	f.Phone.ApplyToNullable(&c.Phone)
	f.Email.ApplyToNullable(&c.Email)
	f.Notes.ApplyTo(&c.Notes)
	if f.Notes.Null {
		c.Notes = ""
	}
	f.Tags.ApplyTo(&c.Tags)
	f.IsBlocked.ApplyTo(&c.IsBlocked)
	f.applyConsent(c, a.host.Now())
	c.Name = strings.TrimSpace(c.Name)
	var wrong fieldErrors
	wrong.CheckLength(c.Name, "body.name", 1, 120)
	if f.Phone.HasValue() {
		wrong.checkPhone(c.Phone)
	}
	wrong.CheckEmail(c.Email, "body.email")
	wrong.CheckLength(c.Notes, "body.notes", 0, 5000)
	wrong.Check(len(c.Tags) <= 50, "body.tags", "must be at most 50")
	for i, tag := range c.Tags {
		wrong.CheckLength(tag, fmt.Sprintf("body.tags[%d]", i), 1, 60)
	}
	if f.Phone.Set {
		if c.PhoneE164 = nil; c.Phone != nil {
			c.PhoneE164 = booking.E164(*c.Phone)
		}
	}
	if f.CPF.Set {
		a.store.SealCPF(c, "")
	}
	if f.CPF.HasValue() && f.CPF.Value != "" {
		digits, valid, ok := booking.CPFDigits(f.CPF.Value)
		wrong.Check(ok, "body.cpf", "must be 11 digits")
		if ok && !valid {
			warnings = append(warnings, "cpf_check_digit")
		}
		if ok {
			a.store.SealCPF(c, digits)
		}
	}
	if f.BirthDate.Set {
		c.BirthDate = nil
	}
	if f.BirthDate.HasValue() {
		d, err := parseDate("body.birth_date", f.BirthDate.Value)
		if err := wrong.merge(err); err != nil {
			return nil, err
		}
		wrong.Check(d <= today, "body.birth_date", "must not be in the future")
		day := d.Time()
		c.BirthDate = &day
	}
	return warnings, wrong.Err()
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
	find := dbgen.SearchClientsParams{OrgID: org.ID, Term: escapeLike(term), RowLimit: in.PerPage, RowOffset: in.Offset()}
	if digits := booking.Digits(term); digits != "" && strings.Trim(term, "0123456789+-(). ") == "" {
		find.Digits, find.Phones = digits, []string{}
		if len(digits) >= 10 { // a whole number, in whichever form it was stored
			find.Phones = booking.PhoneForms(term)
		}
		switch {
		case len(digits) == 11:
			find.CpfHash = a.store.CPFHash(org.ID, digits)
		case len(digits) < 11:
			find.CpfPart = a.store.CPFPartHashes(org.ID, digits)
		}
	}
	rows, err := a.store.SearchClients(ctx, find)
	if err != nil {
		return nil, err
	}
	list, err := a.toClients(ctx, org, rest.Map(rows, func(r dbgen.SearchClientsRow) dbgen.Client { return r.Client }))
	if err != nil {
		return nil, err
	}
	total := 0
	if len(rows) > 0 {
		total = int(rows[0].Total)
	} else if in.Page > 1 {
		find.RowLimit, find.RowOffset = 1, 0
		first, err := a.store.SearchClients(ctx, find)
		if err != nil {
			return nil, err
		}
		if len(first) > 0 {
			total = int(first[0].Total)
		}
	}
	return &struct{ Body Page[Client] }{rest.NewPage(list, total, in.Paging)}, nil
}

// escapeLike keeps what people type from meaning something in a LIKE pattern.
func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// toSavedClient shows a client that was just stored.
func (a *API) toSavedClient(ctx context.Context, org store.Org, row dbgen.Client, warnings []string) (*struct{ Body SavedClient }, error) {
	list, err := a.toClients(ctx, org, []dbgen.Client{row})
	if err != nil {
		return nil, err
	}
	out := &struct{ Body SavedClient }{SavedClient{Client: list[0], Warnings: append([]string{}, warnings...), PossibleDuplicateIDs: []uuid.UUID{}}}
	if row.Phone == nil {
		return out, nil
	}
	same, err := a.store.ClientsByPhone(ctx, org.ID, booking.PhoneForms(*row.Phone))
	for _, other := range same {
		if other.ID != row.ID {
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
	c := dbgen.Client{OrgID: org.ID, ID: store.NewID()}
	warnings, err := a.applyClientFields(&in.Body, &c, booking.DateOf(a.host.Now(), org.Zone))
	if err != nil {
		return nil, err
	}
	var made dbgen.Client
	err = a.store.InTx(ctx, "making a client", func(tx *store.Tx) error {
		made, err = tx.AddClient(ctx, c, "staff")
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.toSavedClient(ctx, org, made, warnings)
}

func (a *API) updateClient(ctx context.Context, in *updateClientInput) (*struct{ Body SavedClient }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var done dbgen.Client
	var warnings []string
	err = a.store.InTx(ctx, "updating a client", func(tx *store.Tx) error {
		c, err := tx.LockClient(ctx, org.ID, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Client", err)
		}
		if warnings, err = a.applyClientFields(&in.Body, &c, booking.DateOf(a.host.Now(), org.Zone)); err != nil {
			return err
		}
		if in.Body.Name.HasValue() {
			c.NameSource = "staff"
		}
		if in.Body.Email.Set {
			c.EmailSource = "staff"
		}
		done, err = tx.UpdateClient(ctx, toClientUpdate(c, tx.Now()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.toSavedClient(ctx, org, done, warnings)
}

// deleteClient forgets who a client was; bookings and money stay.
func (a *API) deleteClient(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.store.EraseClientByID(ctx, org, in.ID)
}

func toClientUpdate(c dbgen.Client, now time.Time) dbgen.UpdateClientParams {
	return dbgen.UpdateClientParams{
		OrgID: c.OrgID, ID: c.ID, Name: c.Name, Phone: c.Phone, PhoneE164: c.PhoneE164, Email: c.Email, CpfSealed: c.CpfSealed, CpfHash: c.CpfHash,
		BirthDate: c.BirthDate, Notes: c.Notes, Tags: append([]string{}, c.Tags...), IsBlocked: c.IsBlocked, NameSource: c.NameSource, EmailSource: c.EmailSource, UpdatedAt: now,
		CpfParts: c.CpfParts, MarketingConsentAt: c.MarketingConsentAt, MarketingConsentSource: c.MarketingConsentSource,
	}
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
	list, err := a.toClients(ctx, org, []dbgen.Client{row})
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
	rows, err := a.store.ListAppointments(ctx, dbgen.ListAppointmentsParams{
		OrgID: org.ID, ClientID: &in.ID, Statuses: []string{}, Descending: true, RowLimit: in.PerPage, RowOffset: in.Offset(),
	})
	if err != nil {
		return nil, err
	}
	total, err := a.store.CountAppointments(ctx, dbgen.CountAppointmentsParams{OrgID: org.ID, ClientID: &in.ID, Statuses: []string{}})
	items := rest.Map(rows, func(d dbgen.AppointmentDetail) Appointment { return toAppointment(d, org.Zone) })
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
	rows, err := a.store.ClientPayments(ctx, dbgen.ClientPaymentsParams{OrgID: org.ID, ClientID: in.ID, RowLimit: in.PerPage, RowOffset: in.Offset()})
	if err != nil {
		return nil, err
	}
	total, err := a.store.CountClientPayments(ctx, org.ID, in.ID)
	return &struct{ Body Page[Payment] }{rest.NewPage(toPayments(rows, org.Zone), total, in.Paging)}, err
}

// findClientsByPhone finds an organization's clients under a phone number.
func (a *API) findClientsByPhone(ctx context.Context, q *dbgen.Queries, org uuid.UUID, phone string) ([]dbgen.Client, error) {
	forms := booking.PhoneForms(phone)
	if len(forms) == 0 {
		return nil, hub.Invalid("phone", "must be a phone number of 8 to 15 digits")
	}
	rows, err := q.ClientsByPhone(ctx, org, forms)
	return slices.Clip(rows), err
}
