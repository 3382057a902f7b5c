// Package payment asks the payment provider for charges and refunds and keeps
// payments in step with what the provider knows. While the provider is asked no
// transaction is open: it is asked first, and what it answered is written afterwards.
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

// Cashier collects. Without a provider it answers [payment.NotConfigured].
type Cashier struct {
	host     module.Host
	store    *store.Store
	provider provider.Provider // nil: none
}

// New makes a cashier with the provider that the hub's settings name.
func New(host module.Host, s *store.Store) (*Cashier, error) {
	provider, err := provider.Open(provider.Config{
		Provider: host.Settings.PaymentProvider, Token: host.Settings.PaymentToken, Secret: host.Settings.PaymentSecret,
		SandboxSecret: base64.RawStdEncoding.EncodeToString(host.Sealer.Derive("sandbox payments")),
		DB:            host.Pool, Do: host.HTTP, Now: host.Now,
	})
	return &Cashier{host, s, provider}, err
}

// HasProvider tells whether there is a provider.
func (c *Cashier) HasProvider() bool { return c.provider != nil }

// RequiresPayerEmail tells whether who pays has to have an e-mail address.
func (c *Cashier) RequiresPayerEmail() bool {
	return c.provider != nil && c.provider.RequiresPayerEmail()
}

// Request is a charge that somebody wants made.
type Request struct {
	store.NewPayment
	ExpiresAt   time.Time
	Payer       provider.Payer
	Idempotency *store.Once
}

// CreateCharge has the provider make a charge, and stores it. Where one for the same became
// open meanwhile it is that one, and made is false.
func (c *Cashier) CreateCharge(ctx context.Context, org store.Org, r Request) (p dbgen.PaymentDetail, made bool, err error) {
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

// requestCharge asks the provider.
func (c *Cashier) requestCharge(ctx context.Context, org store.Org, r Request) (store.NewCharge, error) {
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

// cancelUnusedCharge ends a charge that was made for nothing, as far as that works: nobody has seen
// its code.
func (c *Cashier) cancelUnusedCharge(ctx context.Context, n store.NewCharge) {
	if err := c.provider.Cancel(context.WithoutCancel(ctx), n.Charge.ID); err != nil {
		c.host.Log.Warn("ending a charge that is not needed failed; it runs out by itself", "charge", n.Charge.ID, "error", err)
	}
}

// providerHoldTTL is how long a time is held while the provider is asked: longer than its
// answer may take.
const providerHoldTTL = 2 * time.Minute

// A request that was sent twice is looked at again this often, and for this long, while
// the other one is asking the provider.
const (
	repeatInterval = 50 * time.Millisecond
	repeatTimeout  = 30 * time.Second
)

// Book books for a client. What has a deposit is booked together with the charge for it:
// the time is held while the provider is asked, and where that fails nothing stays.
// deposit is nil where none is due, or it was booked before. Errors as
// [store.Store.Book] and [store.Store.HoldSlot] have them, and the provider's.
func (c *Cashier) Book(ctx context.Context, n store.NewAppointment, payer provider.Payer) (made store.Booked, deposit *dbgen.PaymentDetail, err error) {
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

// checkCurrency refuses what cannot be collected.
func (c *Cashier) checkCurrency(currency string) error {
	switch {
	case c.provider == nil:
		return provider.NotConfiguredError()
	case currency != provider.Currency:
		return provider.CurrencyError()
	}
	return nil
}

// bookHeld books a time that is held for it, with the charge for its deposit.
func (c *Cashier) bookHeld(ctx context.Context, n store.NewAppointment, held store.Held, payer provider.Payer) (made store.Booked, deposit *dbgen.PaymentDetail, err error) {
	n.HoldID, n.Professional = held.ID, &held.Professional
	if held.Deposit > 0 { // else it came to somebody who asks for none
		var charge store.NewCharge
		charge, err = c.requestCharge(ctx, n.Org, Request{
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

// WithPayerEmailField names the field that is wrong where a provider needs the payer's e-mail
// address; other errors pass unchanged.
func WithPayerEmailField(err error, location string) error {
	var problem *hub.Error
	if !errors.As(err, &problem) || problem.Code != provider.CodePayerEmail {
		return err
	}
	with := *problem
	with.Fields = []hub.FieldError{{Location: location, Message: "needs an e-mail address"}}
	return &with
}

// ReceiveWebhook takes in a webhook of a provider: checked, stored, settled by [Cashier.ProcessDue].
// [hub.ErrNotFound] for a provider that is not ours, [hub.ErrUnauthorized] for a
// webhook that is not the provider's.
func (c *Cashier) ReceiveWebhook(ctx context.Context, provider string, in provider.Inbound) error {
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

// PaySandboxCharge pays a charge of the sandbox by its transaction id, as a person with a phone
// would; [hub.ErrNotFound] where another provider collects.
func (c *Cashier) PaySandboxCharge(ctx context.Context, txid string) (provider.Charge, error) {
	sandbox, ok := c.provider.(*provider.Sandbox)
	if !ok {
		return provider.Charge{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no sandbox here.")
	}
	return sandbox.Pay(ctx, txid)
}

// ids for logs: nothing of people.
func logIDs(org, id uuid.UUID) []any { return []any{"organization", org, "payment", id} }
