package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Redemption exchanges a client's points for a reward.
type Redemption struct {
	Client, Reward uuid.UUID
	Appointment    *uuid.UUID // nil: the reward is redeemed without an appointment
}

// RedeemReward deducts the points of a reward and its discount from the appointment's
// price. A reward counts once per appointment. Without an appointment only the key
// identifies a repeated request. [hub.ErrConflict] while the program is disabled, for
// too few points, and for an appointment that does not take place or is paid.
func (s *Store) RedeemReward(ctx context.Context, org Org, redemption Redemption, key *IdempotencyKey) error {
	return s.InTx(ctx, "redeeming points", func(tx *Tx) error {
		return tx.runOnce(ctx, org.ID, key, func() error { return tx.redeemReward(ctx, org, redemption) })
	})
}

// AdjustPoints changes a client's points by hand.
func (s *Store) AdjustPoints(ctx context.Context, points PointsChange, key *IdempotencyKey) error {
	return s.InTx(ctx, "adjusting points", func(tx *Tx) error {
		return tx.runOnce(ctx, points.Org, key, func() error { return tx.AddPoints(ctx, points) })
	})
}

// runOnce runs work unless a request with the same key has done so.
func (t *Tx) runOnce(ctx context.Context, org uuid.UUID, key *IdempotencyKey, work func() error) error {
	if key == nil {
		return work()
	}
	var stored bool
	if found, err := t.claimIdempotencyKey(ctx, org, *key, &stored); err != nil || found {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return t.storeAnswer(ctx, org, *key, true)
}

func (t *Tx) redeemReward(ctx context.Context, org Org, redemption Redemption) error {
	if _, err := t.LoadClient(ctx, org.ID, redemption.Client); err != nil {
		return err
	}
	points := PointsChange{Org: org.ID, Client: redemption.Client, Type: "redeem", Source: "redeem:" + NewID().String(), Appointment: redemption.Appointment}
	var appointment Appointment
	if redemption.Appointment != nil {
		var err error
		if appointment, err = t.lockForChange(ctx, AppointmentChange{Org: org, ID: *redemption.Appointment}, nil); err != nil {
			return err
		}
		if appointment.ClientID != redemption.Client {
			return hub.Invalid("body.appointment_id", "is not an appointment of this client")
		}
		points.Source = "redeem:" + appointment.ID.String() + ":" + redemption.Reward.String()
		exists, err := t.HasLoyaltyEntry(ctx, dbgen.HasLoyaltyEntryParams{OrgID: org.ID, Type: points.Type, Source: points.Source})
		if err != nil || exists {
			return err
		}
	}
	program, err := LoadLoyalty(ctx, t.DB, org.ID)
	if err != nil {
		return err
	}
	reward := program.Reward(redemption.Reward)
	switch {
	case reward == nil:
		return hub.NotFound("Reward")
	case !program.Enabled:
		return hub.Errorf(hub.ErrConflict, "loyalty_disabled", "The loyalty program is disabled.")
	}
	points.Points, points.Reward, points.Description = -reward.Points, &reward.ID, reward.Name
	if redemption.Appointment != nil {
		if err := t.applyDiscount(ctx, org, appointment, reward); err != nil {
			return err
		}
	}
	return t.AddPoints(ctx, points)
}

// applyDiscount reduces an appointment's price by a reward. Money received and a
// pending deposit stay; charges above the remaining balance are closed.
func (t *Tx) applyDiscount(ctx context.Context, org Org, appointment Appointment, reward *booking.Reward) error {
	if appointment.Status == booking.Cancelled || appointment.Status == booking.NoShow {
		return hub.Errorf(hub.ErrConflict, "appointment_over", "A reward counts for appointments that take place; this one is %s.", appointment.Status)
	}
	remaining := appointment.PriceCents - appointment.PaidCents
	if appointment.DepositStatus == booking.DepositPending {
		remaining = min(remaining, appointment.PriceCents-*appointment.DepositCents)
	}
	if remaining <= 0 {
		return hub.Errorf(hub.ErrConflict, "already_paid", "Nothing is left to pay for this appointment.")
	}
	discount := min(reward.Discount(appointment.PriceCents, appointment.ServiceID), remaining).Whole(org.Currency)
	if discount <= 0 {
		return hub.Invalid("body.reward_id", "takes nothing off the price of this appointment")
	}
	err := t.EditAppointment(ctx, dbgen.EditAppointmentParams{
		OrgID: appointment.OrgID, ID: appointment.ID, ClientID: appointment.ClientID, Notes: appointment.Notes, PriceCents: appointment.PriceCents - discount, Now: t.now,
	})
	if err != nil {
		return err
	}
	return t.closeExcessCharges(ctx, appointment, appointment.PriceCents-discount-appointment.PaidCents)
}
