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

// Statuses of a payment that are written here.
const (
	paymentPending   = string(provider.Pending)
	paymentPaid      = string(provider.Paid)
	paymentExpired   = string(provider.Expired)
	paymentCancelled = string(provider.Cancelled)
	paymentRefunded  = string(provider.Refunded)
)

// NewCharge is a payment that a provider was asked to collect.
type NewCharge struct {
	NewPayment
	ID        uuid.UUID // of the payment, and of the order at the provider
	Provider  string
	Charge    provider.Charge
	ExpiresAt time.Time
}

// addCharge stores a charge with its payment, which is pending.
func (t *Tx) addCharge(ctx context.Context, n NewCharge) (dbgen.PaymentDetail, error) {
	_, err := t.CreatePayment(ctx, dbgen.CreatePaymentParams{
		OrgID: n.Org, ID: n.ID, AppointmentID: n.Appointment, ClientID: n.Client, AmountCents: n.Amount, Method: "pix", Description: n.Description,
		Status: paymentPending, Kind: n.Kind, CreatedBy: n.By, CreatedAt: t.now,
	})
	if err != nil {
		return dbgen.PaymentDetail{}, err
	}
	var page *string
	if n.Charge.QRURL != "" {
		page = &n.Charge.QRURL
	}
	err = t.CreateCharge(ctx, dbgen.CreateChargeParams{
		OrgID: n.Org, PaymentID: n.ID, Provider: n.Provider, ProviderPaymentID: n.Charge.ID, Txid: n.Charge.TxID, PixCopyPaste: n.Charge.Code,
		QrCodeUrl: page, ExpiresAt: n.ExpiresAt, CreatedAt: t.now,
	})
	if err != nil {
		return dbgen.PaymentDetail{}, err
	}
	return t.PaymentByID(ctx, n.Org, n.ID)
}

// AddCharge stores a charge, unless one for the same is open: then it is that one,
// and made is false. The answer of a request with a key is kept as once says. What was
// cancelled or paid while the provider was asked is a [hub.ErrConflict].
func (s *Store) AddCharge(ctx context.Context, org Org, n NewCharge, once *Once) (p dbgen.PaymentDetail, made bool, err error) {
	err = s.InTx(ctx, "storing a charge", func(tx *Tx) error {
		if once != nil {
			before, found, err := tx.chargedBefore(ctx, n.Org, *once)
			if err != nil || found {
				p = before
				return err
			}
		}
		if n.Appointment != nil {
			a, err := tx.lock(ctx, Change{Org: org, ID: *n.Appointment}, nil)
			if err != nil {
				return err
			}
			if err := n.still(owedOf(a)); err != nil {
				return err
			}
			n.Client = a.ClientID // who may be another by now
			open, found, err := tx.OpenChargeOf(ctx, n.NewPayment)
			if err != nil {
				return err
			}
			if found {
				p = open
				return tx.keepCharge(ctx, n.Org, once, open.ID)
			}
		}
		made = true
		if p, err = tx.addCharge(ctx, n); err != nil {
			return err
		}
		return tx.keepCharge(ctx, n.Org, once, n.ID)
	})
	return p, made && err == nil, err
}

// OpenChargeOf finds the charge for the same appointment, purpose and amount that
// can still be paid. One whose time is over is ended on the way.
func (t *Tx) OpenChargeOf(ctx context.Context, n NewPayment) (p dbgen.PaymentDetail, found bool, err error) {
	if n.Appointment == nil {
		return p, false, nil
	}
	p, err = t.OpenCharge(ctx, dbgen.OpenChargeParams{OrgID: n.Org, AppointmentID: n.Appointment, Kind: n.Kind, AmountCents: n.Amount})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return p, false, nil
	case err != nil:
		return p, false, err
	case p.ExpiresAt != nil && !p.ExpiresAt.After(t.now):
		return p, false, t.settled(ctx, dbgen.Payment{OrgID: p.OrgID, ID: p.ID}, paymentExpired)
	}
	return p, true, nil
}

// closeCharges ends the open charges of an appointment; the job ends them at the
// provider, or settles what was paid at the last moment.
func (t *Tx) closeCharges(ctx context.Context, a dbgen.Appointment, status string) error {
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: status, Now: &t.now, OrgID: a.OrgID, AppointmentID: &a.ID})
}

