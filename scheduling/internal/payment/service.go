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
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
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
func (s *Service) HasProvider() bool { return s.provider != nil }

// RequiresPayerEmail reports whether payers must have an e-mail address.
func (s *Service) RequiresPayerEmail() bool {
	return s.provider != nil && s.provider.RequiresPayerEmail()
}

// ChargeRequest describes a charge to create.
type ChargeRequest struct {
	store.NewPayment
	ExpiresAt   time.Time
	Payer       provider.Payer
	Idempotency *store.IdempotencyKey
}

// CreateCharge creates a charge at the provider and stores it. If another charge for
// the same purpose was stored meanwhile, it returns that charge, with created false.
func (s *Service) CreateCharge(ctx context.Context, org store.Org, request ChargeRequest) (payment store.PaymentDetail, created bool, err error) {
	charge, err := s.requestCharge(ctx, org, request)
	if err != nil {
		return payment, false, err
	}
	payment, created, err = s.store.AddCharge(ctx, org, charge, request.Idempotency)
	if !created {
		s.cancelUnusedCharge(ctx, charge, err)
	}
	return payment, created, err
}

// requestCharge creates the charge at the provider.
func (s *Service) requestCharge(ctx context.Context, org store.Org, request ChargeRequest) (store.NewCharge, error) {
	if s.provider == nil {
		return store.NewCharge{}, provider.NotConfiguredError()
	}
	charge := store.NewCharge{NewPayment: request.NewPayment, ID: store.NewID(), Provider: s.provider.Name(), ExpiresAt: request.ExpiresAt}
	created, err := s.provider.Create(ctx, provider.Order{
		ID: charge.ID, Amount: request.Amount, Currency: org.Currency, Description: request.Description, ExpiresAt: request.ExpiresAt, Payer: request.Payer,
		Payee: provider.Payee{Name: org.Name, City: "Brasil"}, NotifyURL: s.host.URLs.Base + "/api/v1/payments/webhook/" + s.provider.Name(),
	})
	charge.Charge = created
	return charge, err
}

// cancelUnusedCharge cancels a charge whose payment was not stored, so its code was never
// shown. Failing is harmless: the charge expires. A commit whose answer was lost may have
// stored the payment, or store it in a moment; cancelling its charge would take the code from
// a booking that exists. storing is the error of storing it, nil where another was used.
func (s *Service) cancelUnusedCharge(ctx context.Context, charge store.NewCharge, storing error) {
	if mayBeCommitted(storing) {
		s.host.Log.Warn("a charge that may have been stored is left to expire", append(logIDs(charge.Org, charge.ID), "error", storing)...)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), repeatTimeout)
	defer cancel()
	if err := s.provider.Cancel(ctx, charge.Charge.ID); err != nil {
		s.host.Log.Warn("cancelling an unused charge failed; it will expire", "charge", charge.Charge.ID, "error", err)
	}
}

