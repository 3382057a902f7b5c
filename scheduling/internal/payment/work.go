package payment

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	batch        = 100                // of each kind of work in one run
	noticeTries  = 30                 // of a notice: about eight hours
	unknownTries = 5                  // of one about a charge that we do not know: it may be about to be stored
	refundTries  = 12                 // about a day
	askAgain     = 10 * time.Minute   // about a charge that could not be ended at the provider
	askAtMost    = 2 * 24 * time.Hour // after its time was over
)

// Jobs is what it does in the background.
func (c *Cashier) Jobs() []module.Job {
	return []module.Job{
		{Name: store.JobPayments, Every: 20 * time.Second, Timeout: 10 * time.Minute, Run: func(ctx context.Context, _ []byte) error { return c.Work(ctx) }},
	}
}

// Work does what is due: notices of the provider, charges that were not paid in
// time, slots whose deposit was not paid, refunds. Each is a transaction of its own,
// and whatever fails is tried again later.
func (c *Cashier) Work(ctx context.Context) error {
	r := &round{Cashier: c, now: c.host.Now()}
	for _, part := range []func(context.Context) error{r.notices, r.charges, r.holds, r.refunds} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// round is one run. Once the provider does not answer it is not asked any more: each
// question may take until its deadline.
type round struct {
	*Cashier
	now  time.Time
	away bool
}

// errAway is a provider that was not asked.
var errAway = errors.New("the payment provider does not answer")

// ask calls the provider.
func (r *round) ask(call func() error) error {
	if r.provider == nil || r.away {
		return errAway
	}
	err := call()
	if errors.Is(err, hub.ErrPeer) {
		r.away = true
	}
	return err
}

func (r *round) read(ctx context.Context, id string) (charge provider.Charge, err error) {
	err = r.ask(func() error { charge, err = r.provider.Read(ctx, id); return err })
	return charge, err
}

// notices reads the charges that the provider told of, and settles them.
func (r *round) notices(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	list, err := r.store.ClaimNotices(ctx, dbgen.ClaimNoticesParams{Now: r.now, Provider: name, RowLimit: batch})
	if err != nil {
		return err
	}
	for _, n := range list {
		charge, err := r.read(ctx, n.ChargeID)
		if err == nil {
			err = r.store.Settle(ctx, name, charge)
		}
		over := n.Attempts >= noticeTries
		switch {
		case err == nil:
			over = true
		case errors.Is(err, provider.ErrMismatch):
			over = true
			r.host.Log.Error("a charge is not what was ordered; it does not count as paid", "charge", n.ChargeID)
		case errors.Is(err, store.ErrUnknownCharge), errors.Is(err, hub.ErrNotFound):
			over = n.Attempts >= unknownTries
		default:
			r.host.Log.Warn("settling a payment failed", "charge", n.ChargeID, "attempt", n.Attempts, "last", over, "error", err)
		}
		if over {
			if err := r.store.FinishNotice(ctx, dbgen.FinishNoticeParams{Now: r.now, Provider: name, EventID: n.EventID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// charges ends those whose time is over, here and at the provider. One that was paid
// at the last moment is settled.
func (r *round) charges(ctx context.Context) error {
	list, err := r.store.DueCharges(ctx, r.now, batch)
	if err != nil {
		return err
	}
	for _, due := range list {
		charge, err := r.read(ctx, due.ProviderPaymentID)
		open := err == nil && charge.Status == provider.Pending
		if err == nil && !open {
			err = r.store.Settle(ctx, due.Provider, charge)
		}
		if errors.Is(err, provider.ErrMismatch) {
			r.host.Log.Error("a charge is not what was ordered; it does not count as paid", "charge", due.ProviderPaymentID)
		}
		if err := r.store.Expire(ctx, due.OrgID, due.PaymentID); err != nil {
			return err
		}
		if open {
			err = r.ask(func() error { return r.provider.Cancel(ctx, due.ProviderPaymentID) })
		}
		if err := r.putOff(ctx, due, err); err != nil {
			return err
		}
	}
	return nil
}

// putOff says when the provider is asked about a charge again: never, once it is
// ended there.
func (r *round) putOff(ctx context.Context, due dbgen.DueChargesRow, failed error) error {
	next := r.now.Add(askAgain)
	again := &next
	switch {
	case failed == nil, errors.Is(failed, hub.ErrNotFound), errors.Is(failed, provider.ErrMismatch), r.now.Sub(due.ExpiresAt) > askAtMost:
		again = nil
	case !errors.Is(failed, errAway):
		r.host.Log.Warn("ending a charge failed", append(about(due.OrgID, due.PaymentID), "error", failed)...)
	}
	return r.store.PutOffCharge(ctx, dbgen.PutOffChargeParams{DueAt: again, OrgID: due.OrgID, PaymentID: due.PaymentID})
}

// holds cancels appointments whose deposit was not paid while the slot was held.
func (r *round) holds(ctx context.Context) error {
	list, err := r.store.DueHolds(ctx, r.now, batch)
	if err != nil {
		return err
	}
	for _, a := range list {
		if err := r.store.LetGo(ctx, a.OrgID, a.ID); err != nil {
			r.host.Log.Warn("letting go of a slot failed", "organization", a.OrgID, "appointment", a.ID, "error", err)
		}
	}
	return nil
}

// refunds gives money back.
func (r *round) refunds(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	list, err := r.store.ClaimRefunds(ctx, dbgen.ClaimRefundsParams{Now: r.now, Provider: &name, RowLimit: batch})
	if err != nil {
		return err
	}
	for _, due := range list {
		if err := r.refund(ctx, due.ID, *due.ProviderPaymentID, provider.Refund{ID: due.ID, Amount: due.AmountCents}); err != nil {
			last := due.Attempts >= refundTries
			r.host.Log.Warn("giving a deposit back failed", append(about(due.OrgID, due.PaymentID), "attempt", due.Attempts, "last", last, "error", err)...)
			if last {
				if err := r.store.RefundFailed(ctx, due.OrgID, due.ID, due.AppointmentID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *round) refund(ctx context.Context, id uuid.UUID, charge string, refund provider.Refund) error {
	err := r.ask(func() error { return r.provider.Refund(ctx, charge, refund) })
	state := errors.Is(err, hub.ErrConflict) // somebody else gave it back, perhaps
	if err != nil && !state {
		return err
	}
	now, readErr := r.read(ctx, charge)
	if readErr != nil {
		return readErr
	}
	if state && now.GivenBack() < refund.Amount {
		return err
	}
	return r.store.Refunded(ctx, r.provider.Name(), now, id)
}
