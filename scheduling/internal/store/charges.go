package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Statuses of payments.
const (
	paymentPending   = string(provider.Pending)
	paymentPaid      = string(provider.Paid)
	paymentExpired   = string(provider.Expired)
	paymentCancelled = string(provider.Cancelled)
	paymentRefunded  = string(provider.Refunded)
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
func (t *Tx) storeCharge(ctx context.Context, charge NewCharge) (dbgen.PaymentDetail, error) {
	_, err := t.CreatePayment(ctx, dbgen.CreatePaymentParams{
		OrgID: charge.Org, ID: charge.ID, AppointmentID: charge.Appointment, ClientID: charge.Client, AmountCents: charge.Amount, Method: "pix", Description: charge.Description,
		Status: paymentPending, Kind: charge.Kind, CreatedBy: charge.By, CreatedAt: t.now,
	})
	if err != nil {
		return dbgen.PaymentDetail{}, err
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
		return dbgen.PaymentDetail{}, err
	}
	return t.PaymentByID(ctx, charge.Org, charge.ID)
}

// AddCharge stores a charge. If a pending charge for the same purpose exists, it
// returns that charge, with created false. An appointment that was cancelled or paid
// during the provider call is a [hub.ErrConflict].
func (s *Store) AddCharge(ctx context.Context, org Org, charge NewCharge, key *IdempotencyKey) (payment dbgen.PaymentDetail, created bool, err error) {
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
func (t *Tx) FindOrExpirePendingCharge(ctx context.Context, payment NewPayment) (p dbgen.PaymentDetail, found bool, err error) {
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
		return p, false, t.endUnpaidPayment(ctx, dbgen.Payment{OrgID: p.OrgID, ID: p.ID}, paymentExpired)
	}
	return p, true, nil
}

// closePendingCharges ends the pending charges of an appointment. The payments job cancels
// them at the provider, or settles those paid at the last moment.
func (t *Tx) closePendingCharges(ctx context.Context, appointment dbgen.Appointment, status string) error {
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: status, Now: &t.now, OrgID: appointment.OrgID, AppointmentID: &appointment.ID})
}

// closeExcessCharges ends the charges that exceed what is left to pay.
func (t *Tx) closeExcessCharges(ctx context.Context, appointment dbgen.Appointment, remaining booking.Cents) error {
	limit := int64(remaining)
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: paymentCancelled, Now: &t.now, OrgID: appointment.OrgID, AppointmentID: &appointment.ID, MoreThan: &limit})
}

// endUnpaidPayment sets a final status on a payment without money received.
func (t *Tx) endUnpaidPayment(ctx context.Context, payment dbgen.Payment, status string) error {
	return t.UpdatePaymentStatus(ctx, dbgen.UpdatePaymentStatusParams{Status: status, Now: t.now, OrgID: payment.OrgID, ID: payment.ID})
}

// claimPaymentKey claims an Idempotency-Key, or returns the payment stored under it.
func (t *Tx) claimPaymentKey(ctx context.Context, org uuid.UUID, key IdempotencyKey) (payment dbgen.PaymentDetail, found bool, err error) {
	var id uuid.UUID
	if found, err = t.claimIdempotencyKey(ctx, org, key, &id); err != nil || !found {
		return payment, found, err
	}
	payment, err = t.PaymentByID(ctx, org, id)
	return payment, true, err
}

// FindChargeByKey returns the payment that answered an earlier request with the key.
func (t *Tx) FindChargeByKey(ctx context.Context, org uuid.UUID, key IdempotencyKey) (payment dbgen.PaymentDetail, found bool, err error) {
	stored, err := t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: org, Operation: key.Operation, Key: key.Key})
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

func (t *Tx) storePaymentAnswer(ctx context.Context, org uuid.UUID, key *IdempotencyKey, id uuid.UUID) error {
	if key == nil {
		return nil
	}
	return t.storeAnswer(ctx, org, *key, id)
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

// SettleRefund is [Store.SettleCharge] after a refund that this service requested.
func (s *Store) SettleRefund(ctx context.Context, providerName string, charge provider.Charge, refund uuid.UUID) error {
	return s.settleCharge(ctx, providerName, charge, &refund)
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
		var appointment *dbgen.Appointment
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
		return tx.applyChargeState(ctx, org, payment, appointment, charge)
	})
}

