package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// fail makes every response of the provider have a status; 0: none.
func (b *bank) fail(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = status
}

// bookWithDeposit books with a deposit, which is due in half an hour.
func (b *bank) bookWithDeposit(t testing.TB) (org *schedulingtest.Bookable, id string) {
	t.Helper()
	org = b.payments(t)
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

// A charge that cannot be read for an hour is taken for unpaid.
func TestOutageHoldsTimesForAnHour(t *testing.T) {
	t.Parallel()
	var b bank
	org, id := b.bookWithDeposit(t)
	b.fail(503)
	org.AdvanceClock(91 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
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
