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
	maxNoticeAttempts        = 30                 // of a notice: about eight hours
	maxUnknownChargeAttempts = 5                  // of one about a charge that we do not know: it may be about to be stored
	maxRefundAttempts        = 12                 // about a day
	cancelRetryInterval      = 10 * time.Minute   // about a charge that could not be ended at the provider
	cancelRetryLimit         = 2 * 24 * time.Hour // after its time was over
)

// ProcessDue settles notices, ends unpaid charges, cancels appointments without a
// deposit and sends refunds. Each item has its own transaction and is retried later if
// it fails.
func (c *Service) ProcessDue(ctx context.Context) error {
	r := &paymentRun{Service: c, now: c.host.Now()}
	for _, part := range []func(context.Context) error{r.settleNotices, r.endDueCharges, r.cancelUnpaidAppointments, r.sendDueRefunds} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// paymentRun is one run of the job. Once the provider is down it is not called again:
// each call may take until its deadline.
type paymentRun struct {
	*Service
	now          time.Time
	providerDown bool
}

// errProviderDown is returned for a call that was not made.
var errProviderDown = errors.New("the payment provider does not answer")

// callProvider makes a call unless the provider is down.
func (r *paymentRun) callProvider(call func() error) error {
	if r.provider == nil || r.providerDown {
		return errProviderDown
	}
	err := call()
	if errors.Is(err, hub.ErrPeer) {
		r.providerDown = true
	}
	return err
}

func (r *paymentRun) readCharge(ctx context.Context, id string) (charge provider.Charge, err error) {
	err = r.callProvider(func() error { charge, err = r.provider.Read(ctx, id); return err })
	return charge, err
}

// settleNotices reads the charges of stored notices and settles them.
func (r *paymentRun) settleNotices(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	list, err := r.store.ClaimProviderEvents(ctx, dbgen.ClaimProviderEventsParams{Now: r.now, Provider: name, RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, notice := range list {
		charge, err := r.readCharge(ctx, notice.ChargeID)
		if err == nil {
			err = r.store.SettleCharge(ctx, name, charge)
		}
		finished := notice.Attempts >= maxNoticeAttempts
		switch {
		case err == nil:
			finished = true
		case errors.Is(err, provider.ErrMismatch):
			finished = true
			r.host.Log.Error("a charge is not what was ordered; it does not count as paid", "charge", notice.ChargeID)
		case errors.Is(err, store.ErrUnknownCharge), errors.Is(err, hub.ErrNotFound):
			finished = notice.Attempts >= maxUnknownChargeAttempts
		default:
			r.host.Log.Warn("settling a payment failed", "charge", notice.ChargeID, "attempt", notice.Attempts, "last", finished, "error", err)
		}
		if finished {
			if err := r.store.SetProviderEventProcessed(ctx, dbgen.SetProviderEventProcessedParams{Now: r.now, Provider: name, EventID: notice.EventID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// endDueCharges ends expired charges here and at the provider. A charge paid at the
// last moment is settled.
func (r *paymentRun) endDueCharges(ctx context.Context) error {
	list, err := r.store.DueCharges(ctx, r.now, batchSize)
	if err != nil {
		return err
	}
	for _, due := range list {
		charge, err := r.readCharge(ctx, due.ProviderPaymentID)
		open := err == nil && charge.Status == provider.Pending
		if err == nil && !open {
			err = r.store.SettleCharge(ctx, due.Provider, charge)
		}
		if errors.Is(err, provider.ErrMismatch) {
			r.host.Log.Error("a charge is not what was ordered; it does not count as paid", "charge", due.ProviderPaymentID)
		}
		if err := r.store.ExpireCharge(ctx, due.OrgID, due.PaymentID); err != nil {
			return err
		}
		if open {
			err = r.callProvider(func() error { return r.provider.Cancel(ctx, due.ProviderPaymentID) })
		}
		if err := r.scheduleCharge(ctx, due, err); err != nil {
			return err
		}
	}
	return nil
}

// scheduleCharge sets when the provider is asked about a charge again: never, once it
// is final there.
func (r *paymentRun) scheduleCharge(ctx context.Context, due dbgen.DueChargesRow, failed error) error {
	next := r.now.Add(cancelRetryInterval)
	again := &next
	switch {
	case failed == nil, errors.Is(failed, hub.ErrNotFound), errors.Is(failed, provider.ErrMismatch), r.now.Sub(due.ExpiresAt) > cancelRetryLimit:
		again = nil
	case !errors.Is(failed, errProviderDown):
		r.host.Log.Warn("ending a charge failed", append(logIDs(due.OrgID, due.PaymentID), "error", failed)...)
	}
	return r.store.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{DueAt: again, OrgID: due.OrgID, PaymentID: due.PaymentID})
}

// cancelUnpaidAppointments cancels appointments whose deposit was not paid in time.
func (r *paymentRun) cancelUnpaidAppointments(ctx context.Context) error {
	list, err := r.store.AppointmentsWithOverdueDeposit(ctx, r.now, batchSize)
	if err != nil {
		return err
	}
	for _, appointment := range list {
		if err := r.store.CancelUnpaid(ctx, appointment.OrgID, appointment.ID); err != nil {
			r.host.Log.Warn("letting go of a slot failed", "organization", appointment.OrgID, "appointment", appointment.ID, "error", err)
		}
	}
	return nil
}

// sendDueRefunds requests due refunds from the provider.
func (r *paymentRun) sendDueRefunds(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	list, err := r.store.ClaimRefunds(ctx, dbgen.ClaimRefundsParams{Now: r.now, Provider: &name, RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, due := range list {
		if err := r.sendRefund(ctx, due.ID, *due.ProviderPaymentID, provider.Refund{ID: due.ID, Amount: due.AmountCents}); err != nil {
			last := due.Attempts >= maxRefundAttempts
			r.host.Log.Warn("giving a deposit back failed", append(logIDs(due.OrgID, due.PaymentID), "attempt", due.Attempts, "last", last, "error", err)...)
			if last {
				if err := r.store.MarkRefundFailed(ctx, due.OrgID, due.ID, due.AppointmentID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *paymentRun) sendRefund(ctx context.Context, id uuid.UUID, charge string, sendRefund provider.Refund) error {
	err := r.callProvider(func() error { return r.provider.Refund(ctx, charge, sendRefund) })
	isStateConflict := errors.Is(err, hub.ErrConflict) // somebody else gave it back, perhaps
	if err != nil && !isStateConflict {
		return err
	}
	now, readErr := r.readCharge(ctx, charge)
	if readErr != nil {
		return readErr
	}
	if isStateConflict && now.RefundedAmount() < sendRefund.Amount {
		return err
	}
	return r.store.SettleRefund(ctx, r.provider.Name(), now, id)
}