// closeExcess ends the charges for more of an appointment's price than is left to pay.
func (t *Tx) closeExcess(ctx context.Context, a dbgen.Appointment, left booking.Cents) error {
	most := int64(left)
	return t.CloseCharges(ctx, dbgen.CloseChargesParams{Status: paymentCancelled, Now: &t.now, OrgID: a.OrgID, AppointmentID: &a.ID, MoreThan: &most})
}

// settled ends a payment without money.
func (t *Tx) settled(ctx context.Context, p dbgen.Payment, status string) error {
	return t.SettlePayment(ctx, dbgen.SettlePaymentParams{Status: status, Now: t.now, OrgID: p.OrgID, ID: p.ID})
}

// chargedBefore claims an Idempotency-Key, or finds what it stands for.
func (t *Tx) chargedBefore(ctx context.Context, org uuid.UUID, once Once) (p dbgen.PaymentDetail, found bool, err error) {
	var id uuid.UUID
	if found, err = t.claim(ctx, org, once, &id); err != nil || !found {
		return p, found, err
	}
	p, err = t.PaymentByID(ctx, org, id)
	return p, true, err
}

// ChargeAnswered finds what a request with an Idempotency-Key was answered before.
func (t *Tx) ChargeAnswered(ctx context.Context, org uuid.UUID, once Once) (p dbgen.PaymentDetail, found bool, err error) {
	kept, err := t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: org, Operation: once.Operation, Key: once.Key})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !kept.CreatedAt.After(t.now.Add(-idempotencyTime)) {
		return p, false, nil
	}
	var id uuid.UUID
	if err == nil {
		err = answered(kept, once, &id)
	}
	if err != nil {
		return p, false, err
	}
	p, err = t.PaymentByID(ctx, org, id)
	return p, true, err
}

func (t *Tx) keepCharge(ctx context.Context, org uuid.UUID, once *Once, id uuid.UUID) error {
	if once == nil {
		return nil
	}
	return t.keep(ctx, org, *once, id)
}

// ErrUnknownCharge is a charge that no payment is for.
var ErrUnknownCharge = errors.New("no payment is for this charge")

// Settle brings a payment to where its charge stands at the provider, and whatever
// follows from that, in one transaction; once, however often it is told.
// [ErrUnknownCharge] for a charge that is not ours, [payment.ErrMismatch] for one that
// is not what was ordered: it does not count.
func (s *Store) Settle(ctx context.Context, provider string, c provider.Charge) error {
	return s.settle(ctx, provider, c, nil)
}

// Refunded is [Store.Settle] after a refund of ours.
func (s *Store) Refunded(ctx context.Context, providerName string, c provider.Charge, refund uuid.UUID) error {
	return s.settle(ctx, providerName, c, &refund)
}

func (s *Store) settle(ctx context.Context, providerName string, c provider.Charge, refund *uuid.UUID) error {
	known, err := s.ChargeAtProvider(ctx, providerName, c.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrUnknownCharge
	}
	if err != nil {
		return dberr.Wrap("finding a charge", err)
	}
	if err := c.Check(known.PaymentID, known.AmountCents, provider.Currency); err != nil {
		return err
	}
	org, err := s.Org(ctx, known.OrgID)
	if err != nil {
		return err
	}
	return s.InTx(ctx, "settling a payment", func(tx *Tx) error {
		var a *dbgen.Appointment
		if known.AppointmentID != nil {
			locked, err := tx.lock(ctx, Change{Org: org, ID: *known.AppointmentID}, nil)
			if err != nil {
				return err
			}
			a = &locked
		}
		p, err := tx.LockPayment(ctx, known.OrgID, known.PaymentID)
		if err != nil {
			return err
		}
		if refund != nil {
			if err := tx.FinishRefund(ctx, dbgen.FinishRefundParams{DoneAt: &tx.now, OrgID: org.ID, ID: *refund}); err != nil {
				return err
			}
		}
		return tx.settle(ctx, org, p, a, c)
	})
}

