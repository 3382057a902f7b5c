// Package provider requests Pix payments from payment providers: the interface, a
// sandbox for development, and Mercado Pago.
package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
)

// Provider collects money. It is safe for concurrent use and stores nothing. Call it
// outside of transactions, because it waits for another machine. Its errors are
// [*hub.Error]s: [hub.ErrPeer] with [CodeProvider] for a failed call, caused by an
// [OutageError] if others would fail too, [hub.ErrNotFound] for a charge that is unknown
// or not paid by Pix, [hub.ErrConflict] for a charge in another state, and those of the
// methods.
type Provider interface {
	// Name returns the name used in settings and in the path of the webhook.
	Name() string
	// RequiresPayerEmail reports whether orders need the payer's e-mail address.
	RequiresPayerEmail() bool
	// Create creates a charge. An order with the same ID returns the same charge, so it
	// can be repeated after an error. [hub.ErrInvalid] for an order the provider cannot
	// accept.
	Create(ctx context.Context, o Order) (Charge, error)
	// Read returns the current state of a charge.
	Read(ctx context.Context, id string) (Charge, error)
	// Cancel ends an open charge, or returns a [hub.ErrConflict] for one that is not open.
	Cancel(ctx context.Context, id string) error
	// Refund refunds money, once per refund ID. [ErrRefundUndecided] is the cause of the error
	// where the provider has taken the request and may still refuse it.
	Refund(ctx context.Context, id string, r Refund) error
	// DecodeEvent verifies a webhook and returns the charge it is about.
	// [hub.ErrUnauthorized] for an invalid signature, [hub.ErrMalformed] for an invalid
	// body. A notice is not trusted for facts: the charge is read afterwards.
	DecodeEvent(in Inbound) (Event, error)
}

// Error codes.
const (
	CodeProvider      = "provider_error"          // 502
	CodeNotConfigured = "provider_not_configured" // 409
	CodeUnknownCharge = "charge_not_found"        // 404
	CodeChargeState   = "charge_state"            // 409
	CodePayerEmail    = "payer_email_required"    // 422
	CodeCurrency      = "currency_not_supported"  // 422 for who orders, 409 for clients
)

// Currency is the only currency of Pix.
const Currency = "BRL"

// Order describes a payment to request.
type Order struct {
	ID          uuid.UUID // of the payment: the same ID is the same charge
	Amount      booking.Cents
	Currency    string // ISO 4217
	Description string // for the payer, at most 140 characters
	ExpiresAt   time.Time
	Payer       Payer
	Payee       Payee
	NotifyURL   string // of the webhook
}

// Payer is the person who pays.
type Payer struct {
	Name  string
	Email string // Mercado Pago needs one
	TaxID string // CPF or CNPJ, digits; "" = not known
}

// Payee is the recipient as the payer's bank shows it.
type Payee struct {
	Name string
	City string
}

// Status is the state of a charge.
type Status string

// The statuses of a charge; a payment's are the same.
const (
	Pending   Status = "pending"
	Paid      Status = "paid"
	Expired   Status = "expired"
	Cancelled Status = "cancelled"
	Refunded  Status = "refunded" // all of it
	Failed    Status = "failed"
)

// Charge is an order as the provider stores it.
type Charge struct {
	ID        string    // at the provider
	TxID      string    // at the bank or in the BR Code; for people who look for a payment
	Order     uuid.UUID // zero: not created by the hub
	Status    Status
	Amount    booking.Cents
	Refunded  booking.Cents // if the provider reports it; see [Charge.RefundedAmount]
	Currency  string
	Code      string // BR Code: Pix copy and paste
	QRURL     string // a page with its picture, or ""
	ExpiresAt time.Time
	PaidAt    time.Time // zero while not paid
}

// ErrMismatch is a charge that differs from its order. It must not count as paid.
var ErrMismatch = errors.New("the charge is not what was ordered")

// ErrRefundUndecided is a refund that is neither made nor refused yet.
var ErrRefundUndecided = errors.New("the provider has not decided on the refund")

// Check compares a charge that was read with its order.
func (c Charge) Check(order uuid.UUID, amount booking.Cents, currency string) error {
	if c.Order != order || c.Amount != amount || c.Currency != currency {
		return ErrMismatch
	}
	return nil
}

// RefundedAmount returns how much was refunded. A refunded or charged-back charge
// counts in full, even where the provider names no amount.
func (c Charge) RefundedAmount() booking.Cents {
	if c.Status == Refunded {
		return c.Amount
	}
	return c.Refunded
}

// Refund is money to return to the payer.
type Refund struct {
	ID     uuid.UUID // the same ID is the same refund
	Amount booking.Cents
}

// Inbound is a webhook request.
type Inbound struct {
	Header http.Header
	Query  url.Values
	Body   []byte // at most 256 KiB
}

// Event is a verified webhook.
type Event struct {
	ID       string // the same for what was sent twice; made of signed parts only
	ChargeID string // "" = not about a charge: answer it and ignore it
}

// NotConfiguredError is the 409 without a provider.
func NotConfiguredError() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeNotConfigured, "No payment provider is set up here.")
}

// CurrencyError is the 409 for a client's deposit in a currency that cannot be
// collected. The organization can change that, the client cannot.
func CurrencyError() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeCurrency, "This business cannot collect the deposit online. Contact the business.")
}

// signatureError is the 401 for a webhook with an invalid signature.
func signatureError() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "The webhook's signature is not valid.")
}

func malformedError() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "malformed", "The webhook cannot be read.")
}

func unknownChargeError() *hub.Error {
	return hub.Errorf(hub.ErrNotFound, CodeUnknownCharge, "The payment provider does not know this charge.")
}

func chargeStateError() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeChargeState, "The charge is in a state in which this cannot be done.")
}

func providerError(cause error) *hub.Error {
	return hub.Errorf(hub.ErrPeer, CodeProvider, "The payment provider refused or failed; try again.").WithCause(cause)
}

// OutageError is the cause of an error that other calls would have too: the provider
// cannot be reached, fails, or takes no more requests for the moment. Other errors are
// about one charge.
type OutageError struct {
	RetryAfter time.Duration // as the provider asked; 0 = it did not
	Cause      error
}

// Error implements error.
func (e *OutageError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *OutageError) Unwrap() error { return e.Cause }

// transportError is the error of a call without a response.
func transportError(err error) *hub.Error {
	if hub.HasCode(err, hub.CodePeerResponse) { // a response that is too long
		return providerError(err)
	}
	return providerError(&OutageError{Cause: err})
}

// check rejects orders that no provider can accept.
func (o Order) check(now time.Time) error {
	switch {
	case o.Currency != Currency:
		return hub.Errorf(hub.ErrInvalid, CodeCurrency, "Pix charges are in BRL only.")
	case o.Amount <= 0:
		return hub.Invalid("body.amount", "must be more than 0")
	case !o.ExpiresAt.After(now):
		return hub.Invalid("body.expires_in_minutes", "must be in the future")
	}
	return nil
}
