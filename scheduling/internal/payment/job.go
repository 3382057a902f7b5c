package payment

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	batchSize                = 100                // of each kind of work in one run
	maxEventAttempts         = 30                 // of a provider event: about eight hours
	maxUnknownChargeAttempts = 5                  // of a provider event for an unknown charge: the charge may not be stored yet
	maxRefundAttempts        = 12                 // about a day
	callRetryInterval        = time.Minute        // for a call that was not made, or a due charge that could not be read
	unreadLimit              = time.Hour          // after its expiry: a charge that could not be read is then taken for unpaid
	cancelRetryInterval      = 10 * time.Minute   // for a charge that could not be cancelled at the provider
	cancelRetryLimit         = 2 * 24 * time.Hour // after its expiry
)

// ProcessDue settles provider events, ends unpaid charges, cancels appointments without a
// deposit and sends refunds. Each item has its own transaction and is retried later if
// it fails.
func (s *Service) ProcessDue(ctx context.Context) error {
	r := &paymentRun{Service: s, now: s.host.Now()}
	for _, part := range []func(context.Context) error{r.settleProviderEvents, r.endDueCharges, r.cancelUnpaidAppointments, r.sendDueRefunds} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// paymentRun is one run of the job. In an outage of the provider it is not called again:
// each call may take until its deadline.
type paymentRun struct {
	*Service
	now     time.Time
	retryAt time.Time // of calls that are not made because of an outage; zero: there is none
}

// errProviderDown is returned for a call that was not made.
var errProviderDown = errors.New("the payment provider does not respond")

// callProvider makes a call unless there is an outage of the provider.
func (r *paymentRun) callProvider(call func() error) error {
	if r.provider == nil || !r.retryAt.IsZero() {
		return errProviderDown
	}
	err := call()
	var outage *provider.OutageError
	if errors.As(err, &outage) {
		r.retryAt = r.now.Add(max(outage.RetryAfter, callRetryInterval))
		r.host.Log.Warn("the payment provider does not respond", "retry_at", r.retryAt, "error", err)
	}
	return err
}

// nextCallAt returns when a call that failed or was not made is due again.
func (r *paymentRun) nextCallAt() time.Time {
	if r.retryAt.IsZero() {
		return r.now.Add(callRetryInterval)
	}
	return r.retryAt
}

// providerName returns the configured provider's name, "" without one.
func (r *paymentRun) providerName() string {
	if r.provider == nil {
		return ""
	}
	return r.provider.Name()
}

func (r *paymentRun) readCharge(ctx context.Context, id string) (charge provider.Charge, err error) {
	err = r.callProvider(func() error { charge, err = r.provider.Read(ctx, id); return err })
	return charge, err
}

// settleProviderEvents reads the charges of stored provider events and settles them.
func (r *paymentRun) settleProviderEvents(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	events, err := r.store.ClaimProviderEvents(ctx, dbgen.ClaimProviderEventsParams{Now: r.now, Provider: name, RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, event := range events {
		charge, err := r.readCharge(ctx, event.ChargeID)
		if err == nil {
			err = r.store.SettleCharge(ctx, name, charge)
		}
		finished := event.Attempts >= maxEventAttempts
		switch {
		case errors.Is(err, errProviderDown):
			if err := r.store.PostponeProviderEvent(ctx, dbgen.PostponeProviderEventParams{DueAt: r.nextCallAt(), Provider: name, EventID: event.EventID}); err != nil {
				return err
			}
			continue
		case err == nil:
			finished = true
		case errors.Is(err, provider.ErrMismatch):
			finished = true
			r.host.Log.Error("a charge differs from its order and does not count as paid", "charge", event.ChargeID)
		case errors.Is(err, store.ErrUnknownCharge), errors.Is(err, hub.ErrNotFound):
			finished = event.Attempts >= maxUnknownChargeAttempts
		default:
			r.host.Log.Warn("settling a payment failed", "charge", event.ChargeID, "attempt", event.Attempts, "last", finished, "error", err)
		}
		if finished {
			if err := r.store.SetProviderEventProcessed(ctx, dbgen.SetProviderEventProcessedParams{Now: r.now, Provider: name, EventID: event.EventID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// endDueCharges ends expired charges here and at the provider. A charge paid at the
// last moment is settled.
func (r *paymentRun) endDueCharges(ctx context.Context) error {
	charges, err := r.store.DueCharges(ctx, r.now, batchSize)
	if err != nil {
		return err
	}
	for _, due := range charges {
		if err := r.endDueCharge(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

func (r *paymentRun) endDueCharge(ctx context.Context, due dbgen.DueChargesRow) error {
	charge, err := provider.Charge{}, errProviderDown
	if due.Provider == r.providerName() { // another provider would not know it
		charge, err = r.readCharge(ctx, due.ProviderPaymentID)
	}
	open := err == nil && charge.Status == provider.Pending
	if err == nil && !open {
		err = r.store.SettleCharge(ctx, due.Provider, charge)
	}
	switch {
	case errors.Is(err, provider.ErrMismatch):
		r.host.Log.Error("a charge differs from its order and does not count as paid", "charge", due.ProviderPaymentID)
	case err != nil && !errors.Is(err, hub.ErrNotFound) && r.now.Sub(due.ExpiresAt) < unreadLimit: // it may be paid
		if !errors.Is(err, errProviderDown) {
			r.host.Log.Warn("reading an expired charge failed", append(logIDs(due.OrgID, due.PaymentID), "error", err)...)
		}
		next := r.nextCallAt()
		return r.store.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{DueAt: &next, OrgID: due.OrgID, PaymentID: due.PaymentID})
	}
	if err := r.store.ExpireCharge(ctx, due.OrgID, due.PaymentID); err != nil {
		return err
	}
	if open {
		err = r.callProvider(func() error { return r.provider.Cancel(ctx, due.ProviderPaymentID) })
	}
	return r.scheduleChargeCheck(ctx, due, err)
}

// scheduleChargeCheck sets when the charge is read from the provider again: never, once
// its state is final.
func (r *paymentRun) scheduleChargeCheck(ctx context.Context, due dbgen.DueChargesRow, checkErr error) error {
	next := r.now.Add(cancelRetryInterval)
	checkAt := &next
	switch {
	case checkErr == nil, errors.Is(checkErr, hub.ErrNotFound), errors.Is(checkErr, provider.ErrMismatch), r.now.Sub(due.ExpiresAt) > cancelRetryLimit:
		checkAt = nil
	case !errors.Is(checkErr, errProviderDown):
		r.host.Log.Warn("cancelling an expired charge failed", append(logIDs(due.OrgID, due.PaymentID), "error", checkErr)...)
	}
	return r.store.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{DueAt: checkAt, OrgID: due.OrgID, PaymentID: due.PaymentID})
}

// cancelUnpaidAppointments cancels appointments whose deposit was not paid in time.
func (r *paymentRun) cancelUnpaidAppointments(ctx context.Context) error {
	appointments, err := r.store.AppointmentsWithOverdueDeposit(ctx, r.now, batchSize)
	if err != nil {
		return err
	}
	for _, appointment := range appointments {
		if err := r.store.CancelUnpaid(ctx, appointment.OrgID, appointment.ID); err != nil {
			r.host.Log.Warn("cancelling an unpaid appointment failed", "organization", appointment.OrgID, "appointment", appointment.ID, "error", err)
		}
	}
	return nil
}

// failForeignRefunds leaves the refunds of a former provider to staff: this one cannot
// make them.
func (r *paymentRun) failForeignRefunds(ctx context.Context) error {
	refunds, err := r.store.RefundsOfOtherProviders(ctx, dbgen.RefundsOfOtherProvidersParams{Now: r.now, Provider: r.providerName(), RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, due := range refunds {
		r.host.Log.Error("a refund is of a payment provider that is not configured", logIDs(due.OrgID, due.PaymentID)...)
		if err := r.store.MarkRefundFailed(ctx, due.OrgID, due.ID, due.AppointmentID); err != nil {
			return err
		}
	}
	return nil
}

// sendDueRefunds requests due refunds from the provider.
func (r *paymentRun) sendDueRefunds(ctx context.Context) error {
	if err := r.failForeignRefunds(ctx); err != nil || r.provider == nil {
		return err
	}
	refunds, err := r.store.ClaimRefunds(ctx, dbgen.ClaimRefundsParams{Now: r.now, Provider: r.providerName(), RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, due := range refunds {
		err := r.sendRefund(ctx, due.ID, *due.ProviderPaymentID, provider.Refund{ID: due.ID, Amount: due.AmountCents})
		if errors.Is(err, errProviderDown) {
			if err := r.store.PostponeRefund(ctx, dbgen.PostponeRefundParams{DueAt: r.nextCallAt(), OrgID: due.OrgID, ID: due.ID}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			last := due.Attempts >= maxRefundAttempts
			r.host.Log.Warn("refunding a deposit failed", append(logIDs(due.OrgID, due.PaymentID), "attempt", due.Attempts, "last", last, "error", err)...)
			if last {
				if err := r.store.MarkRefundFailed(ctx, due.OrgID, due.ID, due.AppointmentID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *paymentRun) sendRefund(ctx context.Context, id uuid.UUID, chargeID string, refund provider.Refund) error {
	err := r.callProvider(func() error { return r.provider.Refund(ctx, chargeID, refund) })
	isStateConflict := errors.Is(err, hub.ErrConflict) // it may have been refunded already
	if err != nil && !isStateConflict {
		return err
	}
	charge, readErr := r.readCharge(ctx, chargeID)
	if readErr != nil {
		return readErr
	}
	if isStateConflict && charge.RefundedAmount() < refund.Amount {
		return err
	}
	return r.store.SettleRefund(ctx, r.provider.Name(), charge, id)
}