func (t *Tx) settle(ctx context.Context, org Org, p dbgen.Payment, a *dbgen.Appointment, c provider.Charge) error {
	switch {
	case c.Status == provider.Paid || c.Status == provider.Refunded:
		if p.PaidAt == nil {
			known, at := p.Status, c.PaidAt
			if at.IsZero() {
				at = t.now
			}
			p.Status, p.PaidAt = paymentPaid, &at
			if err := t.SettlePayment(ctx, dbgen.SettlePaymentParams{Status: p.Status, PaidAt: p.PaidAt, Now: t.now, OrgID: p.OrgID, ID: p.ID}); err != nil {
				return err
			}
			if err := t.credit(ctx, org, p, a); err != nil {
				return err
			}
			if err := t.tooLate(ctx, org, p, a, known != paymentPending); err != nil {
				return err
			}
		}
		if err := t.giveBack(ctx, p, a, c.GivenBack()); err != nil {
			return err
		}
	case p.Status == paymentPending && c.Status != provider.Pending:
		if err := t.settled(ctx, p, string(c.Status)); err != nil {
			return err
		}
	}
	if c.Status == provider.Pending {
		return nil
	}
	return t.PutOffCharge(ctx, dbgen.PutOffChargeParams{OrgID: p.OrgID, PaymentID: p.ID})
}

// cover says what money means for an appointment's deposit: one that is due counts as
// paid once as much has come in.
func (t *Tx) cover(ctx context.Context, org Org, a *dbgen.Appointment) error {
	open := a.Status == booking.Scheduled || a.Status == booking.Confirmed
	if !open || a.DepositStatus != booking.DepositPending || a.PaidCents < *a.DepositCents {
		return nil
	}
	a.DepositStatus = booking.DepositPaid
	if err := t.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: a.DepositStatus, NeedsRefund: a.NeedsRefund, Now: t.now, OrgID: a.OrgID, ID: a.ID}); err != nil {
		return err
	}
	return t.deposited(ctx, org, a)
}

// deposited confirms an appointment that waited for its deposit only.
func (t *Tx) deposited(ctx context.Context, org Org, a *dbgen.Appointment) error {
	if a.Status == booking.Scheduled && org.Policy.Initial(a.Source, a.DepositStatus) == booking.Confirmed {
		return t.act(ctx, booking.Confirm, Change{Org: org, ID: a.ID, By: bySystem}, *a)
	}
	return nil
}

// giveBack counts what went back of a payment, up to refunded in all.
func (t *Tx) giveBack(ctx context.Context, p dbgen.Payment, a *dbgen.Appointment, refunded booking.Cents) error {
	ours, err := t.RefundsDone(ctx, p.OrgID, p.ID)
	if err != nil {
		return err
	}
	refunded = min(max(refunded, booking.Cents(ours)), p.AmountCents)
	less := refunded - p.RefundedCents
	if less <= 0 {
		return nil
	}
	status := paymentPaid
	if refunded == p.AmountCents {
		status = paymentRefunded
	}
	if err := t.SettlePayment(ctx, dbgen.SettlePaymentParams{Status: status, PaidAt: p.PaidAt, RefundedCents: refunded, Now: t.now, OrgID: p.OrgID, ID: p.ID}); err != nil {
		return err
	}
	if a != nil {
		if err := t.AddPaid(ctx, dbgen.AddPaidParams{OrgID: p.OrgID, ID: a.ID, Amount: -int64(less), Now: t.now}); err != nil {
			return err
		}
		if p.Kind == KindDeposit && a.DepositStatus == booking.DepositPaid && status == paymentRefunded {
			a.DepositStatus = booking.DepositRefunded
		}
		stillOwed := a.NeedsRefund && status != paymentRefunded
		if err := t.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: a.DepositStatus, NeedsRefund: stillOwed, Now: t.now, OrgID: a.OrgID, ID: a.ID}); err != nil {
			return err
		}
	}
	if _, err := t.AddToClient(ctx, dbgen.AddToClientParams{OrgID: p.OrgID, ID: p.ClientID, Spent: -int64(less)}); err != nil {
		return err
	}
	return t.reversePoints(ctx, p, refunded)
}

