package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// cancelPaid books with a deposit, pays it and cancels: a refund is due.
func cancelPaid(org *schedulingtest.Bookable, after time.Duration, before func(id string)) (id string) {
	org.T.Helper()
	id = org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(after))["appointment_id"].(string)
	org.PayCharge(org.DepositTxID(id))
	before(id)
	org.Transition(200, "cancel", id, object{})
	return id
}

// Refunds of a former provider wait for it, however many, and stop no others.
func TestRefundsOfAFormerProvider(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	old := cancelPaid(org, 0, func(id string) {
		org.Exec(`update scheduling.charges c set provider = 'former' from scheduling.payments p where p.id = c.payment_id and p.appointment_id = $1`, id)
	})
	org.Exec(`insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at)
		select r.org_id, gen_random_uuid(), r.payment_id, r.amount_cents, r.created_at, r.due_at from scheduling.refunds r, generate_series(1, 150) where r.org_id = $1`, org.ID)
	present := cancelPaid(org, time.Hour, func(string) {})
	org.RunJob("payments")
	require.Equal(t, "refunded", org.Appointment(present)["deposit_status"])
	require.Equal(t, "paid", org.Appointment(old)["deposit_status"])
	require.Equal(t, false, org.Appointment(old)["needs_refund"], "it is made if the provider returns within two days")
}

// A provider that is missing from the settings for a while makes its refunds once it is back.
func TestRefundsWaitForTheirProvider(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	setProvider := func(id, name string) {
		org.Exec(`update scheduling.charges c set provider = $2 from scheduling.payments p where p.id = c.payment_id and p.appointment_id = $1`, id, name)
	}
	resumed := cancelPaid(org, 0, func(id string) { setProvider(id, "former") })
	lost := cancelPaid(org, time.Hour, func(id string) { setProvider(id, "former") })
	org.RunJob("payments")
	require.Equal(t, false, org.Appointment(resumed)["needs_refund"], "it may be made yet, and must not be made by hand too")
	require.Equal(t, 2, org.Count("scheduling.refunds where org_id = $1 and failed_at is null", org.ID))
	setProvider(resumed, "sandbox")
	org.AdvanceClock(25 * time.Hour)
	org.RunJob("payments")
	back := org.Appointment(resumed)
	require.Equal(t, "refunded", back["deposit_status"])
	require.Equal(t, false, back["needs_refund"])
	org.AdvanceClock(24 * time.Hour)
	org.RunJob("payments")
	require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and failed_at is not null", org.ID), "two days are over")
	require.Equal(t, true, org.Appointment(lost)["needs_refund"])
}

// A refund that the provider refuses is requested for a day at least, however often.
func TestRefusedRefundsAreRepeatedForADay(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := cancelPaid(org, 0, func(id string) {
		org.Exec(`update scheduling.sandbox_charges set status = 'cancelled' where txid = $1`, org.DepositTxID(id))
	})
	for range 23 {
		org.RunJob("payments")
		org.Exec(`update scheduling.refunds set attempts = attempts + 5 where org_id = $1`, org.ID)
		org.Hub.Clock.Advance(time.Hour)
	}
	require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and failed_at is null", org.ID))
	org.AdvanceClock(0)
	require.Equal(t, false, org.Appointment(id)["needs_refund"])
	org.AdvanceClock(3 * time.Hour)
	org.RunJob("payments")
	require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and failed_at is not null", org.ID))
	require.Equal(t, true, org.Appointment(id)["needs_refund"])
}

// A refund that is not requested because of an outage loses no attempt, nor does the one
// that met the outage.
func TestOutageCountsNoRefundAttempts(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
	b.fail(503)
	org.Exec(`insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at)
		select org_id, gen_random_uuid(), id, 1, $2, $2 from scheduling.payments, generate_series(1, 2) where appointment_id = $1`, id, org.Hub.Clock.Now())
	org.RunJob("payments")
	require.Equal(t, 2, org.Count("scheduling.refunds where org_id = $1 and attempts = 0 and due_at > $2", org.ID, org.Hub.Clock.Now()))
}

