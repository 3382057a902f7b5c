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

// Collects tells whether there is a provider.
func (c *Cashier) Collects() bool { return c.provider != nil }

// NeedsEmail tells whether who pays has to have an e-mail address.
func (c *Cashier) NeedsEmail() bool { return c.provider != nil && c.provider.NeedsEmail() }

// Request is a charge that somebody wants made.
type Request struct {
	store.NewPayment
	ExpiresAt time.Time
	Payer     provider.Payer
	Once      *store.Once
}

// Charge has the provider make a charge, and stores it. Where one for the same became
// open meanwhile it is that one, and made is false.
func (c *Cashier) Charge(ctx context.Context, org store.Org, r Request) (p dbgen.PaymentDetail, made bool, err error) {
	n, err := c.order(ctx, org, r)
	if err != nil {
		return p, false, err
	}
	p, made, err = c.store.AddCharge(ctx, org, n, r.Once)
	if !made {
		c.drop(ctx, n)
	}
	return p, made, err
}

// order asks the provider.
func (c *Cashier) order(ctx context.Context, org store.Org, r Request) (store.NewCharge, error) {
	if c.provider == nil {
		return store.NewCharge{}, provider.NotConfigured()
	}
	n := store.NewCharge{NewPayment: r.NewPayment, ID: store.NewID(), Provider: c.provider.Name(), ExpiresAt: r.ExpiresAt}
	charge, err := c.provider.Create(ctx, provider.Order{
		ID: n.ID, Amount: r.Amount, Currency: org.Currency, Description: r.Description, ExpiresAt: r.ExpiresAt, Payer: r.Payer,
		Payee: provider.Payee{Name: org.Name, City: "Brasil"}, NotifyURL: c.host.URLs.Base + "/api/v1/payments/webhook/" + c.provider.Name(),
	})
	n.Charge = charge
	return n, err
}

// drop ends a charge that was made for nothing, as far as that works: nobody has seen
// its code.
func (c *Cashier) drop(ctx context.Context, n store.NewCharge) {
	if err := c.provider.Cancel(context.WithoutCancel(ctx), n.Charge.ID); err != nil {
		c.host.Log.Warn("ending a charge that is not needed failed; it runs out by itself", "charge", n.Charge.ID, "error", err)
	}
}

// askingTime is how long a time is held while the provider is asked: longer than its
// answer may take.
const askingTime = 2 * time.Minute

// A request that was sent twice is looked at again this often, and for this long, while
// the other one is asking the provider.
const (
	glance   = 50 * time.Millisecond
	patience = 30 * time.Second
)

// Book books for a client. What has a deposit is booked together with the charge for it:
// the time is held while the provider is asked, and where that fails nothing stays.
// deposit is nil where none is due, or it was booked before. Errors as
// [store.Store.Book] and [store.Store.Hold] have them, and the provider's.
func (c *Cashier) Book(ctx context.Context, n store.NewAppointment, payer provider.Payer) (made store.Booked, deposit *dbgen.PaymentDetail, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if made, err = c.store.Book(ctx, n); !errors.Is(err, store.ErrDepositDue) {
			return made, nil, err
		}
		if err := c.takes(n.Org.Currency); err != nil {
			return made, nil, err
		}
		held, err := c.store.Hold(ctx, n, askingTime)
		if err == nil {
			made, deposit, err = c.bookHeld(ctx, n, held, payer)
		}
		if !errors.Is(err, store.ErrUnderWay) && !errors.Is(err, store.ErrDepositDue) { // the price was changed meanwhile
			return made, deposit, err
		}
		select {
		case <-time.After(glance):
		case <-waiting.Done():
			return made, nil, err
		}
	}
}

// takes refuses what cannot be collected.
func (c *Cashier) takes(currency string) error {
	switch {
	case c.provider == nil:
		return provider.NotConfigured()
	case currency != provider.Currency:
		return provider.NotInCurrency()
	}
	return nil
}

// bookHeld books a time that is held for it, with the charge for its deposit.
func (c *Cashier) bookHeld(ctx context.Context, n store.NewAppointment, held store.Held, payer provider.Payer) (made store.Booked, deposit *dbgen.PaymentDetail, err error) {
	n.Hold, n.Professional = held.ID, &held.Professional
	if held.Deposit > 0 { // else it came to somebody who asks for none
		var charge store.NewCharge
		charge, err = c.order(ctx, n.Org, Request{
			NewPayment: store.NewPayment{Org: n.Org.ID, Amount: held.Deposit, Description: held.Service, Kind: store.KindDeposit},
			ExpiresAt:  n.Org.Policy.HoldEnds(c.host.Now().Truncate(time.Microsecond)), Payer: payer,
		})
		n.Charge = &charge
	}
	if err == nil {
		made, err = c.store.Book(ctx, n)
		if n.Charge != nil && (err != nil || made.Before) {
			c.drop(ctx, *n.Charge)
		}
	}
	if err != nil || made.Before {
		if failed := c.store.Release(context.WithoutCancel(ctx), n.Org.ID, held.ID); failed != nil {
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

// Payerless names the field that is wrong where a provider needs the payer's e-mail
// address; other errors pass unchanged.
func Payerless(err error, location string) error {
	var problem *hub.Error
	if !errors.As(err, &problem) || problem.Code != provider.CodePayerEmail {
		return err
	}
	with := *problem
	with.Fields = []hub.FieldError{{Location: location, Message: "needs an e-mail address"}}
	return &with
}

// Receive takes in a webhook of a provider: checked, stored, settled by [Cashier.Work].
// [hub.ErrNotFound] for a provider that is not ours, [hub.ErrUnauthorized] for a
// webhook that is not the provider's.
func (c *Cashier) Receive(ctx context.Context, provider string, in provider.Inbound) error {
	if c.provider == nil || c.provider.Name() != provider {
		return hub.Errorf(hub.ErrNotFound, "not_found", "Payment provider not found")
	}
	const longest = 256 << 10
	if len(in.Body) > longest {
		return hub.Errorf(hub.ErrTooLarge, "body_too_large", "A webhook may have 256 KiB.")
	}
	notice, err := c.provider.Notice(in)
	switch {
	case errors.Is(err, hub.ErrMalformed): // the provider would send it again and again
		c.host.Log.Warn("a webhook of the payment provider cannot be read", "provider", provider)
		return nil
	case err != nil:
		return err
	case notice.Charge == "":
		return nil
	}
	return c.store.KeepNotice(ctx, provider, notice, in.Body)
}

// Pay pays a charge of the sandbox by its transaction id, as a person with a phone
// would; [hub.ErrNotFound] where another provider collects.
func (c *Cashier) Pay(ctx context.Context, txid string) (provider.Charge, error) {
	sandbox, ok := c.provider.(*provider.Sandbox)
	if !ok {
		return provider.Charge{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no sandbox here.")
	}
	return sandbox.Pay(ctx, txid)
}

// ids for logs: nothing of people.
func about(org, id uuid.UUID) []any { return []any{"organization", org, "payment", id} }
