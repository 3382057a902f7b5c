package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// fail makes every response of the provider have a status; 0: none.
func (b *bank) fail(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = status
}

// bookWithDeposit books with a deposit, which is due in half an hour.
func (b *bank) bookWithDeposit(t testing.TB, modify ...func(*module.Host)) (org *schedulingtest.Bookable, id string) {
	t.Helper()
	org = b.payments(t, modify...)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	return org, org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
}

// A client who paid in time keeps the appointment, also where the provider could not be
// asked for a while.
func TestOutageCancelsNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{503, 429, 400} {
		var b bank
		org, id := b.bookWithDeposit(t)
		b.fail(status)
		for range 2 {
			org.AdvanceClock(31 * time.Minute)
			org.RunJob("payments")
			waiting := org.Appointment(id)
			require.Equal(t, "scheduled", waiting["status"])
			require.Equal(t, "pending", waiting["payments"].([]any)[0].(object)["status"])
		}
		b.mu.Lock()
		b.failure, b.charge["status"], b.charge["date_approved"] = 0, "approved", "2026-02-27T12:10:00.000-00:00"
		b.mu.Unlock()
		org.AdvanceClock(2 * time.Minute)
		org.RunJob("payments")
		require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
		require.Len(t, org.Appointment(id)["history"], 1)
	}
}

// A charge counts as unpaid once its reads have failed for an hour.
func TestOutageHoldsTimesForAnHour(t *testing.T) {
	t.Parallel()
	for _, status := range []int{503, 404} {
		var b bank
		org, id := b.bookWithDeposit(t)
		b.fail(status)
		org.AdvanceClock(9 * time.Hour) // while the hub was off
		for range 5 {
			org.RunJob("payments")
			require.Equal(t, "scheduled", org.Appointment(id)["status"])
			org.AdvanceClock(11 * time.Minute)
		}
		org.AdvanceClock(6 * time.Minute)
		org.RunJob("payments")
		gone := org.Appointment(id)
		require.Equal(t, "cancelled", gone["status"])
		require.Equal(t, "expired", gone["payments"].([]any)[0].(object)["status"])
	}
}

// paid pays the charge, whose webhook is lost.
func (b *bank) paid() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charge["status"], b.charge["date_approved"] = "approved", "2026-02-27T12:10:00.000-00:00"
}

// recovered lets the provider respond again and settles what was paid.
func (b *bank) recovered(org *schedulingtest.Bookable, id string) {
	org.T.Helper()
	b.fail(0)
	org.AdvanceClock(6 * time.Minute) // also where the provider asked to wait for an hour
	org.RunJob("payments")
	require.Equal(org.T, "paid", org.Appointment(id)["deposit_status"])
	require.Len(org.T, org.Appointment(id)["history"], 1, "it was never cancelled")
}

