package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// LoadClient loads a client, or returns [hub.ErrNotFound].
func (t *Tx) LoadClient(ctx context.Context, org, id uuid.UUID) (dbgen.Client, error) {
	client, err := t.ClientByID(ctx, org, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return client, hub.NotFound("Client")
	}
	return client, dberr.Wrap("loading the client", err)
}

// NewPayment is money received or requested.
type NewPayment struct {
	Org         uuid.UUID
	Appointment *uuid.UUID
	Client      uuid.UUID
	Amount      booking.Cents
	AmountGiven bool // the request names the amount; else it is the amount due
	Method      string
	Description string
	Kind        string
	SourceID    *string
	By          *uuid.UUID // user
}

// RecordPayment runs add and stores its payment as the answer to the key. A repeated
// request returns the stored payment.
func (s *Store) RecordPayment(ctx context.Context, org uuid.UUID, key *IdempotencyKey, add func(*Tx) (dbgen.PaymentDetail, error)) (payment dbgen.PaymentDetail, err error) {
	err = s.InTx(ctx, "recording a payment", func(tx *Tx) error {
		if key != nil {
			existing, found, err := tx.claimPaymentKey(ctx, org, *key)
			if err != nil || found {
				payment = existing
				return err
			}
		}
		if payment, err = add(tx); err != nil {
			return err
		}
		return tx.storePaymentAnswer(ctx, org, key, payment.ID)
	})
	return payment, err
}

// AddPayment records received money: the payment, the totals of client and
// appointment, the deposit it covers and the points it earns.
func (t *Tx) AddPayment(ctx context.Context, org Org, n NewPayment) (dbgen.PaymentDetail, error) {
	var appointment *dbgen.Appointment
	if n.Appointment != nil {
		locked, err := t.lockForChange(ctx, AppointmentChange{Org: org, ID: *n.Appointment}, nil)
		switch {
		case err != nil:
			return dbgen.PaymentDetail{}, dberr.Wrap("loading the appointment", err)
		case locked.ClientID != n.Client:
			return dbgen.PaymentDetail{}, hub.Invalid("body.client_id", "is not the appointment's client")
		}
		appointment = &locked
	}
	payment, err := t.CreatePayment(ctx, dbgen.CreatePaymentParams{
		OrgID: n.Org, ID: NewID(), AppointmentID: n.Appointment, ClientID: n.Client, AmountCents: n.Amount, Method: n.Method, Description: n.Description,
		Status: "paid", Kind: n.Kind, PaidAt: &t.now, SourceID: n.SourceID, CreatedBy: n.By, CreatedAt: t.now,
	})
	if err != nil {
		return dbgen.PaymentDetail{}, err
	}
	if err := t.creditPayment(ctx, org, payment, appointment); err != nil {
		return dbgen.PaymentDetail{}, err
	}
	return t.PaymentByID(ctx, n.Org, payment.ID)
}

// creditPayment adds received money to the appointment, the client and their points.
func (t *Tx) creditPayment(ctx context.Context, org Org, payment dbgen.Payment, appointment *dbgen.Appointment) error {
	service := uuid.Nil
	if appointment != nil {
		service = appointment.ServiceID
		if err := t.AdjustPaidAmount(ctx, dbgen.AdjustPaidAmountParams{OrgID: payment.OrgID, ID: appointment.ID, Amount: int64(payment.AmountCents), Now: t.now}); err != nil {
			return err
		}
		appointment.PaidCents += payment.AmountCents
		if err := t.closeExcessCharges(ctx, *appointment, appointment.PriceCents-appointment.PaidCents); err != nil {
			return err
		}
		if err := t.coverDeposit(ctx, org, appointment); err != nil {
			return err
		}
	}
	if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: payment.OrgID, ID: payment.ClientID, Spent: int64(payment.AmountCents)}); err != nil {
		return err
	}
	program, err := LoadLoyalty(ctx, t.Queries, payment.OrgID)
	if err != nil {
		return err
	}
	err = t.AddPoints(ctx, PointsChange{
		Org: payment.OrgID, Client: payment.ClientID, Type: "earn", Points: program.PaymentPoints(payment.AmountCents, service), Source: paymentPointsSource(payment),
		Payment: &payment.ID, Appointment: payment.AppointmentID,
	})
	return ignoreErased(err)
}

// ignoreErased drops the error for points of an erased client. Their appointments and
// payments stay.
func ignoreErased(err error) error {
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	return err
}

func paymentPointsSource(payment dbgen.Payment) string { return "payment:" + payment.ID.String() }

// LoadLoyalty loads a loyalty program as the rules read it.
func LoadLoyalty(ctx context.Context, queries *dbgen.Queries, org uuid.UUID) (booking.Loyalty, error) {
	program, err := queries.LoyaltyProgram(ctx, org)
	if err != nil {
		return booking.Loyalty{}, dberr.Wrap("loading the loyalty program", err)
	}
	rewards, err := queries.ListRewards(ctx, org)
	if err != nil {
		return booking.Loyalty{}, dberr.Wrap("loading rewards", err)
	}
	return LoyaltyRules(program, rewards), nil
}