// mayBeCommitted reports whether a transaction that failed may have been committed: neither
// PostgreSQL nor its work refused it.
func mayBeCommitted(err error) bool {
	if err == nil || dberr.Code(err) != "" {
		return false
	}
	var refused *hub.Error
	return !errors.As(err, &refused) || hub.HasCode(err, "database_unavailable")
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

// BookCollectingDeposit books for a client, with or without a deposit. A required
// deposit is charged with the booking: the time is held during the provider call, and
// if that fails nothing is stored. deposit is nil
// where none is due or the booking existed. Errors are those of [store.Store.Book],
// [store.Store.HoldSlot] and the provider.
func (s *Service) BookCollectingDeposit(ctx context.Context, request store.NewAppointment, payer provider.Payer) (booked store.BookedAppointment, deposit *store.PaymentDetail, err error) {
	waitCtx, cancel := context.WithTimeout(ctx, repeatTimeout)
	defer cancel()
	for {
		if booked, err = s.store.Book(ctx, request); !errors.Is(err, store.ErrDepositDue) {
			return booked, nil, err
		}
		if err := s.checkCurrency(request.Org.Currency); err != nil {
			return booked, nil, err
		}
		held, err := s.store.HoldSlot(ctx, request, store.HoldTerms{TTL: providerHoldTTL})
		if err == nil {
			booked, deposit, err = s.bookHeld(ctx, request, held, payer)
		}
		if !errors.Is(err, store.ErrRequestInProgress) && !errors.Is(err, store.ErrDepositDue) { // the price changed meanwhile
			return booked, deposit, err
		}
		select {
		case <-time.After(repeatInterval):
		case <-waitCtx.Done():
			return booked, nil, err
		}
	}
}

// checkCurrency rejects deposits that cannot be collected.
func (s *Service) checkCurrency(currency string) error {
	switch {
	case s.provider == nil:
		return provider.NotConfiguredError()
	case currency != provider.Currency:
		return provider.CurrencyError()
	}
	return nil
}

// bookHeld books a held time with the charge for its deposit.
func (s *Service) bookHeld(ctx context.Context, request store.NewAppointment, held store.HeldSlot, payer provider.Payer) (booked store.BookedAppointment, deposit *store.PaymentDetail, err error) {
	request.HoldID, request.Professional = held.ID, &held.Professional
	if held.Deposit > 0 { // else the chosen professional requires no deposit
		var charge store.NewCharge
		charge, err = s.requestCharge(ctx, request.Org, ChargeRequest{
			NewPayment: store.NewPayment{Org: request.Org.ID, Amount: held.Deposit, Description: held.Service, Kind: store.KindDeposit},
			ExpiresAt:  request.Org.Policy.DepositDeadline(s.host.Now().Truncate(time.Microsecond), request.Start), Payer: payer,
		})
		request.Charge = &charge
	}
	if err == nil {
		booked, err = s.store.Book(ctx, request)
		if request.Charge != nil && (err != nil || booked.Repeated) {
			s.cancelUnusedCharge(ctx, *request.Charge, err)
		}
	}
	if err != nil || booked.Repeated {
		if releaseErr := s.store.ReleaseHold(context.WithoutCancel(ctx), request.Org.ID, held.ID); releaseErr != nil {
			s.host.Log.Warn("deleting a hold failed; it will expire", "error", releaseErr)
		}
		return booked, nil, err
	}
	if request.Charge == nil {
		return booked, nil, nil
	}
	payment, err := s.store.PaymentByID(ctx, request.Org.ID, request.Charge.ID)
	return booked, &payment, err
}

// WithPayerEmailField adds the request's field to a provider's error about a missing
// payer e-mail address. Other errors pass unchanged.
func WithPayerEmailField(err error, location string) error {
	var problem *hub.Error
	if !errors.As(err, &problem) || problem.Code != provider.CodePayerEmail {
		return err
	}
	extended := *problem
	extended.Fields = []hub.FieldError{{Location: location, Message: "needs an e-mail address"}}
	return &extended
}

// ReceiveWebhook verifies and stores a provider's webhook; [Service.ProcessDue] settles
// it. [hub.ErrNotFound] for a provider that is not configured, [hub.ErrUnauthorized]
// for an invalid signature.
func (s *Service) ReceiveWebhook(ctx context.Context, providerName string, webhook provider.Inbound) error {
	if s.provider == nil || s.provider.Name() != providerName {
		return hub.Errorf(hub.ErrNotFound, "not_found", "Payment provider not found")
	}
	const maxBody = 256 << 10
	if len(webhook.Body) > maxBody {
		return hub.Errorf(hub.ErrTooLarge, "body_too_large", "A webhook may have 256 KiB.")
	}
	event, err := s.provider.DecodeEvent(webhook)
	switch {
	case errors.Is(err, hub.ErrMalformed): // otherwise the provider keeps repeating it
		s.host.Log.Warn("a webhook of the payment provider is malformed", "provider", providerName)
		return nil
	case err != nil:
		return err
	case event.ChargeID == "":
		return nil
	}
	return s.store.StoreProviderEvent(ctx, providerName, event, webhook.Body)
}

// UsesSandbox reports whether the provider is the sandbox.
func (s *Service) UsesSandbox() bool {
	_, sandbox := s.provider.(*provider.Sandbox)
	return sandbox
}

// PaySandboxCharge pays a charge of the sandbox by its transaction id.
// [hub.ErrNotFound] where another provider is configured.
func (s *Service) PaySandboxCharge(ctx context.Context, txid string) (provider.Charge, error) {
	sandbox, ok := s.provider.(*provider.Sandbox)
	if !ok {
		return provider.Charge{}, hub.Errorf(hub.ErrNotFound, "not_found", "The sandbox payment provider is not in use on this hub.")
	}
	return sandbox.Pay(ctx, txid)
}

// logIDs returns log fields that contain no personal data.
func logIDs(org, id uuid.UUID) []any { return []any{"organization", org, "payment", id} }
