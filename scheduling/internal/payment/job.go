package payment

import (
	"context"
	"errors"
	"time"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	batchSize                = 100                // of each kind of work in one run
	maxEventAttempts         = 30                 // of a provider event: about eight hours
	eventOutageLimit         = 7 * 24 * time.Hour // since a provider event was received: outages count as attempts after it
	maxUnknownChargeAttempts = 5                  // of a provider event for an unknown charge: the charge may not be stored yet
	maxOutageDelay           = time.Hour          // of what met an outage itself, beyond the other calls
	callRetryInterval        = time.Minute        // for a call that was not made, or a due charge that could not be read
)

// ProcessDue settles provider events, ends unpaid charges, cancels appointments without a
// deposit and sends refunds. Each item has its own transaction and is retried later if
// it fails.
func (s *Service) ProcessDue(ctx context.Context) error {
	r := &paymentRun{Service: s, now: s.host.Now()}
	for _, part := range []func(context.Context) error{r.settleProviderEvents, r.endDueCharges, r.cancelUnpaidAppointments, r.sendDueRefunds} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// paymentRun is one run of the job. In an outage of the provider it is not called again:
// each call may take until its deadline.
type paymentRun struct {
	*Service
	now     time.Time
	retryAt time.Time // of calls that are not made because of an outage; zero: there is none
}

// errProviderDown is returned for a call that was not made.
var errProviderDown = errors.New("the payment provider does not respond")

// callProvider makes a call unless there is an outage of the provider.
func (r *paymentRun) callProvider(call func() error) error {
	if r.provider == nil || !r.retryAt.IsZero() {
		return errProviderDown
	}
	err := call()
	var outage *provider.OutageError
	if errors.As(err, &outage) {
		r.retryAt = r.now.Add(max(outage.RetryAfter, callRetryInterval))
		r.host.Log.Warn("the payment provider does not respond", "retry_at", r.retryAt, "error", err)
	}
	return err
}

// nextCallAt returns when a call that failed or was not made is due again.
func (r *paymentRun) nextCallAt() time.Time {
	if r.retryAt.IsZero() {
		return r.now.Add(callRetryInterval)
	}
	return r.retryAt
}

// isOutage reports whether a call met an outage of the provider.
func isOutage(err error) bool {
	var outage *provider.OutageError
	return errors.As(err, &outage)
}

// nextTurnAt is [paymentRun.nextCallAt] for work that waits since a time. What met an outage
// itself is due later than what was not called for, and later each time: the outage may be of
// this charge alone, and it ends the calls of the run.
func (r *paymentRun) nextTurnAt(err error, since time.Time) time.Time {
	if isOutage(err) {
		return r.nextCallAt().Add(min(max(r.now.Sub(since)/4, time.Second), maxOutageDelay))
	}
	return r.nextCallAt()
}

// providerName returns the configured provider's name, "" without one.
func (r *paymentRun) providerName() string {
	if r.provider == nil {
		return ""
	}
	return r.provider.Name()
}

func (r *paymentRun) readCharge(ctx context.Context, id string) (charge provider.Charge, err error) {
	err = r.callProvider(func() error { charge, err = r.provider.Read(ctx, id); return err })
	return charge, err
}

// settleProviderEvents reads the charges of stored provider events and settles them.
func (r *paymentRun) settleProviderEvents(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	name := r.provider.Name()
	events, err := r.store.ClaimProviderEvents(ctx, dbgen.ClaimProviderEventsParams{Now: r.now, Provider: name, RowLimit: batchSize})
	if err != nil {
		return err
	}
	for _, event := range events {
		if err := r.settleProviderEvent(ctx, name, event); err != nil {
			return err
		}
	}
	return nil
}

func (r *paymentRun) settleProviderEvent(ctx context.Context, name string, event dbgen.ClaimProviderEventsRow) error {
	charge, err := r.readCharge(ctx, event.ChargeID)
	if err == nil {
		err = r.store.SettleCharge(ctx, name, charge)
	}
	finished := event.Attempts >= maxEventAttempts
	switch {
	case errors.Is(err, errProviderDown), isOutage(err) && r.now.Sub(event.ReceivedAt) < eventOutageLimit:
		return r.store.PostponeProviderEvent(ctx, dbgen.PostponeProviderEventParams{DueAt: r.nextTurnAt(err, event.ReceivedAt), Provider: name, EventID: event.EventID})
	case err == nil:
		finished = true
	case errors.Is(err, provider.ErrMismatch):
		finished = true
		r.host.Log.Error("a charge differs from its order and does not count as paid", "charge", event.ChargeID)
	case errors.Is(err, store.ErrUnknownCharge), errors.Is(err, hub.ErrNotFound):
		finished = event.Attempts >= maxUnknownChargeAttempts
	default:
		r.host.Log.Warn("settling a payment failed", "charge", event.ChargeID, "attempt", event.Attempts, "last", finished, "error", err)
	}
	if !finished {
		return nil
	}
	return r.store.SetProviderEventProcessed(ctx, dbgen.SetProviderEventProcessedParams{Now: r.now, Provider: name, EventID: event.EventID})
}

// cancelUnpaidAppointments cancels appointments whose deposit was not paid in time.
func (r *paymentRun) cancelUnpaidAppointments(ctx context.Context) error {
	appointments, err := r.store.AppointmentsWithOverdueDeposit(ctx, r.now, batchSize)
	if err != nil {
		return err
	}
	for _, appointment := range appointments {
		if err := r.store.CancelUnpaid(ctx, appointment.OrgID, appointment.ID); err != nil {
			r.host.Log.Warn("cancelling an unpaid appointment failed", "organization", appointment.OrgID, "appointment", appointment.ID, "error", err)
		}
	}
	return nil
}
