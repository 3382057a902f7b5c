package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

type createChargeInput struct {
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

// validate reads what is to be charged.
func (in *createChargeInput) validate(currency string) error {
	b := &in.Body
	var wrong fieldErrors
	wrong.Check(b.AppointmentID.HasValue() || b.ClientID.HasValue(), "body.client_id", "is required without appointment_id")
	if b.Amount.HasValue() {
		wrong.Check(b.Amount.Value > 0 && b.Amount.Value <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
		wrong.checkAmount(b.Amount, currency, "body.amount")
	} else {
		wrong.Check(b.AppointmentID.HasValue(), "body.amount", "is required without appointment_id")
	}
	wrong.CheckLength(b.Description.Value, "body.description", 0, 140)
	return wrong.Err()
}

// Charge is a payment that is to be made.
type Charge struct {
	Payment
	PixCopyPaste string  `json:"pix_copy_paste" doc:"BR Code"`
	QRCode       string  `json:"qr_code_base64" doc:"The same as a picture, PNG"`
	QRCodeURL    *string `json:"qr_code_url"`
	TxID         string  `json:"txid"`
}

func toCharge(p dbgen.PaymentDetail, zone *time.Location) (Charge, error) {
	picture, err := provider.EncodeQR(valueOrEmpty(p.PixCopyPaste))
	return Charge{toPayment(p, zone), valueOrEmpty(p.PixCopyPaste), base64.StdEncoding.EncodeToString(picture), p.QrCodeUrl, valueOrEmpty(p.Txid)}, err
}

type chargeOutput struct {
	Status int
	Body   Charge
}

// createCharge asks the payment provider for a charge. One that is open for the same
// appointment, kind and amount is answered instead of a second one, with 200.
func (a *API) createCharge(ctx context.Context, in *createChargeInput) (*chargeOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.validate(org.Currency); err != nil {
		return nil, err
	}
	var r payment.ChargeRequest
	var found dbgen.PaymentDetail
	status := 0
	err = a.store.InTx(ctx, "charging", func(tx *store.Tx) error {
		if r, err = in.buildRequest(ctx, tx, org); err != nil {
			return err
		}
		status = 0
		if r.Idempotency != nil {
			before, known, err := tx.FindAnsweredCharge(ctx, org.ID, *r.Idempotency)
			if err != nil || known {
				found, status = before, http.StatusCreated
				return err
			}
		}
		open, known, err := tx.FindOpenCharge(ctx, r.NewPayment)
		if known {
			found, status = open, http.StatusOK
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if status == 0 {
		if !a.payments.HasProvider() {
			return nil, provider.NotConfiguredError()
		}
		charge, made, err := a.payments.CreateCharge(ctx, org, r)
		if err != nil {
			return nil, payment.WithPayerEmailField(err, "body.client_id")
		}
		if found, status = charge, http.StatusOK; made {
			status = http.StatusCreated
		}
	}
	shown, err := toCharge(found, org.Zone)
	return &chargeOutput{status, shown}, err
}

// buildRequest says what is to be charged, by the appointment where there is one.
func (in *createChargeInput) buildRequest(ctx context.Context, tx *store.Tx, org store.Org) (payment.ChargeRequest, error) {
	b := &in.Body
	r := payment.ChargeRequest{ExpiresAt: tx.Now().Add(time.Duration(b.ExpiresInMinutes) * time.Minute)}
	r.NewPayment = store.NewPayment{Org: org.ID, Amount: b.Amount.Value, AmountGiven: b.Amount.HasValue(), Kind: b.Kind, Description: b.Description.Value, By: currentActor(ctx).User}
	b.ClientID.ApplyTo(&r.Client)
	b.AppointmentID.ApplyToNullable(&r.Appointment)
	if b.ClientID.HasValue() {
		if _, err := tx.LoadClient(ctx, org.ID, r.Client); err != nil {
			return r, err
		}
	}
	if r.Appointment != nil {
		appointment, err := tx.AppointmentByID(ctx, org.ID, *r.Appointment)
		if err != nil {
			return r, rest.NotFoundIfNoRows("Appointment", err)
		}
		if err := in.fillFromAppointment(appointment, &r, tx.Now()); err != nil {
			return r, err
		}
	}
	client, err := tx.LoadClient(ctx, org.ID, r.Client)
	if err != nil {
		return r, err
	}
	r.Payer = provider.Payer{Name: client.Name, Email: valueOrEmpty(client.Email)}
	r.Idempotency, err = newIdempotencyKey("payments.pix", in.IdempotencyKey, b)
	return r, err
}

// fillFromAppointment says what is to be paid for an appointment.
func (in *createChargeInput) fillFromAppointment(d dbgen.AppointmentDetail, r *payment.ChargeRequest, now time.Time) error {
	if in.Body.ClientID.HasValue() && d.ClientID != r.Client {
		return hub.Invalid("body.client_id", "is not the appointment's client")
	}
	r.Client = d.ClientID
	if r.Description == "" {
		r.Description = d.ServiceName
	}
	// The code for a deposit is good for as long as the slot is held for it.
	held := r.Kind == store.KindDeposit && d.DepositStatus == booking.DepositPending && d.HoldUntil != nil
	if held && d.HoldUntil.After(now) && r.ExpiresAt.After(*d.HoldUntil) {
		r.ExpiresAt = *d.HoldUntil
	}
	return r.SetDueAmount(store.Balance{Status: d.Status, Price: d.PriceCents, Paid: d.PaidCents, Deposit: d.DepositCents, DepositStatus: d.DepositStatus})
}

type paymentNoticeInput struct {
	Provider string `path:"provider" maxLength:"60"`
	RawBody  []byte
	header   http.Header
	query    url.Values
}

// Resolve keeps what the provider signs.
func (in *paymentNoticeInput) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	in.header, in.query = make(http.Header), address.Query()
	ctx.EachHeader(func(name, value string) { in.header.Add(name, value) })
	return nil
}

type paymentNoticeOutput struct {
	Body struct {
		Received bool `json:"received"`
	} `nameHint:"NoticeReceived"`
}

// receivePaymentNotice takes in a notice of the payment provider. It is answered the same
// whether it is new or not, and whatever it is about.
func (a *API) receivePaymentNotice(ctx context.Context, in *paymentNoticeInput) (*paymentNoticeOutput, error) {
	out := &paymentNoticeOutput{}
	out.Body.Received = true
	return out, a.payments.ReceiveWebhook(ctx, in.Provider, provider.Inbound{Header: in.header, Query: in.query, Body: in.RawBody})
}

type paySandboxInput struct {
	TxID string `path:"txid" maxLength:"60"`
}

// paySandboxOutput has no schema of its own: the call stands in no document.
type paySandboxOutput struct{ Body map[string]any }

// paySandboxCharge pays a charge of the sandbox, which then sends its webhook.
func (a *API) paySandboxCharge(ctx context.Context, in *paySandboxInput) (*paySandboxOutput, error) {
	charge, err := a.payments.PaySandboxCharge(ctx, in.TxID)
	return &paySandboxOutput{map[string]any{"txid": charge.TxID, "status": charge.Status, "amount": charge.Amount, "paid_at": charge.PaidAt}}, err
}