func (t *Tx) applyChargeState(ctx context.Context, org Org, payment dbgen.Payment, appointment *dbgen.Appointment, charge provider.Charge) error {
	switch {
	case charge.Status == provider.Paid || charge.Status == provider.Refunded:
		if payment.PaidAt == nil {
			previousStatus, paidAt := payment.Status, charge.PaidAt
			if paidAt.IsZero() {
				paidAt = t.now
			}
			payment.Status, payment.PaidAt = paymentPaid, &paidAt
			if err := t.UpdatePaymentStatus(ctx, dbgen.UpdatePaymentStatusParams{Status: payment.Status, PaidAt: payment.PaidAt, Now: t.now, OrgID: payment.OrgID, ID: payment.ID}); err != nil {
				return err
			}
			if err := t.creditPayment(ctx, org, payment, appointment); err != nil {
				return err
			}
			if err := t.handleLatePayment(ctx, org, payment, appointment, previousStatus != paymentPending); err != nil {
				return err
			}
		}
		if err := t.applyRefund(ctx, payment, appointment, charge.RefundedAmount()); err != nil {
			return err
		}
	case payment.Status == paymentPending && charge.Status != provider.Pending:
		if err := t.endUnpaidPayment(ctx, payment, string(charge.Status)); err != nil {
			return err
		}
	}
	if charge.Status == provider.Pending {
		return nil
	}
	return t.SetChargeCheckAt(ctx, dbgen.SetChargeCheckAtParams{OrgID: payment.OrgID, PaymentID: payment.ID})
}

// coverDeposit marks a pending deposit as paid once enough money was received.
func (t *Tx) coverDeposit(ctx context.Context, org Org, appointment *dbgen.Appointment) error {
	open := appointment.Status == booking.Scheduled || appointment.Status == booking.Confirmed
	if !open || appointment.DepositStatus != booking.DepositPending || appointment.PaidCents < *appointment.DepositCents {
		return nil
	}
	appointment.DepositStatus = booking.DepositPaid
	if err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, NeedsRefund: appointment.NeedsRefund, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID}); err != nil {
		return err
	}
	return t.confirmAfterDeposit(ctx, org, appointment)
}

// confirmAfterDeposit confirms an appointment that only waited for its deposit.
func (t *Tx) confirmAfterDeposit(ctx context.Context, org Org, appointment *dbgen.Appointment) error {
	if appointment.Status == booking.Scheduled && org.Policy.InitialStatus(appointment.Source, appointment.DepositStatus) == booking.Confirmed {
		return t.applyAction(ctx, booking.Confirm, AppointmentChange{Org: org, ID: appointment.ID, By: systemActor}, *appointment)
	}
	return nil
}

// applyRefund records the refunded amount of a payment.
func (t *Tx) applyRefund(ctx context.Context, payment dbgen.Payment, appointment *dbgen.Appointment, refunded booking.Cents) error {
	refundedByUs, err := t.SumCompletedRefunds(ctx, payment.OrgID, payment.ID)
	if err != nil {
		return err
	}
	refunded = min(max(refunded, booking.Cents(refundedByUs)), payment.AmountCents)
	increase := refunded - payment.RefundedCents
	if increase <= 0 {
		return nil
	}
	status := paymentPaid
	if refunded == payment.AmountCents {
		status = paymentRefunded
	}
	if err := t.UpdatePaymentStatus(ctx, dbgen.UpdatePaymentStatusParams{Status: status, PaidAt: payment.PaidAt, RefundedCents: refunded, Now: t.now, OrgID: payment.OrgID, ID: payment.ID}); err != nil {
		return err
	}
	if appointment != nil {
		if err := t.AdjustPaidAmount(ctx, dbgen.AdjustPaidAmountParams{OrgID: payment.OrgID, ID: appointment.ID, Amount: -int64(increase), Now: t.now}); err != nil {
			return err
		}
		if payment.Kind == KindDeposit && appointment.DepositStatus == booking.DepositPaid && status == paymentRefunded {
			appointment.DepositStatus = booking.DepositReleased
		}
		stillOwed := appointment.NeedsRefund && status != paymentRefunded
		if err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, NeedsRefund: stillOwed, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID}); err != nil {
			return err
		}
	}
	if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: payment.OrgID, ID: payment.ClientID, Spent: -int64(increase)}); err != nil {
		return err
	}
	return t.reversePoints(ctx, payment, refunded)
}

