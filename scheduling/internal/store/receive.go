package store

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Receive takes in an event of a connected product. [module.ErrIgnored] is the
// answer to one that concerns nobody here.
func (t *Tx) Receive(ctx context.Context, e hub.Event) error {
	if e.Environment == hub.Test {
		return module.ErrIgnored
	}
	var data struct {
		Phone         string        `json:"phone"`
		Name          *string       `json:"name"`
		Email         *string       `json:"email"`
		AppointmentID uuid.UUID     `json:"appointment_id"`
		Amount        booking.Cents `json:"amount"`
		Method        string        `json:"method"`
		Description   string        `json:"description"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form.").Because(err)
	}
	if e.Type == "payment.received" {
		return t.receivePayment(ctx, e, data.AppointmentID, data.Amount, data.Method, data.Description)
	}
	clients, err := t.ClientsByPhone(ctx, e.TenantID, booking.PhoneForms(data.Phone))
	if err != nil {
		return err
	}
	if e.Type == "patient.deleted" && data.Email != nil {
		clients = whose(clients, *data.Email)
	}
	if len(clients) == 0 {
		return module.ErrIgnored
	}
	for _, c := range clients {
		switch e.Type {
		case "patient.deleted":
			err = t.anonymize(ctx, c)
		case "patient.updated":
			err = t.RefreshClient(ctx, dbgen.RefreshClientParams{OrgID: c.OrgID, ID: c.ID, Name: data.Name, Email: data.Email, Now: t.now})
		default:
			return module.ErrIgnored
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whose are those of the clients with a phone who may be the patient with an e-mail
// address: families share phones. Who has the address is; where nobody has it, those
// who have none may be.
func whose(clients []dbgen.Client, email string) []dbgen.Client {
	var same, none []dbgen.Client
	for _, c := range clients {
		switch {
		case c.Email == nil || *c.Email == "":
			none = append(none, c)
		case strings.EqualFold(*c.Email, email):
			same = append(same, c)
		}
	}
	switch {
	case email == "":
		return clients
	case len(same) > 0:
		return same
	}
	return none
}

// anonymize keeps a client's bookings and money and forgets who it was.
func (t *Tx) anonymize(ctx context.Context, c dbgen.Client) error {
	if c.Email != nil {
		if err := t.kit.Mail.Forget(ctx, t.Raw, *c.Email); err != nil {
			return err
		}
	}
	if err := t.ClearTracesOfClient(ctx, c.OrgID, c.ID); err != nil {
		return err
	}
	return t.AnonymizeClient(ctx, dbgen.AnonymizeClientParams{OrgID: c.OrgID, ID: c.ID, Now: t.now})
}

// receivePayment records a payment of a linked appointment, once.
func (t *Tx) receivePayment(ctx context.Context, e hub.Event, appointment uuid.UUID, amount booking.Cents, method, description string) error {
	a, err := t.AppointmentByID(ctx, e.TenantID, appointment)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.ErrIgnored
	}
	if err != nil {
		return err
	}
	source := e.Product + ":" + e.ID
	before, err := t.PaymentOfSource(ctx, e.TenantID, &source)
	if err != nil || before {
		return err
	}
	if amount <= 0 || amount > booking.MaxPrice {
		return hub.Invalid("data.amount", "must be above 0")
	}
	switch method {
	case "pix", "credit_card", "debit_card":
	default:
		method = "cash"
	}
	if text := []rune(description); len(text) > 200 {
		description = string(text[:200])
	}
	row, err := t.Organization(ctx, e.TenantID)
	if err != nil {
		return err
	}
	org, err := OrgOf(row.Organization, row.Settings)
	if err != nil {
		return err
	}
	_, err = t.Pay(ctx, org, NewPayment{
		Org: e.TenantID, Appointment: &appointment, Client: a.ClientID, Amount: amount, Method: method, Description: description, Kind: "other", SourceID: &source,
	})
	return err
}