// A booking that was paid before the hub stopped survives a provider that does not respond
// when the hub starts again.
func TestHubStopCancelsNoPaidBooking(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status      int
		retryAfter  string
		outageFirst bool // met by an event, so that the charge is not read at all
	}{
		"outage":      {status: 503},
		"busy":        {status: 429, retryAfter: "3600"},
		"not called":  {status: 503, outageFirst: true},
		"not found":   {status: 404},
		"bad request": {status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bank
			org, id := b.bookWithDeposit(t)
			b.paid()
			b.fail(test.status)
			b.retryAfter = test.retryAfter
			if test.outageFirst {
				org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at)
					values ('mercadopago', $1, '88', '', $2, $2)`, "first "+org.ID.String(), org.Hub.Clock.Now().Add(9*time.Hour))
			}
			org.AdvanceClock(9 * time.Hour)
			org.RunJob("payments")
			require.Equal(t, "scheduled", org.Appointment(id)["status"])
			b.recovered(org, id)
		})
	}
}

// A provider that is missing from the settings says nothing of its charges: they are given
// up after an hour, and hold their time until then.
func TestChargesOfAFormerProvider(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	org.Exec(`update scheduling.charges set provider = 'former' where txid = $1`, org.DepositTxID(id))
	org.AdvanceClock(9 * time.Hour)
	for range 5 {
		org.RunJob("payments")
		require.Equal(t, "scheduled", org.Appointment(id)["status"])
		org.AdvanceClock(11 * time.Minute)
	}
	org.AdvanceClock(6 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
}

// A clock that jumps between two reads does not end the hour of a charge.
func TestClockJumpCancelsNoPaidBooking(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.paid()
	b.fail(400)
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	org.AdvanceClock(3 * time.Hour)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	b.recovered(org, id)
}

// A webhook of the charge that was not processed yet holds the time.
func TestStoredWebhookHoldsTheTime(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.fail(400)
	event := "stored " + org.ID.String()
	org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at)
		values ('mercadopago', $1, '77', '', $2, $3)`, event, org.Hub.Clock.Now(), org.Hub.Clock.Now().Add(48*time.Hour))
	org.AdvanceClock(31 * time.Minute)
	for range 8 {
		org.RunJob("payments")
		org.AdvanceClock(15 * time.Minute)
	}
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	org.Exec(`update scheduling.provider_events set processed_at = received_at where event_id = $1`, event)
	org.AdvanceClock(15 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
}

// A new code for the deposit, which the provider does not make, does not end the wait for
// the first one.
func TestFailedNewCodeKeepsAnUnreadDeposit(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.paid()
	b.fail(400)
	org.AdvanceClock(31 * time.Minute)
	org.Refused(502, "provider_error", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	b.recovered(org, id)
}

// Who pays between the last read and the cancellation of the code keeps the appointment.
func TestPaidDuringTheEndOfACharge(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.onCancel = func() { b.charge["status"], b.charge["date_approved"] = "approved", "2026-02-27T12:30:00.000-00:00" }
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	require.Len(t, org.Appointment(id)["history"], 1)
}

// An event that the provider refuses to answer for does not stop the others.
func TestPoisonedEvent(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at)
		values ('mercadopago', $1, '88', '', $2, $2)`, "poison "+org.ID.String(), org.Hub.Clock.Now().Add(-time.Hour))
	b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	require.Equal(t, 1, org.Count("scheduling.provider_events where event_id = $1 and processed_at is null", "poison "+org.ID.String()))
}

// A charge that the provider keeps open although it has expired counts as unpaid, and is
// read again later.
func TestChargeThatStaysOpen(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.onCancel = func() { b.charge["status"] = "in_process" }
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
	b.paid()
	org.AdvanceClock(11 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"], "the time was still free")
}

// A charge that is neither cancelled nor read afterwards may have been paid.
func TestOutageDuringTheEndOfACharge(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.onCancel = func() {
		b.charge["status"], b.charge["date_approved"], b.failure = "approved", "2026-02-27T12:30:00.000-00:00", 503
	}
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	b.recovered(org, id)
}

// A webhook that meets an outage loses no attempt, however long the outage is.
func TestOutageCountsNoWebhookAttempts(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	org.StopOwnRuns("payments")
	b.fail(503)
	b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:10:00.000-00:00"})
	org.Exec(`update scheduling.provider_events set attempts = 29`) // so many other failures
	for range 3 {
		org.AdvanceClock(31 * time.Minute)
		org.RunJob("payments")
		require.Equal(t, 1, org.Count("scheduling.provider_events where processed_at is null and attempts = 29"))
	}
	b.recovered(org, id)
	org.AdvanceClock(time.Hour)
	org.RunJob("payments")
	require.Zero(t, org.Count("scheduling.provider_events where processed_at is null"), "due a while after the charge")
	// One that meets nothing else for a week is given up in the end.
	b.fail(503)
	b.sendChange(org, "two", object{})
	org.Exec(`update scheduling.provider_events set attempts = 29 where processed_at is null`)
	org.AdvanceClock(7*24*time.Hour + time.Minute)
	org.RunJob("payments")
	require.Zero(t, org.Count("scheduling.provider_events where processed_at is null"))
}