// reversePoints deducts the points earned by the refunded share, as far as they were
// not spent.
func (t *Tx) reversePoints(ctx context.Context, payment dbgen.Payment, refunded booking.Cents) error {
	points, err := t.PaymentPoints(ctx, payment.OrgID, &payment.ID)
	if err != nil {
		return err
	}
	due := booking.Reversal(points.Earned, payment.AmountCents, refunded) - points.Reversed
	client, err := t.LockClient(ctx, payment.OrgID, payment.ClientID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && due <= 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return t.AddPoints(ctx, PointsChange{
		Org: payment.OrgID, Client: payment.ClientID, Type: "reverse", Points: -min(due, client.LoyaltyPoints),
		Source: paymentPointsSource(payment) + ":" + refunded.String(), Payment: &payment.ID, Appointment: payment.AppointmentID,
	})
}

// ExpireCharge ends a payment whose charge was not paid in time. It may still be paid
// at the provider; [Store.SettleCharge] handles that.
func (s *Store) ExpireCharge(ctx context.Context, org, id uuid.UUID) error {
	return s.InTx(ctx, "ending a charge", func(tx *Tx) error {
		payment, err := tx.LockPayment(ctx, org, id)
		if err != nil || payment.Status != paymentPending {
			return err
		}
		return tx.endUnpaidPayment(ctx, payment, paymentExpired)
	})
}

// CancelUnpaid cancels an appointment whose deposit was not paid in time.
func (s *Store) CancelUnpaid(ctx context.Context, orgID, id uuid.UUID) error {
	org, err := s.LoadOrg(ctx, orgID)
	if err != nil {
		return err
	}
	reason := "Deposit not paid in time"
	return s.InTx(ctx, "cancelling an unpaid appointment", func(tx *Tx) error {
		change := AppointmentChange{Org: org, ID: id, By: systemActor, Reason: &reason}
		before, err := tx.lockForChange(ctx, change, nil)
		if err != nil {
			return err
		}
		if before.Status != booking.Scheduled || before.DepositStatus != booking.DepositPending || before.DepositDeadline == nil || before.DepositDeadline.After(tx.now) {
			return nil
		}
		return tx.applyAction(ctx, booking.Cancel, change, before)
	})
}

// enqueueDepositRefund schedules the refund of a paid deposit with the provider that
// collected it. Money received otherwise is marked for staff to refund.
func (t *Tx) enqueueDepositRefund(ctx context.Context, appointment dbgen.Appointment) error {
	paid, err := t.PaidDeposits(ctx, appointment.OrgID, &appointment.ID)
	if err != nil {
		return err
	}
	for _, payment := range paid {
		err := t.CreateRefund(ctx, dbgen.CreateRefundParams{OrgID: appointment.OrgID, ID: NewID(), PaymentID: payment.ID, AmountCents: payment.AmountCents, CreatedAt: t.now})
		if err != nil {
			return err
		}
	}
	if len(paid) == 0 {
		return t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: booking.DepositReleased, NeedsRefund: true, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
	}
	return t.wakePaymentsJob(ctx)
}

// MarkRefundFailed records that the provider refuses a refund. Staff must refund it.
func (s *Store) MarkRefundFailed(ctx context.Context, org, refund uuid.UUID, appointment *uuid.UUID) error {
	return s.InTx(ctx, "giving up a refund", func(tx *Tx) error {
		finish := func() error {
			return tx.SetRefundOutcome(ctx, dbgen.SetRefundOutcomeParams{FailedAt: &tx.now, OrgID: org, ID: refund})
		}
		if appointment == nil {
			return finish()
		}
		a, err := tx.LockAppointment(ctx, org, *appointment)
		if err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		return tx.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: a.DepositStatus, NeedsRefund: true, Now: tx.now, OrgID: org, ID: a.ID})
	})
}

// StoreProviderEvent stores a provider's webhook once. The payments job settles it.
func (s *Store) StoreProviderEvent(ctx context.Context, providerName string, event provider.Event, body []byte) error {
	return s.InTx(ctx, "storing a provider event", func(tx *Tx) error {
		added, err := tx.InsertProviderEvent(ctx, dbgen.InsertProviderEventParams{Provider: providerName, EventID: event.ID, ChargeID: event.ChargeID, Body: body, ReceivedAt: tx.now})
		if err != nil || added == 0 {
			return err
		}
		return tx.wakePaymentsJob(ctx)
	})
}

// JobPayments is the job that settles provider events and sends refunds.
const JobPayments = "payments"

// wakePaymentsJob runs the payments job soon after the commit.
func (t *Tx) wakePaymentsJob(ctx context.Context) error {
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobPayments, Key: "now"})
}
