package payment

import (
	"context"
	"errors"
	"time"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	refundLimit           = 24 * time.Hour     // since it was requested: a refund that the provider refuses is then given up
	minRefundAttempts     = 12                 // until then, in about half a day: the hub may have been off
	undecidedInterval     = time.Hour          // until the provider is asked again for a refund that it has not decided on
	undecidedRefundLimit  = 7 * 24 * time.Hour // since it was requested: such a refund then counts as refused
	foreignRefundInterval = 10 * time.Minute   // until a refund of another provider is looked at again
	foreignRefundLimit    = 2 * 24 * time.Hour // since its provider is missing
)

// postponeForeignRefunds keeps the refunds of another provider, which this one cannot make:
// their provider may only be missing from the settings for a while. Staff are asked to make
// them meanwhile, and have to after [foreignRefundLimit].
func (r *paymentRun) postponeForeignRefunds(ctx context.Context) error {
	refunds, err := r.store.RefundsOfOtherProviders(ctx, dbgen.RefundsOfOtherProvidersParams{Now: r.now, Provider: r.providerName(), RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, due := range refunds {
		if due.ProviderMissingSince != nil && r.now.Sub(*due.ProviderMissingSince) >= foreignRefundLimit {
			r.host.Log.Error("a refund is given up: its payment provider is not configured", logIDs(due.OrgID, due.PaymentID)...)
			err = r.store.FailRefund(ctx, due.OrgID, due.ID, due.AppointmentID)
		} else {
			if due.ProviderMissingSince == nil {
				r.host.Log.Error("a refund waits for its payment provider, which is not configured", logIDs(due.OrgID, due.PaymentID)...)
			}
			err = r.store.PostponeForeignRefund(ctx, due.OrgID, due.ID, due.AppointmentID, r.now.Add(foreignRefundInterval))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendDueRefunds requests due refunds from the provider.
func (r *paymentRun) sendDueRefunds(ctx context.Context) error {
	if err := r.postponeForeignRefunds(ctx); err != nil || r.provider == nil {
		return err
	}
	refunds, err := r.store.ClaimRefunds(ctx, dbgen.ClaimRefundsParams{Now: r.now, Provider: r.providerName(), RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, due := range refunds {
		if err := r.sendDueRefund(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

func (r *paymentRun) sendDueRefund(ctx context.Context, due dbgen.ClaimRefundsRow) error {
	err := r.sendRefund(ctx, due)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errProviderDown), isOutage(err):
		return r.store.PostponeRefund(ctx, dbgen.PostponeRefundParams{DueAt: r.nextTurnAt(err, due.CreatedAt), OrgID: due.OrgID, ID: due.ID})
	case errors.Is(err, provider.ErrRefundUndecided) && r.now.Sub(due.CreatedAt) < undecidedRefundLimit:
		return r.store.PostponeRefund(ctx, dbgen.PostponeRefundParams{DueAt: r.now.Add(undecidedInterval), OrgID: due.OrgID, ID: due.ID})
	}
	last := due.Attempts >= minRefundAttempts && r.now.Sub(due.CreatedAt) >= refundLimit
	r.host.Log.Warn("refunding a deposit failed", append(logIDs(due.OrgID, due.PaymentID), "attempt", due.Attempts, "last", last, "error", err)...)
	if !last {
		return nil
	}
	return r.store.FailRefund(ctx, due.OrgID, due.ID, due.AppointmentID)
}

func (r *paymentRun) sendRefund(ctx context.Context, due dbgen.ClaimRefundsRow) error {
	err := r.callProvider(func() error {
		return r.provider.Refund(ctx, *due.ProviderPaymentID, provider.Refund{ID: due.ID, Amount: due.AmountCents})
	})
	// It may have been refunded already, or meanwhile.
	inDoubt := errors.Is(err, hub.ErrConflict) || errors.Is(err, provider.ErrRefundUndecided)
	if err != nil && !inDoubt {
		return err
	}
	charge, readErr := r.readCharge(ctx, *due.ProviderPaymentID)
	if readErr != nil {
		return readErr
	}
	if inDoubt && int64(charge.RefundedAmount()) < due.RefundedAfter {
		return err
	}
	return r.store.SettleRefund(ctx, r.provider.Name(), charge, due.ID)
}