// reversePoints takes back what a payment earned for the share that was refunded, as
// far as it was not spent.
func (t *Tx) reversePoints(ctx context.Context, p dbgen.Payment, refunded booking.Cents) error {
	points, err := t.PaymentPoints(ctx, p.OrgID, &p.ID)
	if err != nil {
		return err
	}
	due := booking.Reversal(points.Earned, p.AmountCents, refunded) - points.Reversed
	client, err := t.LockClient(ctx, p.OrgID, p.ClientID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && due <= 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return t.AddPoints(ctx, Points{
		Org: p.OrgID, Client: p.ClientID, Type: "reverse", Points: -min(due, client.LoyaltyPoints),
		Source: paymentSource(p) + ":" + refunded.String(), Payment: &p.ID, Appointment: p.AppointmentID,
	})
}

// Expire ends a payment whose charge was not paid in time. It may still be paid at
// the provider: [Store.Settle] knows what to do then.
func (s *Store) Expire(ctx context.Context, org, id uuid.UUID) error {
	return s.InTx(ctx, "ending a charge", func(tx *Tx) error {
		p, err := tx.LockPayment(ctx, org, id)
		if err != nil || p.Status != paymentPending {
			return err
		}
		return tx.settled(ctx, p, paymentExpired)
	})
}

// LetGo cancels an appointment whose deposit was not paid while the slot was held.
func (s *Store) LetGo(ctx context.Context, orgID, id uuid.UUID) error {
	org, err := s.Org(ctx, orgID)
	if err != nil {
		return err
	}
	reason := "Deposit not paid in time"
	return s.InTx(ctx, "letting go of a slot", func(tx *Tx) error {
		c := Change{Org: org, ID: id, By: bySystem, Reason: &reason}
		was, err := tx.lock(ctx, c, nil)
		if err != nil {
			return err
		}
		if was.Status != booking.Scheduled || was.DepositStatus != booking.DepositPending || was.HoldUntil == nil || was.HoldUntil.After(tx.now) {
			return nil
		}
		return tx.act(ctx, booking.Cancel, c, was)
	})
}

// returnDeposit has a paid deposit go back through the provider that collected it.
// One that came in otherwise is for people to give back.
func (t *Tx) returnDeposit(ctx context.Context, a dbgen.Appointment) error {
	paid, err := t.PaidDeposits(ctx, a.OrgID, &a.ID)
	if err != nil {
		return err
	}
	for _, p := range paid {
		err := t.CreateRefund(ctx, dbgen.CreateRefundParams{OrgID: a.OrgID, ID: NewID(), PaymentID: p.ID, AmountCents: p.AmountCents, CreatedAt: t.now})
		if err != nil {
			return err
		}
	}
	if len(paid) == 0 {
		return t.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: booking.DepositRefunded, NeedsRefund: true, Now: t.now, OrgID: a.OrgID, ID: a.ID})
	}
	return t.nudge(ctx)
}

// RefundFailed leaves a refund that the provider does not make to people.
func (s *Store) RefundFailed(ctx context.Context, org, refund uuid.UUID, appointment *uuid.UUID) error {
	return s.InTx(ctx, "giving up a refund", func(tx *Tx) error {
		finish := func() error {
			return tx.FinishRefund(ctx, dbgen.FinishRefundParams{FailedAt: &tx.now, OrgID: org, ID: refund})
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
		return tx.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: a.DepositStatus, NeedsRefund: true, Now: tx.now, OrgID: org, ID: a.ID})
	})
}

// KeepNotice stores what a provider told, once, to be settled by a job.
func (s *Store) KeepNotice(ctx context.Context, provider string, n provider.Notice, body []byte) error {
	return s.InTx(ctx, "storing a notice", func(tx *Tx) error {
		added, err := tx.AddNotice(ctx, dbgen.AddNoticeParams{Provider: provider, EventID: n.ID, ChargeID: n.Charge, Body: body, ReceivedAt: tx.now})
		if err != nil || added == 0 {
			return err
		}
		return tx.nudge(ctx)
	})
}

// JobPayments is the job that [Store.KeepNotice] and cancelled deposits leave work for.
const JobPayments = "payments"

// nudge has the job look soon for what the transaction leaves it.
func (t *Tx) nudge(ctx context.Context) error {
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobPayments, Key: "now"})
}
