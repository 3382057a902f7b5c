package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Staff who confirm an unpaid booking let it keep its time, also once its client moves it and
// it has to be confirmed again.
func TestMovedBookingThatStaffConfirmedUnpaid(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	var ids []string
	var tokens []any
	for n := range 2 {
		created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(time.Duration(n)*time.Hour))
		ids, tokens = append(ids, created["appointment_id"].(string)), append(tokens, created["cancel_token"])
		org.Transition(200, "confirm", ids[n], nil)
	}
	require.Equal(t, 2, org.Count("scheduling.appointments where org_id = $1 and deposit_left_to_staff and hold_until >= start_at", org.ID))
	// As it was stored for bookings that were confirmed by an older version.
	org.Exec(`update scheduling.appointments set deposit_left_to_staff = false, hold_until = $2 where id = $1`, ids[1], org.Hub.Clock.Now().Add(30*time.Minute))
	org.AdvanceClock(24 * time.Hour)
	org.RunJob("payments")
	for n, id := range ids {
		require.Equal(t, "confirmed", org.Appointment(id)["status"])
		guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": tokens[n], "start_at": org.At(time.Duration(n)*time.Hour + 24*time.Hour)})
	}
	org.AdvanceClock(time.Minute)
	org.RunJob("payments")
	for _, id := range ids {
		moved := org.Appointment(id)
		require.Equal(t, "scheduled", moved["status"], "staff confirm the new time")
		require.Equal(t, "pending", moved["deposit_status"])
	}
}

// A visit that has begun stays, although its deposit was due before: staff collect it.
func TestUnpaidDepositOfAVisitThatBegan(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	begun, coming := bookForGuest(org, 0), bookForGuest(org, time.Hour)
	org.StopOwnRuns("payments") // as where the hub was off
	org.AdvanceClock(schedulingtest.Monday.Sub(org.Hub.Clock.Now()))
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(begun)["status"])
	require.Equal(t, "pending", org.Appointment(begun)["deposit_status"])
	require.Equal(t, "cancelled", org.Appointment(coming)["status"])
}

// codeForAll books with a deposit and makes a code for the whole price; the one for the
// deposit is over.
func codeForAll(org *schedulingtest.Bookable, after time.Duration) (id string, code object) {
	org.T.Helper()
	id = bookForGuest(org, after)
	org.Exec(`update scheduling.charges c set due_at = null from scheduling.payments p where p.id = c.payment_id and p.appointment_id = $1`, id)
	org.Exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	code = org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(org.T, "full", code["kind"])
	return id, code
}

// A code for the whole price that may be paid holds the time, as one for the deposit does.
func TestUnreadCodeForThePriceHoldsTheTime(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, code := codeForAll(org, 0)
	small := bookForGuest(org, time.Hour)
	org.Exec(`update scheduling.payments set kind = 'full', amount_cents = 1900 where appointment_id = $1`, small)
	org.Exec(`update scheduling.charges set provider = 'former' where payment_id = $1 or txid = $2`, code["id"], org.DepositTxID(small))
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"], "the code may have been paid")
	require.Equal(t, "cancelled", org.Appointment(small)["status"], "it would not cover the deposit")
	for range 5 {
		org.AdvanceClock(16 * time.Minute)
		org.RunJob("payments")
	}
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
}

// Who pays the whole price late has the appointment back, as who pays the deposit.
func TestLatePriceRestoresTheAppointment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, code := codeForAll(org, 0)
	org.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, code["txid"])
	org.Exec(`update scheduling.charges set due_at = null where payment_id = $1`, code["id"])
	org.Exec(`update scheduling.payments set status = 'expired' where id = $1`, code["id"])
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
	org.PayCharge(code["txid"])
	back := org.Appointment(id)
	require.Equal(t, "scheduled", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Equal(t, "paid", back["payment_status"])
	require.Equal(t, false, back["needs_refund"])
}

// A deposit that is paid after the visit counts; after a no-show it is forfeited.
func TestDepositPaidAfterTheVisit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	after := func(at time.Duration, action string) string {
		id := bookForGuest(org, at)
		org.Transition(200, action, id, nil)
		return id
	}
	pay := func(id string) any {
		org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 20, "method": "cash"})
		return org.Appointment(id)["deposit_status"]
	}
	visited, missed, older := after(0, "complete"), after(time.Hour, "noshow"), after(2*time.Hour, "complete")
	require.Equal(t, "paid", pay(visited))
	require.Equal(t, "completed", org.Appointment(visited)["status"])
	require.Equal(t, "forfeited", pay(missed))
	require.Equal(t, "no_show", org.Appointment(missed)["status"])
	org.Transition(200, "reopen", missed, nil)
	require.Equal(t, "paid", org.Appointment(missed)["deposit_status"], "the client came")
	pay(older)
	org.Exec(`update scheduling.appointments set deposit_status = 'pending' where id = $1`, older) // as an older version left it
	org.Transition(200, "reopen", older, nil)
	require.Equal(t, []any{"confirmed", "paid"}, []any{org.Appointment(older)["status"], org.Appointment(older)["deposit_status"]})
}