// A refund that the provider refuses does not stop the next.
func TestRefusedRefundsStopNoOthers(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
	b.fail(400)
	org.Exec(`insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at)
		select org_id, gen_random_uuid(), id, 1, $2, $2 from scheduling.payments, generate_series(1, 2) where appointment_id = $1`, id, org.Hub.Clock.Now())
	b.mu.Lock()
	b.methods = nil
	b.mu.Unlock()
	org.RunJob("payments")
	require.Equal(t, []string{"POST", "POST"}, b.methods)
}

// A refund that the provider has not decided on is not made: it is done once the charge says
// so, and given up after a week.
func TestUndecidedRefunds(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{true, false} {
		var b bank
		org, id := b.bookWithDeposit(t)
		org.StopOwnRuns("payments")
		b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
		b.refund = "in_process"
		org.Transition(200, "cancel", id, object{})
		for range 2 {
			org.RunJob("payments")
			waiting := org.Appointment(id)
			require.Equal(t, []any{"paid", false}, []any{waiting["deposit_status"], waiting["needs_refund"]})
			require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and done_at is null and failed_at is null and attempts = 0", org.ID))
			org.AdvanceClock(2 * time.Hour)
		}
		if made {
			b.mu.Lock()
			b.charge["status"], b.charge["transaction_amount_refunded"] = "refunded", 20
			b.mu.Unlock()
			org.RunJob("payments")
			require.Equal(t, []any{"refunded", false}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
			continue
		}
		org.Exec(`update scheduling.refunds set attempts = 12 where org_id = $1`, org.ID)
		org.AdvanceClock(7 * 24 * time.Hour)
		org.RunJob("payments")
		require.Equal(t, []any{"paid", true}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	}
}

// What meets an outage in each of its calls does not end the calls of every run: what is behind
// it has its turn.
func TestOutageOfItsOwnStopsNoRefunds(t *testing.T) {
	t.Parallel()
	const event = `insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ('mercadopago', $1, '99', '', $2, $3)`
	for name, begin := range map[string]func(org *schedulingtest.Bookable, first string, now time.Time){
		"event": func(org *schedulingtest.Bookable, _ string, now time.Time) { org.Exec(event, "own", now, now) },
		"charge": func(org *schedulingtest.Bookable, first string, now time.Time) {
			org.Exec(event, "waits", now, now.Add(48*time.Hour)) // so that the charge does not count as unpaid
			org.Exec(`update scheduling.charges c set due_at = $2, unread_since = $3, failed_reads = 6 from scheduling.payments p where p.id = c.payment_id and p.appointment_id = $1`,
				first, now, now.Add(-time.Hour))
		},
		"refund": func(org *schedulingtest.Bookable, first string, now time.Time) {
			org.Exec(`update scheduling.payments set status = 'paid', paid_at = created_at where appointment_id = $1`, first)
			org.Exec(`insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at)
				select org_id, gen_random_uuid(), id, 1, $2, $3 from scheduling.payments where appointment_id = $1`, first, now.Add(-time.Hour), now.Add(-time.Minute))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bank
			org, first := b.bookWithDeposit(t)
			org.StopOwnRuns("payments")
			org.Exec(`update scheduling.charges set provider_payment_id = '99', due_at = null`)
			id := bookForGuest(org, time.Hour)
			b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
			org.Transition(200, "cancel", id, object{})
			b.mu.Lock()
			b.refund, b.charge["status"], b.charge["transaction_amount_refunded"] = "approved", "refunded", 20
			b.mu.Unlock()
			begin(org, first, org.Hub.Clock.Now())
			for range 4 {
				org.RunJob("payments")
				org.AdvanceClock(75 * time.Second)
			}
			require.Equal(t, "refunded", org.Appointment(id)["deposit_status"])
		})
	}
}
