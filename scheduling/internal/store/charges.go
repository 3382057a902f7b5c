package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// NewCharge is a payment with its charge at the provider.
type NewCharge struct {
	NewPayment
	ID        uuid.UUID // of the payment, and of the order at the provider
	Provider  string
	Charge    provider.Charge
	ExpiresAt time.Time
}

// storeCharge stores a charge with its pending payment.
func (t *Tx) storeCharge(ctx context.Context, charge NewCharge) (PaymentDetail, error) {
	_, err := t.CreatePayment(ctx, dbgen.CreatePaymentParams{
		OrgID: charge.Org, ID: charge.ID, AppointmentID: charge.Appointment, ClientID: charge.Client, AmountCents: charge.Amount, Method: "pix", Description: charge.Description,
		Status: paymentPending, Kind: charge.Kind, CreatedBy: charge.By, CreatedAt: t.now,
	})
	if err != nil {
		return PaymentDetail{}, err
	}
	var page *string
	if charge.Charge.QRURL != "" {
		page = &charge.Charge.QRURL
	}
	err = t.CreateCharge(ctx, dbgen.CreateChargeParams{
		OrgID: charge.Org, PaymentID: charge.ID, Provider: charge.Provider, ProviderPaymentID: charge.Charge.ID, Txid: charge.Charge.TxID, PixCopyPaste: charge.Charge.Code,
		QrCodeUrl: page, ExpiresAt: charge.ExpiresAt, CreatedAt: t.now,
	})
	if err != nil {
		return PaymentDetail{}, err
	}
	return t.PaymentByID(ctx, charge.Org, charge.ID)
}

// AddCharge stores a charge. If a pending charge for the same purpose exists, it
// returns that charge, with created false. An appointment that was cancelled or paid
// during the provider call is a [hub.ErrConflict].
func (s *Store) AddCharge(ctx context.Context, org Org, charge NewCharge, key *IdempotencyKey) (payment PaymentDetail, created bool, err error) {
	err = s.InTx(ctx, "storing a charge", func(tx *Tx) error {
		created = false // the transaction may be repeated
		if key != nil {
			existing, found, err := tx.claimPaymentKey(ctx, charge.Org, *key)
			if err != nil || found {
				payment = existing
				return err
			}
		}
		if charge.Appointment != nil {
			appointment, err := tx.lockForChange(ctx, AppointmentChange{Org: org, ID: *charge.Appointment}, nil)
			if err != nil {
				return err
			}
			if err := charge.checkStillDue(balanceOf(appointment)); err != nil {
				return err
			}
			charge.Client = appointment.ClientID // it may have changed since the request
			open, found, err := tx.FindOrExpirePendingCharge(ctx, charge.NewPayment)
			if err != nil {
				return err
			}
			if found {
				payment = open
				return tx.storePaymentAnswer(ctx, charge.Org, key, open.ID)
			}
		}
		created = true
		if payment, err = tx.storeCharge(ctx, charge); err != nil {
			return err
		}
		return tx.storePaymentAnswer(ctx, charge.Org, key, charge.ID)
	})
	return payment, created && err == nil, err
}

// FindOrExpirePendingCharge finds a pending charge for the same appointment, kind and
// amount. An expired charge is ended instead.
func (t *Tx) FindOrExpirePendingCharge(ctx context.Context, payment NewPayment) (p PaymentDetail, found bool, err error) {
	if payment.Appointment == nil {
		return p, false, nil
	}
	p, err = t.PendingCharge(ctx, dbgen.PendingChargeParams{OrgID: payment.Org, AppointmentID: payment.Appointment, Kind: payment.Kind, AmountCents: payment.Amount})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return p, false, nil
	case err != nil:
		return p, false, err
	case p.ExpiresAt != nil && !p.ExpiresAt.After(t.now):
		return p, false, t.endUnpaidPayment(ctx, Payment{OrgID: p.OrgID, ID: p.ID}, paymentExpired)
	}
	return p, true, nil
}

// closePendingCharges ends the pending charges of an appointment. The payments job cancels
// them at the provider, or settles those paid at the last moment.
func (t *Tx) closePendingCharges(ctx context.Context, appointment Appointment, status string) error {
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: status, Now: &t.now, OrgID: appointment.OrgID, AppointmentID: &appointment.ID})
}

// closeExcessCharges ends the charges that exceed what is left to pay.
func (t *Tx) closeExcessCharges(ctx context.Context, appointment Appointment, remaining booking.Cents) error {
	limit := int64(remaining)
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: paymentCancelled, Now: &t.now, OrgID: appointment.OrgID, AppointmentID: &appointment.ID, MoreThan: &limit})
}

