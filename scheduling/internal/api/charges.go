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
	"integrationhub/hub/module/picture"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
)

type createChargeInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key makes one charge, for 24 hours"`
	Body           struct {
		AppointmentID    nullable[uuid.UUID]     `json:"appointment_id,omitempty" doc:"null or absent: of no appointment"`
		ClientID         optional[uuid.UUID]     `json:"client_id,omitempty" doc:"Needed without an appointment"`
		Amount           optional[booking.Cents] `json:"amount,omitempty" exclusiveMinimum:"0" maximum:"99999999.99" doc:"Absent: what the appointment still costs"`
		Description      optional[string]        `json:"description,omitempty" maxLength:"140" doc:"Text that the payer sees"`
		ExpiresInMinutes int                     `json:"expires_in_minutes,omitempty" minimum:"5" maximum:"10080" default:"30" doc:"How long it can be paid"`
		Kind             string                  `json:"kind,omitempty" enum:"full,deposit,other" default:"full" doc:"What is charged: the full price, the deposit, or something other"`
	} `nameHint:"NewCharge"`
}

// validate checks the amount and the payer of the charge.
func (in *createChargeInput) validate(currency string) error {
	body := &in.Body
	var errs fieldErrors
	errs.Check(body.AppointmentID.HasValue() || body.ClientID.HasValue(), "body.client_id", "is required without appointment_id")
	if body.Amount.HasValue() {
		errs.Check(body.Amount.Value > 0 && body.Amount.Value <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
		errs.checkAmount(body.Amount.Pointer(), currency, "body.amount")
	} else {
		errs.Check(body.AppointmentID.HasValue(), "body.amount", "is required without appointment_id")
	}
	errs.CheckLength(body.Description.Value, "body.description", 0, 140)
	return errs.Err()
}

// Charge is a payment requested from the payment provider.
type Charge struct {
	Payment
	PixCopyPaste string  `json:"pix_copy_paste" doc:"BR Code"`
	QRCode       string  `json:"qr_code_base64" doc:"The same as a picture, PNG"`
	QRCodeURL    *string `json:"qr_code_url" doc:"Where the same picture is; null: nowhere"`
	TxID         string  `json:"txid" doc:"Id of the charge at the payment provider"`
}

func toCharge(row store.PaymentDetail, zone *time.Location) (Charge, error) {
	qrCode, err := picture.QRCode(pointer.ValueOrZero(row.PixCopyPaste))
	return Charge{toPayment(row, zone), pointer.ValueOrZero(row.PixCopyPaste), base64.StdEncoding.EncodeToString(qrCode), row.QrCodeUrl, pointer.ValueOrZero(row.Txid)}, err
}

type chargeOutput struct {
	Status int
	Body   Charge
}

// createCharge requests a charge from the payment provider. An open charge for the same
// appointment, kind and amount is returned with 200 instead.
func (a *API) createCharge(ctx context.Context, in *createChargeInput) (*chargeOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.validate(org.Currency); err != nil {
		return nil, err
	}
	var request payment.ChargeRequest
	var result store.PaymentDetail
	status := 0
	err = a.store.InTx(ctx, "charging", func(tx *store.Tx) error {
		if request, err = in.buildRequest(ctx, tx, org); err != nil {
			return err
		}
		status = 0
		if request.Idempotency != nil {
			previous, exists, err := tx.FindChargeByKey(ctx, org.ID, *request.Idempotency)
			if err != nil || exists {
				result, status = previous, http.StatusCreated
				return err
			}
		}
		openCharge, exists, err := tx.FindOrExpirePendingCharge(ctx, request.NewPayment)
		if exists {
			result, status = openCharge, http.StatusOK
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
		charge, isNew, err := a.payments.CreateCharge(ctx, org, request)
		if err != nil {
			return nil, payment.WithPayerEmailField(err, "body.client_id")
		}
		if result, status = charge, http.StatusOK; isNew {
			status = http.StatusCreated
		}
	}
	output, err := toCharge(result, org.Zone)
	return &chargeOutput{status, output}, err
}

// buildRequest builds the charge request. An appointment supplies the client, the amount
// and the description.
func (in *createChargeInput) buildRequest(ctx context.Context, tx *store.Tx, org store.Org) (payment.ChargeRequest, error) {
	body := &in.Body
	request := payment.ChargeRequest{ExpiresAt: tx.Now().Add(time.Duration(body.ExpiresInMinutes) * time.Minute)}
	request.NewPayment = store.NewPayment{Org: org.ID, Amount: body.Amount.Value, AmountGiven: body.Amount.HasValue(), Kind: body.Kind, Description: body.Description.Value, By: currentActor(ctx).User}
	body.ClientID.ApplyTo(&request.Client)
	body.AppointmentID.ApplyTo(&request.Appointment)
	if body.ClientID.HasValue() {
		if _, err := tx.LoadClient(ctx, org.ID, request.Client); err != nil {
			return request, err
		}
	}
	if request.Appointment != nil {
		appointment, err := tx.AppointmentByID(ctx, org.ID, *request.Appointment)
		if err != nil {
			return request, rest.NotFoundIfNoRows("Appointment", err)
		}
		if err := in.fillFromAppointment(appointment, &request, tx.Now()); err != nil {
			return request, err
		}
	}
	client, err := tx.LoadClient(ctx, org.ID, request.Client)
	if err != nil {
		return request, err
	}
	request.Payer = provider.Payer{Name: client.Name, Email: pointer.ValueOrZero(client.Email)}
	request.Idempotency, err = newIdempotencyKey("payments.pix", in.IdempotencyKey, body)
	return request, err
}

// fillFromAppointment fills in the client, description, expiry and amount due of an
// appointment.
func (in *createChargeInput) fillFromAppointment(appointment store.AppointmentDetail, request *payment.ChargeRequest, now time.Time) error {
	if in.Body.ClientID.HasValue() && appointment.ClientID != request.Client {
		return hub.Invalid("body.client_id", "is not the appointment's client")
	}
	request.Client = appointment.ClientID
	if request.Description == "" {
		request.Description = appointment.ServiceName
	}
	if deadline := holdDeadline(appointment, request.Kind); deadline != nil && deadline.After(now) && request.ExpiresAt.After(*deadline) {
		request.ExpiresAt = *deadline
	}
	return request.SetDueAmount(store.Balance{Status: appointment.Status, Price: appointment.PriceCents, Paid: appointment.PaidCents, Deposit: appointment.DepositCents, DepositStatus: appointment.DepositStatus})
}

// holdDeadline returns until when the time is held for a pending deposit that a code of a kind
// pays: the code is good for as long. nil: the code holds no time.
func holdDeadline(appointment store.AppointmentDetail, kind string) *time.Time {
	if kind == store.KindOther || appointment.DepositStatus != booking.DepositPending || appointment.DepositDeadline == nil {
		return nil
	}
	// The whole price may be paid later where nothing lets go of the time.
	if kind != store.KindDeposit && (appointment.Status != booking.Scheduled || !appointment.DepositDeadline.Before(appointment.StartAt)) {
		return nil
	}
	return appointment.DepositDeadline
}

type providerWebhookInput struct {
	Provider string `path:"provider" maxLength:"60" doc:"Name of the payment provider, as its settings have it"`
	RawBody  []byte
	header   http.Header
	query    url.Values
}

// Resolve keeps the headers and the query, which the provider's signature may cover.
func (in *providerWebhookInput) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	in.header, in.query = make(http.Header), address.Query()
	ctx.EachHeader(func(name, value string) { in.header.Add(name, value) })
	return nil
}

type providerWebhookOutput struct {
	Body struct {
		Received bool `json:"received" doc:"Always true: the notice is stored"`
	} `nameHint:"NoticeReceived"`
}

// receiveProviderWebhook accepts a webhook of the payment provider. The response is the same
// for new, repeated and unknown notices.
func (a *API) receiveProviderWebhook(ctx context.Context, in *providerWebhookInput) (*providerWebhookOutput, error) {
	out := &providerWebhookOutput{}
	out.Body.Received = true
	return out, a.payments.ReceiveWebhook(ctx, in.Provider, provider.Inbound{Header: in.header, Query: in.query, Body: in.RawBody})
}

type paySandboxInput struct {
	TxID string `path:"txid" maxLength:"60"`
}

// paySandboxOutput has no schema: the operation is in no OpenAPI document.
type paySandboxOutput struct{ Body map[string]any }

// paySandboxCharge pays a charge of the sandbox, which then sends its webhook.
func (a *API) paySandboxCharge(ctx context.Context, in *paySandboxInput) (*paySandboxOutput, error) {
	charge, err := a.payments.PaySandboxCharge(ctx, in.TxID)
	return &paySandboxOutput{map[string]any{"txid": charge.TxID, "status": charge.Status, "amount": charge.Amount, "paid_at": charge.PaidAt}}, err
}
