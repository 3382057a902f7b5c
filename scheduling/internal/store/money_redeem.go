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
	Appointment    *uuid.UUID // nil: the reward is given at the desk
}

// RedeemReward takes the points of a reward, and its discount off the appointment's price.
// For one appointment a reward counts once, however often it is asked for; without an
// appointment only once tells a repeated request from another. [hub.ErrConflict] while
// the program is disabled, for too few points, and for an appointment that does not
// take place or is paid.
func (s *Store) RedeemReward(ctx context.Context, org Org, r Redemption, once *Once) error {
	return s.InTx(ctx, "redeeming points", func(tx *Tx) error {
		return tx.runOnce(ctx, org.ID, once, func() error { return tx.redeemReward(ctx, org, r) })
	})
}

// AdjustPoints corrects a client's points by hand.
func (s *Store) AdjustPoints(ctx context.Context, p Points, once *Once) error {
	return s.InTx(ctx, "adjusting points", func(tx *Tx) error {
		return tx.runOnce(ctx, p.Org, once, func() error { return tx.AddPoints(ctx, p) })
	})
}

// runOnce does what a request with an Idempotency-Key asks for, unless it was done.
func (t *Tx) runOnce(ctx context.Context, org uuid.UUID, once *Once, work func() error) error {
	if once == nil {
		return work()
	}
	var done bool
	if found, err := t.claimIdempotencyKey(ctx, org, *once, &done); err != nil || found {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return t.storeAnswer(ctx, org, *once, true)
}

func (t *Tx) redeemReward(ctx context.Context, org Org, r Redemption) error {
	if _, err := t.LoadClient(ctx, org.ID, r.Client); err != nil {
		return err
	}
	p := Points{Org: org.ID, Client: r.Client, Type: "redeem", Source: "redeem:" + NewID().String(), Appointment: r.Appointment}
	var a dbgen.Appointment
	if r.Appointment != nil {
		var err error
		if a, err = t.lockForChange(ctx, Change{Org: org, ID: *r.Appointment}, nil); err != nil {
			return err
		}
		if a.ClientID != r.Client {
			return hub.Invalid("body.appointment_id", "is not an appointment of this client")
		}
		p.Source = "redeem:" + a.ID.String() + ":" + r.Reward.String()
		before, err := t.HasEntry(ctx, dbgen.HasEntryParams{OrgID: org.ID, Type: p.Type, Source: p.Source})
		if err != nil || before {
			return err
		}
	}
	program, err := LoadLoyalty(ctx, t.Queries, org.ID)
	if err != nil {
		return err
	}
	reward := program.Reward(r.Reward)
	switch {
	case reward == nil:
		return notFound("Reward")
	case !program.Enabled:
		return hub.Errorf(hub.ErrConflict, "loyalty_disabled", "The loyalty program is disabled.")
	}
	p.Points, p.Reward, p.Description = -reward.Points, &reward.ID, reward.Name
	if r.Appointment != nil {
		if err := t.applyDiscount(ctx, org, a, reward); err != nil {
			return err
		}
	}
	return t.AddPoints(ctx, p)
}

// applyDiscount takes a reward off an appointment's price. What was paid, and a deposit that
// is due, stay as they are; codes for more than is left end.
func (t *Tx) applyDiscount(ctx context.Context, org Org, a dbgen.Appointment, reward *booking.Reward) error {
	if a.Status == booking.Cancelled || a.Status == booking.NoShow {
		return hub.Errorf(hub.ErrConflict, "appointment_over", "A reward counts for appointments that take place; this one is %s.", a.Status)
	}
	left := a.PriceCents - a.PaidCents
	if a.DepositStatus == booking.DepositPending {
		left = min(left, a.PriceCents-*a.DepositCents)
	}
	if left <= 0 {
		return hub.Errorf(hub.ErrConflict, "already_paid", "Nothing is left to pay for this appointment.")
	}
	off := min(reward.Discount(a.PriceCents, a.ServiceID), left).Whole(org.Currency)
	if off <= 0 {
		return hub.Invalid("body.reward_id", "takes nothing off the price of this appointment")
	}
	err := t.EditAppointment(ctx, dbgen.EditAppointmentParams{
		OrgID: a.OrgID, ID: a.ID, ClientID: a.ClientID, Notes: a.Notes, PriceCents: a.PriceCents - off, Now: t.now,
	})
	if err != nil {
		return err
	}
	return t.closeExcessCharges(ctx, a, a.PriceCents-off-a.PaidCents)
}
