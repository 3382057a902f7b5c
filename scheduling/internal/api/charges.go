package api

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

type pixInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255"`
	Body           struct {
		AppointmentID    optional[uuid.UUID]     `json:"appointment_id,omitempty"`
		ClientID         optional[uuid.UUID]     `json:"client_id,omitempty" doc:"Needed without an appointment"`
		Amount           optional[booking.Cents] `json:"amount,omitempty" doc:"Absent: what the appointment still costs"`
		Description      optional[string]        `json:"description,omitempty"`
		ExpiresInMinutes int                     `json:"expires_in_minutes,omitempty" minimum:"5" maximum:"10080" default:"30"`
		Kind             string                  `json:"kind,omitempty" enum:"full,deposit,other" default:"full"`
	} `nameHint:"NewCharge"`
}

// check reads what is to be charged.
func (in *pixInput) check(currency string) error {
	b := &in.Body
	var wrong faults
	wrong.need(b.AppointmentID.given() || b.ClientID.given(), "body.client_id", "is required without appointment_id")
	if b.Amount.given() {
		wrong.need(b.Amount.Value > 0 && b.Amount.Value <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
		wrong.need(b.Amount.Value.Payable(currency), "body.amount", "must not have decimals in this currency")
	} else {
		wrong.need(b.AppointmentID.given(), "body.amount", "is required without appointment_id")
	}
	wrong.length(b.Description.Value, "body.description", 0, 140)
	return wrong.err()
}

// createCharge asks the payment provider for a charge. No provider is part of the
// service yet, which is what it answers, once the request is found to be good.
func (a *API) createCharge(ctx context.Context, in *pixInput) (*struct{ Body Payment }, error) {
	org, err := a.org(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.check(org.Currency); err != nil {
		return nil, err
	}
	b := &in.Body
	err = a.store.InTx(ctx, "charging", func(tx *store.Tx) error {
		if b.ClientID.given() {
			if _, err := tx.Client(ctx, org.ID, b.ClientID.Value); err != nil {
				return err
			}
		}
		if !b.AppointmentID.given() {
			return nil
		}
		appointment, err := tx.AppointmentByID(ctx, org.ID, b.AppointmentID.Value)
		switch {
		case err != nil:
			return or404("Appointment", err)
		case b.ClientID.given() && appointment.ClientID != b.ClientID.Value:
			return hub.Invalid("body.client_id", "is not the appointment's client")
		case appointment.PriceCents > 0 && appointment.PaidCents >= appointment.PriceCents && b.Kind != "other":
			return hub.Errorf(hub.ErrConflict, "already_paid", "This appointment is paid.")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return nil, hub.Errorf(hub.ErrConflict, "provider_not_configured", "No payment provider is configured.")
}

type noticeInput struct {
	Provider string `path:"provider" maxLength:"60"`
	RawBody  []byte
}

// receiveNotice takes in a notice of a payment provider; none is known.
func (a *API) receiveNotice(context.Context, *noticeInput) (*none, error) {
	return nil, missing("Payment provider")
}
