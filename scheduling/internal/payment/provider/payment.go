// Package provider collects Pix payments through a provider: what the product needs
// of one, the sandbox for developers, and Mercado Pago.
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

// Provider collects money. It is safe for concurrent use, keeps nothing of what it
// is asked, and none of its calls belongs into a transaction: they wait for another
// machine. Its errors are [*hub.Error]s: [hub.ErrPeer] with [CodeProvider] where the
// provider did not do what it was asked, [hub.ErrNotFound] for a charge it does not
// know, [hub.ErrConflict] for one in another state, and what the calls say besides.
type Provider interface {
	// Name is the provider's in settings and in the path of its webhook.
	Name() string
	// NeedsEmail tells whether orders need the payer's e-mail address.
	NeedsEmail() bool
	// Create asks for a payment. The same order, by its ID, is the same charge: after
	// an error it may be asked again. [hub.ErrInvalid] for an order the provider
	// cannot take.
	Create(ctx context.Context, o Order) (Charge, error)
	// Read gives a charge as it stands at the provider.
	Read(ctx context.Context, id string) (Charge, error)
	// Cancel ends an open charge; one that is not open any more is a [hub.ErrConflict].
	Cancel(ctx context.Context, id string) error
	// Refund gives money back, once for each refund's ID.
	Refund(ctx context.Context, id string, r Refund) error
	// Notice checks that a webhook is the provider's and tells which charge it is
	// about. [hub.ErrUnauthorized] for one that is not, [hub.ErrMalformed] for one
	// that cannot be read. A notice tells no facts: those are read back.
	Notice(in Inbound) (Notice, error)
}

// Codes of errors.
const (
	CodeProvider      = "provider_error"          // 502
	CodeNotConfigured = "provider_not_configured" // 409
	CodeUnknownCharge = "charge_not_found"        // 404
	CodeChargeState   = "charge_state"            // 409
	CodePayerEmail    = "payer_email_required"    // 422
	CodeCurrency      = "currency_not_supported"  // 422 for who orders, 409 for clients
)

// Currency is the only one Pix knows.
const Currency = "BRL"

// Order is what is to be paid.
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

// Payer is who pays.
type Payer struct {
	Name  string
	Email string // Mercado Pago needs one
	TaxID string // CPF or CNPJ, digits; "" = not known
}

// Payee is who is paid, as the payer's bank shows it.
type Payee struct {
	Name string
	City string
}

// Status is where a charge stands.
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

// Charge is an order as the provider has it.
type Charge struct {
	ID        string    // at the provider
	TxID      string    // at the bank or in the BR Code; for people who look for a payment
	Order     uuid.UUID // zero where the provider has it from somebody else
	Status    Status
	Amount    booking.Cents
	Refunded  booking.Cents // as far as the provider tells; see [Charge.GivenBack]
	Currency  string
	Code      string // BR Code: Pix copy and paste
	QR        []byte // the same as a picture, PNG
	QRURL     string // a page with it, or ""
	ExpiresAt time.Time
	PaidAt    time.Time // zero while not paid
}

// ErrMismatch is a charge that is not what was ordered: it must not count as paid.
var ErrMismatch = errors.New("the charge is not what was ordered")

// Check compares a charge that was read back with what was ordered.
func (c Charge) Check(order uuid.UUID, amount booking.Cents, currency string) error {
	if c.Order != order || c.Amount != amount || c.Currency != currency {
		return ErrMismatch
	}
	return nil
}

// GivenBack is how much of the money went back. A charge that is refunded, or that the
// payer's bank took back, is so altogether, also where the provider tells no amount.
func (c Charge) GivenBack() booking.Cents {
	if c.Status == Refunded {
		return c.Amount
	}
	return c.Refunded
}

// Refund is money that goes back.
type Refund struct {
	ID     uuid.UUID // the same ID is the same refund
	Amount booking.Cents
}

// Inbound is a webhook as it arrived.
type Inbound struct {
	Header http.Header
	Query  url.Values
	Body   []byte // at most 256 KiB
}

// Notice is what a webhook says.
type Notice struct {
	ID     string // the same for what was sent twice; made of signed parts only
	Charge string // "" = about something else: to be answered and forgotten
}

// NotConfigured is the 409 where there is no provider.
func NotConfigured() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeNotConfigured, "No payment provider is set up here.")
}

// NotInCurrency is the 409 for a client's deposit in a currency that cannot be
// collected: the organization's affair, not the client's.
func NotInCurrency() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeCurrency, "This business cannot collect the deposit online. Contact the business.")
}

// unauthorized is the 401 for a webhook that is not the provider's.
func unauthorized() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "The webhook's signature does not hold.")
}

func unreadable() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "malformed", "The webhook cannot be read.")
}

func unknownCharge() *hub.Error {
	return hub.Errorf(hub.ErrNotFound, CodeUnknownCharge, "The payment provider does not know this charge.")
}

func wrongState() *hub.Error {
	return hub.Errorf(hub.ErrConflict, CodeChargeState, "The charge is in a state in which this cannot be done.")
}

func failed(cause error) *hub.Error {
	return hub.Errorf(hub.ErrPeer, CodeProvider, "The payment provider did not do what it was asked; try again.").WithCause(cause)
}

// check refuses orders that no provider can take.
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
