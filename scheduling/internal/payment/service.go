// Package payment requests charges and refunds from the payment provider and keeps
// payments in step with it. No transaction is open during a call: the provider is
// called first and its answer stored afterwards.
package payment

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Service collects payments. Without a provider it returns [provider.NotConfiguredError].
type Service struct {
	host     module.Host
	store    *store.Store
	provider provider.Provider // nil: none
}

// New returns the service with the provider configured in the hub's settings.
func New(host module.Host, s *store.Store) (*Service, error) {
	provider, err := provider.Open(provider.Config{
		Provider: host.Settings.PaymentProvider, Token: host.Settings.PaymentToken, Secret: host.Settings.PaymentSecret,
		SandboxSecret: base64.RawStdEncoding.EncodeToString(host.Sealer.Derive("sandbox payments")),
		DB:            host.Pool, Do: host.HTTP, Now: host.Now,
	})
	return &Service{host, s, provider}, err
}

// HasProvider reports whether a provider is configured.
func (c *Service) HasProvider() bool { return c.provider != nil }

// RequiresPayerEmail reports whether payers must have an e-mail address.
func (c *Service) RequiresPayerEmail() bool {
	return c.provider != nil && c.provider.RequiresPayerEmail()
}

// ChargeRequest describes a charge to create.
type ChargeRequest struct {
	store.NewPayment
	ExpiresAt   time.Time
	Payer       provider.Payer
	Idempotency *store.IdempotencyKey
}

// CreateCharge creates a charge at the provider and stores it. If one for the same
// purpose was stored meanwhile it returns that one, with created false.
func (c *Service) CreateCharge(ctx context.Context, org store.Org, r ChargeRequest) (p dbgen.PaymentDetail, made bool, err error) {
	n, err := c.requestCharge(ctx, org, r)
	if err != nil {
		return p, false, err
	}
	p, made, err = c.store.AddCharge(ctx, org, n, r.Idempotency)
	if !made {
		c.cancelUnusedCharge(ctx, n)
	}
	return p, made, err
}

// requestCharge creates the charge at the provider.
func (c *Service) requestCharge(ctx context.Context, org store.Org, r ChargeRequest) (store.NewCharge, error) {
	if c.provider == nil {
		return store.NewCharge{}, provider.NotConfiguredError()
	}
	n := store.NewCharge{NewPayment: r.NewPayment, ID: store.NewID(), Provider: c.provider.Name(), ExpiresAt: r.ExpiresAt}
	charge, err := c.provider.Create(ctx, provider.Order{
		ID: n.ID, Amount: r.Amount, Currency: org.Currency, Description: r.Description, ExpiresAt: r.ExpiresAt, Payer: r.Payer,
		Payee: provider.Payee{Name: org.Name, City: "Brasil"}, NotifyURL: c.host.URLs.Base + "/api/v1/payments/webhook/" + c.provider.Name(),
	})
	n.Charge = charge
	return n, err
}

// cancelUnusedCharge cancels a charge whose code was never shown. Failing is harmless:
// the charge expires.
func (c *Service) cancelUnusedCharge(ctx context.Context, n store.NewCharge) {
	if err := c.provider.Cancel(context.WithoutCancel(ctx), n.Charge.ID); err != nil {
		c.host.Log.Warn("ending a charge that is not needed failed; it runs out by itself", "charge", n.Charge.ID, "error", err)
	}
}

// providerHoldTTL is how long a time is held during a provider call. It is longer than
// the call may take.
const providerHoldTTL = 2 * time.Minute

// While a repeated request waits for the first one, it retries at this interval until
// the timeout.
const (
	repeatInterval = 50 * time.Millisecond
	repeatTimeout  = 30 * time.Second
)

// Book books for a client. A required deposit is charged with the booking: the time is
// held during the provider call, and if that fails nothing is stored. deposit is nil
// where none is due or the booking existed. Errors are those of [store.Store.Book],
// [store.Store.HoldSlot] and the provider.
func (c *Service) Book(ctx context.Context, n store.NewAppointment, payer provider.Payer) (made store.BookedAppointment, deposit *dbgen.PaymentDetail, err error) {
	waiting, cancel := context.WithTimeout(ctx, repeatTimeout)
	defer cancel()
	for {
		if made, err = c.store.Book(ctx, n); !errors.Is(err, store.ErrDepositDue) {
			return made, nil, err
		}
		if err := c.checkCurrency(n.Org.Currency); err != nil {
			return made, nil, err
		}
		held, err := c.store.HoldSlot(ctx, n, providerHoldTTL)
		if err == nil {
			made, deposit, err = c.bookHeld(ctx, n, held, payer)
		}
		if !errors.Is(err, store.ErrRequestInProgress) && !errors.Is(err, store.ErrDepositDue) { // the price was changed meanwhile
			return made, deposit, err
		}
		select {
		case <-time.After(repeatInterval):
		case <-waiting.Done():
			return made, nil, err
		}
	}
}