// LoyaltyRules converts a loyalty program for the rules.
func LoyaltyRules(program dbgen.LoyaltyProgram, rewards []dbgen.LoyaltyReward) booking.Loyalty {
	l := booking.Loyalty{
		Enabled: program.Enabled, Accrual: booking.Accrual(program.AccrualType), PointsPerUnit: booking.Cents(program.PointsPerHundred), PointsPerVisit: program.PointsPerVisit,
		MinSpend: program.MinSpendCents, Rounding: booking.Rounding(program.Rounding), EligibleServices: program.EligibleServiceIds, ExpirationDays: program.PointsExpirationDays,
		SignupBonus: program.SignupBonus, BirthdayBonus: program.BirthdayBonus,
	}
	for _, reward := range rewards {
		l.Rewards = append(l.Rewards, booking.Reward{
			ID: reward.ID, Name: reward.Name, Points: reward.Points, Type: booking.RewardType(reward.Type), Value: booking.Cents(reward.Value), Service: reward.ServiceID, Active: reward.IsActive,
		})
	}
	return l
}

// PointsChange is a change of a client's balance. Type and Source are unique together.
type PointsChange struct {
	Org, Client          uuid.UUID
	Type                 string
	Points               int64
	Source               string
	Appointment, Payment *uuid.UUID
	Reward               *uuid.UUID
	Description          string
}

// AddPoints writes a change of a client's balance, once per type and source; 0 points
// write nothing. A balance below 0 is a [hub.ErrConflict], insufficient_points.
func (t *Tx) AddPoints(ctx context.Context, points PointsChange) error {
	if points.Points == 0 {
		return nil
	}
	client, err := t.LockClient(ctx, points.Org, points.Client)
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.NotFound("Client")
	}
	if err != nil {
		return err
	}
	exists, err := t.HasLoyaltyEntry(ctx, dbgen.HasLoyaltyEntryParams{OrgID: points.Org, Type: points.Type, Source: points.Source})
	if err != nil || exists {
		return err
	}
	balance := client.LoyaltyPoints + points.Points
	if balance < 0 {
		return hub.Errorf(hub.ErrConflict, "insufficient_points", "The client has %d points.", client.LoyaltyPoints)
	}
	if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: points.Org, ID: points.Client, Points: points.Points}); err != nil {
		return err
	}
	_, err = t.InsertLoyaltyEntry(ctx, dbgen.InsertLoyaltyEntryParams{
		OrgID: points.Org, ID: NewID(), ClientID: points.Client, Type: points.Type, Points: points.Points, BalanceAfter: balance, Source: points.Source,
		AppointmentID: points.Appointment, PaymentID: points.Payment, RewardID: points.Reward, Description: points.Description, CreatedAt: t.now,
	})
	return err
}

// visitPointsSource names one completion of an appointment. It contains the version
// because a corrected appointment may be completed again. Points of an earlier
// completion that could not be deducted are not earned twice.
func visitPointsSource(appointment dbgen.Appointment) string {
	return fmt.Sprintf("visit:%s:%d", appointment.ID, appointment.Version)
}

func (t *Tx) earnVisitPoints(ctx context.Context, appointment dbgen.Appointment) error {
	program, err := LoadLoyalty(ctx, t.Queries, appointment.OrgID)
	if err != nil {
		return err
	}
	earned, err := t.EarnedVisitPoints(ctx, appointment.OrgID, &appointment.ID)
	if err != nil {
		return err
	}
	err = t.AddPoints(ctx, PointsChange{
		Org: appointment.OrgID, Client: appointment.ClientID, Type: "earn", Points: max(0, program.VisitPoints(appointment.PriceCents, appointment.ServiceID)-earned),
		Source: visitPointsSource(appointment), Appointment: &appointment.ID,
	})
	return ignoreErased(err)
}

// reverseVisitPoints deducts what a completion earned, as far as it was not spent.
func (t *Tx) reverseVisitPoints(ctx context.Context, appointment dbgen.Appointment) error {
	earned, err := t.EarnedVisitPoints(ctx, appointment.OrgID, &appointment.ID)
	if err != nil || earned <= 0 {
		return err
	}
	client, err := t.LockClient(ctx, appointment.OrgID, appointment.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // the client was erased
		return nil
	}
	if err != nil {
		return err
	}
	return t.AddPoints(ctx, PointsChange{
		Org: appointment.OrgID, Client: appointment.ClientID, Type: "reverse", Points: -min(earned, client.LoyaltyPoints),
		Source: visitPointsSource(appointment), Appointment: &appointment.ID,
	})
}