// FindChargeByKey returns the payment that answered an earlier request with the key.
func (t *Tx) FindChargeByKey(ctx context.Context, org uuid.UUID, key IdempotencyKey) (payment PaymentDetail, found bool, err error) {
	stored, err := t.findKey(ctx, org, key)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !stored.CreatedAt.After(t.now.Add(-idempotencyTTL)) {
		return payment, false, nil
	}
	var id uuid.UUID
	if err == nil {
		err = decodeStoredAnswer(stored, key, &id)
	}
	if err != nil {
		return payment, false, err
	}
	payment, err = t.PaymentByID(ctx, org, id)
	return payment, true, err
}

// ErrUnknownCharge is returned for a charge without a payment.
var ErrUnknownCharge = errors.New("no payment has this charge")

// SettleCharge updates a payment to the state of its charge at the provider, with all
// consequences, in one transaction. Repeating it has no effect. It returns
// [ErrUnknownCharge] for an unknown charge and [provider.ErrMismatch] for one that
// differs from the order, which does not count as paid.
func (s *Store) SettleCharge(ctx context.Context, providerName string, charge provider.Charge) error {
	return s.settleCharge(ctx, providerName, charge, nil)
}

func (s *Store) settleCharge(ctx context.Context, providerName string, charge provider.Charge, refund *uuid.UUID) error {
	ordered, err := s.ChargeByProviderID(ctx, providerName, charge.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrUnknownCharge
	}
	if err != nil {
		return dberr.Wrap("finding a charge", err)
	}
	if err := charge.Check(ordered.PaymentID, ordered.AmountCents, provider.Currency); err != nil {
		return err
	}
	org, err := s.LoadOrg(ctx, ordered.OrgID)
	if err != nil {
		return err
	}
	return s.InTx(ctx, "settling a payment", func(tx *Tx) error {
		var appointment *Appointment
		if ordered.AppointmentID != nil {
			locked, err := tx.lockForChange(ctx, AppointmentChange{Org: org, ID: *ordered.AppointmentID}, nil)
			if err != nil {
				return err
			}
			appointment = &locked
		}
		payment, err := tx.LockPayment(ctx, ordered.OrgID, ordered.PaymentID)
		if err != nil {
			return err
		}
		if refund != nil {
			if err := tx.SetRefundOutcome(ctx, dbgen.SetRefundOutcomeParams{DoneAt: &tx.now, OrgID: org.ID, ID: *refund}); err != nil {
				return err
			}
		}
		if err := tx.applyChargeState(ctx, org, payment, appointment, charge); err != nil || appointment == nil {
			return err
		}
		return tx.updateNeedsRefund(ctx, org.ID, appointment.ID)
	})
}

func (t *Tx) applyChargeState(ctx context.Context, org Org, payment Payment, appointment *Appointment, charge provider.Charge) error {
	switch {
	case charge.Status == provider.Paid || charge.Status == provider.Refunded:
		isNew := payment.PaidAt == nil
		if isNew {
			paidAt := charge.PaidAt
			if paidAt.IsZero() {
				paidAt = t.now
			}
			payment.Status, payment.PaidAt = paymentPaid, &paidAt
			if err := t.UpdatePaymentStatus(ctx, dbgen.UpdatePaymentStatusParams{Status: payment.Status, PaidAt: payment.PaidAt, Now: t.now, OrgID: payment.OrgID, ID: payment.ID}); err != nil {
				return err
			}
			if err := t.creditPayment(ctx, payment, appointment); err != nil {
				return err
			}
		}
		// Money that went back before it was read covers nothing.
		if err := t.applyRefund(ctx, payment, appointment, charge.RefundedAmount()); err != nil {
			return err
		}
		if kept := payment.AmountCents - charge.RefundedAmount(); isNew && appointment != nil && kept > 0 {
			if err := t.applyCredit(ctx, org, payment, appointment); err != nil {
				return err
			}
			if err := t.handlePaidAfterCancel(ctx, org, payment, appointment, kept); err != nil {
				return err
			}
		}
	case payment.Status == paymentPending && charge.Status != provider.Pending:
		if err := t.endUnpaidPayment(ctx, payment, string(charge.Status)); err != nil {
			return err
		}
	}
	if charge.Status == provider.Pending {
		return t.ClearFailedReads(ctx, payment.OrgID, payment.ID)
	}
	return t.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{OrgID: payment.OrgID, PaymentID: payment.ID})
}

// ExpireCharge ends a payment whose charge was not paid in time: it counts as unpaid. The
// charge is read again at checkAt, nil for never. If it was paid all the same,
// [Store.SettleCharge] handles that.
func (s *Store) ExpireCharge(ctx context.Context, org, id uuid.UUID, checkAt *time.Time) error {
	return s.InTx(ctx, "ending a charge", func(tx *Tx) error {
		payment, err := tx.LockPayment(ctx, org, id)
		if err != nil {
			return err
		}
		if payment.Status == paymentPending {
			if err := tx.endUnpaidPayment(ctx, payment, paymentExpired); err != nil {
				return err
			}
		}
		return tx.SetChargeUnpaid(ctx, dbgen.SetChargeUnpaidParams{Now: tx.now, DueAt: checkAt, OrgID: org, PaymentID: id})
	})
}