// checkCurrency rejects deposits that cannot be collected.
func (c *Service) checkCurrency(currency string) error {
	switch {
	case c.provider == nil:
		return provider.NotConfiguredError()
	case currency != provider.Currency:
		return provider.CurrencyError()
	}
	return nil
}

// bookHeld books a held time with the charge for its deposit.
func (c *Service) bookHeld(ctx context.Context, n store.NewAppointment, held store.HeldSlot, payer provider.Payer) (made store.BookedAppointment, deposit *dbgen.PaymentDetail, err error) {
	n.HoldID, n.Professional = held.ID, &held.Professional
	if held.Deposit > 0 { // else it came to somebody who asks for none
		var charge store.NewCharge
		charge, err = c.requestCharge(ctx, n.Org, ChargeRequest{
			NewPayment: store.NewPayment{Org: n.Org.ID, Amount: held.Deposit, Description: held.Service, Kind: store.KindDeposit},
			ExpiresAt:  n.Org.Policy.DepositHoldEnd(c.host.Now().Truncate(time.Microsecond)), Payer: payer,
		})
		n.Charge = &charge
	}
	if err == nil {
		made, err = c.store.Book(ctx, n)
		if n.Charge != nil && (err != nil || made.Repeated) {
			c.cancelUnusedCharge(ctx, *n.Charge)
		}
	}
	if err != nil || made.Repeated {
		if failed := c.store.ReleaseHold(context.WithoutCancel(ctx), n.Org.ID, held.ID); failed != nil {
			c.host.Log.Warn("letting go of a held time failed; it runs out by itself", "error", failed)
		}
		return made, nil, err
	}
	if n.Charge == nil {
		return made, nil, nil
	}
	p, err := c.store.PaymentByID(ctx, n.Org.ID, n.Charge.ID)
	return made, &p, err
}

// WithPayerEmailField adds the request's field to a provider's error about a missing
// payer e-mail address. Other errors pass unchanged.
func WithPayerEmailField(err error, location string) error {
	var problem *hub.Error
	if !errors.As(err, &problem) || problem.Code != provider.CodePayerEmail {
		return err
	}
	with := *problem
	with.Fields = []hub.FieldError{{Location: location, Message: "needs an e-mail address"}}
	return &with
}

// ReceiveWebhook verifies and stores a provider's webhook; [Service.ProcessDue] settles
// it. [hub.ErrNotFound] for a provider that is not configured, [hub.ErrUnauthorized]
// for an invalid signature.
func (c *Service) ReceiveWebhook(ctx context.Context, provider string, in provider.Inbound) error {
	if c.provider == nil || c.provider.Name() != provider {
		return hub.Errorf(hub.ErrNotFound, "not_found", "Payment provider not found")
	}
	const longest = 256 << 10
	if len(in.Body) > longest {
		return hub.Errorf(hub.ErrTooLarge, "body_too_large", "A webhook may have 256 KiB.")
	}
	notice, err := c.provider.DecodeNotice(in)
	switch {
	case errors.Is(err, hub.ErrMalformed): // the provider would send it again and again
		c.host.Log.Warn("a webhook of the payment provider cannot be read", "provider", provider)
		return nil
	case err != nil:
		return err
	case notice.Charge == "":
		return nil
	}
	return c.store.StoreNotice(ctx, provider, notice, in.Body)
}

// PaySandboxCharge pays a charge of the sandbox by its transaction id.
// [hub.ErrNotFound] where another provider is configured.
func (c *Service) PaySandboxCharge(ctx context.Context, txid string) (provider.Charge, error) {
	sandbox, ok := c.provider.(*provider.Sandbox)
	if !ok {
		return provider.Charge{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no sandbox here.")
	}
	return sandbox.Pay(ctx, txid)
}

// logIDs returns log fields that contain no personal data.
func logIDs(org, id uuid.UUID) []any { return []any{"organization", org, "payment", id} }
