package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
)

// Receive takes in an event of a connected product. [module.ErrIgnored] is the
// answer to one that concerns nobody here.
func (t *Tx) Receive(ctx context.Context, e hub.Event) error {
	if e.Environment == hub.Test {
		return module.ErrIgnored
	}
	if e.Type == "payment.received" {
		return t.receivePayment(ctx, e)
	}
	var p patient
	if err := read(e, &p); err != nil {
		return err
	}
	switch e.Type {
	case "patient.created":
		return t.patientCreated(ctx, e.TenantID, p)
	case "patient.updated":
		return t.patientUpdated(ctx, e, p)
	case events.TypePatientDeleted:
		return t.patientDeleted(ctx, e, p)
	}
	return module.ErrIgnored
}

// read reads an event's data.
func read(e hub.Event, into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form.").WithCause(err)
	}
	return nil
}

// receivePayment records a payment of a linked appointment, once.
func (t *Tx) receivePayment(ctx context.Context, e hub.Event) error {
	var data struct {
		AppointmentID uuid.UUID     `json:"appointment_id"`
		Amount        booking.Cents `json:"amount"`
		Method        string        `json:"method"`
		Description   string        `json:"description"`
	}
	if err := read(e, &data); err != nil {
		return err
	}
	appointment, amount, method, description := data.AppointmentID, data.Amount, data.Method, data.Description
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
		return hub.Invalid("data.amount", "must be above 0 and at most 99999999.99")
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
	if !amount.Payable(org.Currency) {
		return hub.Invalid("data.amount", "must not have decimals in this currency")
	}
	_, err = t.Pay(ctx, org, NewPayment{
		Org: e.TenantID, Appointment: &appointment, Client: a.ClientID, Amount: amount, Method: method, Description: description, Kind: "other", SourceID: &source,
	})
	return err
}
