package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	maxChargeDelay      = 5 * time.Minute    // of a due charge: it holds a time, however long the provider asks to wait
	unreadLimit         = time.Hour          // after the first failed read: a charge that could not be read then counts as unpaid
	minFailedReads      = 5                  // until then: one failed call says nothing, also after a stop of the hub or a clock jump
	foreignEventLimit   = 24 * time.Hour     // after the first failed read: a former provider's event is not waited for any longer
	cancelRetryInterval = 10 * time.Minute   // for a charge that counts as unpaid and is not final at the provider
	cancelRetryLimit    = 2 * 24 * time.Hour // after its expiry
)

var (
	// errStillOpen is returned for a charge that the provider keeps open.
	errStillOpen = errors.New("the provider does not cancel the charge")
	// errNotSettled is returned for a charge that was read but could not be settled.
	errNotSettled = errors.New("the charge could not be settled")
)

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
	err := r.closeCharge(ctx, due)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotSettled): // it is not open any more, so it never counts as unpaid
		r.host.Log.Warn("settling a due charge failed", append(logIDs(due.OrgID, due.PaymentID), "error", err)...)
		return r.postponeCharge(ctx, due, r.nextChargeCallAt())
	case errors.Is(err, errProviderDown) && due.Provider == r.providerName():
		return r.postponeCharge(ctx, due, r.nextChargeCallAt())
	}
	if !errors.Is(err, errProviderDown) {
		r.host.Log.Warn("ending an expired charge failed", append(logIDs(due.OrgID, due.PaymentID), "error", err)...)
	}
	if due.UnpaidAt != nil {
		return r.store.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{DueAt: r.lateCheckAt(due, err), OrgID: due.OrgID, PaymentID: due.PaymentID})
	}
	wait, waitErr := r.mayBePaid(ctx, due, err)
	if waitErr != nil {
		return waitErr
	}
	if wait {
		return r.store.PostponeUnreadCharge(ctx, dbgen.PostponeUnreadChargeParams{DueAt: r.nextReadAt(due, err), Now: r.now, OrgID: due.OrgID, PaymentID: due.PaymentID})
	}
	if !errors.Is(err, errStillOpen) {
		r.host.Log.Error("an expired charge could not be read and counts as unpaid", append(logIDs(due.OrgID, due.PaymentID), "failed_reads", due.FailedReads+1, "error", err)...)
	}
	return r.store.ExpireCharge(ctx, due.OrgID, due.PaymentID, r.lateCheckAt(due, err))
}

// closeCharge cancels a charge at the provider and ends its payment. A charge that is not
// open there is settled. After errors the payment is unchanged: it may have been paid.
func (r *paymentRun) closeCharge(ctx context.Context, due dbgen.DueChargesRow) error {
	if due.Provider != r.providerName() { // another provider would not know it
		return errProviderDown
	}
	charge, err := r.readCharge(ctx, due.ProviderPaymentID)
	if err == nil && charge.Status == provider.Pending {
		err = r.callProvider(func() error { return r.provider.Cancel(ctx, due.ProviderPaymentID) })
		if err == nil || errors.Is(err, hub.ErrNotFound) {
			return r.store.ExpireCharge(ctx, due.OrgID, due.PaymentID, nil)
		}
		var outage *provider.OutageError
		if errors.As(err, &outage) {
			return err
		}
		charge, err = r.readCharge(ctx, due.ProviderPaymentID) // it may have been paid meanwhile
		if err == nil && charge.Status == provider.Pending {
			return errStillOpen
		}
	}
	if err != nil {
		return err
	}
	err = r.store.SettleCharge(ctx, due.Provider, charge)
	if errors.Is(err, provider.ErrMismatch) {
		r.host.Log.Error("a charge differs from its order and does not count as paid", "charge", due.ProviderPaymentID)
		return r.store.ExpireCharge(ctx, due.OrgID, due.PaymentID, nil)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSettled, err)
	}
	return nil
}

// mayBePaid reports whether a charge that could not be closed must not count as unpaid yet.
func (r *paymentRun) mayBePaid(ctx context.Context, due dbgen.DueChargesRow, closeErr error) (bool, error) {
	unreadFor := time.Duration(0)
	if due.UnreadSince != nil {
		unreadFor = r.now.Sub(*due.UnreadSince)
	}
	if !errors.Is(closeErr, errStillOpen) && (unreadFor < unreadLimit || due.FailedReads+1 < minFailedReads) {
		return true, nil
	}
	if due.Provider != r.providerName() && unreadFor >= foreignEventLimit {
		return false, nil
	}
	return r.store.UnprocessedProviderEventExists(ctx, due.Provider, due.ProviderPaymentID)
}

func (r *paymentRun) postponeCharge(ctx context.Context, due dbgen.DueChargesRow, dueAt time.Time) error {
	return r.store.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{DueAt: &dueAt, OrgID: due.OrgID, PaymentID: due.PaymentID})
}

// nextChargeCallAt is [paymentRun.nextCallAt] for charges that hold a time.
func (r *paymentRun) nextChargeCallAt() time.Time {
	next, latest := r.nextCallAt(), r.now.Add(maxChargeDelay)
	if next.After(latest) {
		return latest
	}
	return next
}

// nextReadAt returns when a charge whose read failed is read again: a second later than charges
// that were not read, so that in an outage each has its turn. One that still meets outages after
// [unreadLimit] waits longer, as its outage ends the calls of the run.
func (r *paymentRun) nextReadAt(due dbgen.DueChargesRow, err error) time.Time {
	next := r.nextChargeCallAt()
	if isOutage(err) && due.UnreadSince != nil && r.now.Sub(*due.UnreadSince) >= unreadLimit {
		next = r.now.Add(maxChargeDelay)
	}
	return next.Add(time.Second)
}

// lateCheckAt returns when a charge that counts as unpaid is read again; nil for never.
func (r *paymentRun) lateCheckAt(due dbgen.DueChargesRow, closeErr error) *time.Time {
	if errors.Is(closeErr, hub.ErrNotFound) || r.now.Sub(due.ExpiresAt) > cancelRetryLimit {
		return nil
	}
	next := r.now.Add(cancelRetryInterval)
	return &next
}
