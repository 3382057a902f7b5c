package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// ignoreErased drops the error for points of an erased client. Their appointments and
// payments stay.
func ignoreErased(err error) error {
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	return err
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

func paymentPointsSource(payment Payment) string { return "payment:" + payment.ID.String() }

// visitPointsSource names one completion of an appointment. It contains the version
// because a corrected appointment may be completed again. Points of an earlier
// completion that could not be deducted are not earned twice.
func visitPointsSource(appointment Appointment) string {
	return fmt.Sprintf("visit:%s:%d", appointment.ID, appointment.Version)
}

func (t *Tx) earnVisitPoints(ctx context.Context, appointment Appointment) error {
	program, err := LoadLoyalty(ctx, t.DB, appointment.OrgID)
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
func (t *Tx) reverseVisitPoints(ctx context.Context, appointment Appointment) error {
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

// reversePoints deducts the points earned by the refunded share, as far as they were
// not spent.
func (t *Tx) reversePoints(ctx context.Context, payment Payment, refunded booking.Cents) error {
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
