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

// HandleEvent applies an event of a connected product. It returns [module.ErrIgnored]
// for an event without effect here.
func (t *Tx) HandleEvent(ctx context.Context, event hub.Event) error {
	if event.Environment == hub.Test {
		return module.ErrIgnored
	}
	if event.Type == events.TypePaymentReceived {
		return t.handlePaymentReceived(ctx, event)
	}
	var patient patientEvent
	if err := decodeEventData(event, &patient); err != nil {
		return err
	}
	switch event.Type {
	case events.TypePatientCreated:
		return t.handlePatientCreated(ctx, event.TenantID, patient)
	case events.TypePatientUpdated:
		return t.handlePatientUpdated(ctx, event, patient)
	case events.TypePatientDeleted:
		return t.handlePatientDeleted(ctx, event, patient)
	}
	return module.ErrIgnored
}

// decodeEventData decodes the data of an event.
func decodeEventData(event hub.Event, result any) error {
	if err := json.Unmarshal(event.Data, result); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form.").WithCause(err)
	}
	return nil
}

// handlePaymentReceived records a payment for an appointment, once per event.
func (t *Tx) handlePaymentReceived(ctx context.Context, event hub.Event) error {
	var data struct {
		AppointmentID uuid.UUID     `json:"appointment_id"`
		Amount        booking.Cents `json:"amount"`
		Method        string        `json:"method"`
		Description   string        `json:"description"`
	}
	if err := decodeEventData(event, &data); err != nil {
		return err
	}
	appointment, amount, method, description := data.AppointmentID, data.Amount, data.Method, data.Description
	detail, err := t.AppointmentByID(ctx, event.TenantID, appointment)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.ErrIgnored
	}
	if err != nil {
		return err
	}
	source := event.Product + ":" + event.ID
	exists, err := t.PaymentSourceExists(ctx, event.TenantID, &source)
	if err != nil || exists {
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
	row, err := t.OrganizationByID(ctx, event.TenantID)
	if err != nil {
		return err
	}
	org, err := NewOrg(row.Organization, row.Settings)
	if err != nil {
		return err
	}
	if !amount.Payable(org.Currency) {
		return hub.Invalid("data.amount", "must not have decimals in this currency")
	}
	_, err = t.AddPayment(ctx, org, NewPayment{
		Org: event.TenantID, Appointment: &appointment, Client: detail.ClientID, Amount: amount, Method: method, Description: description, Kind: "other", SourceID: &source,
	})
	return err
}
