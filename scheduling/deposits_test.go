package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deposits is a studio whose service needs a deposit of 20.
func deposits(t testing.TB) *plan {
	t.Helper()
	p := collecting(t)
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 20})
	return p
}

// txid finds the charge of an appointment's deposit.
func (p *plan) txid(appointment any) (txid string) {
	p.t.Helper()
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select c.txid from scheduling.charges c join scheduling.payments p on p.id = c.payment_id
		where p.appointment_id = $1 order by c.created_at desc limit 1`, appointment).Scan(&txid))
	return txid
}

func types(p *plan) (list []string) {
	for _, e := range p.hub.Events(p.org) {
		list = append(list, e.Type)
	}
	return list
}

func TestDepositBooking(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	p.ok(200, "PUT", "/organization/settings", object{"auto_confirm": true, "deposit_hold_minutes": 45})
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	deposit := made["deposit"].(object)
	require.EqualValues(t, 20, deposit["amount"])
	require.Contains(t, deposit["pix_copy_paste"], "540520.00")
	require.Equal(t, "2026-02-27T09:45:00-03:00", deposit["expires_at"])
	requireQR(t, deposit["qr_code_base64"])
	require.Equal(t, "scheduled", made["status"], "auto_confirm waits for the deposit")
	require.Equal(t, made, g.ok(200, "GET", p.public("/appointment?token="+made["cancel_token"].(string)), nil), "the code can be looked up again")
	id := made["appointment_id"].(string)
	detail := p.appointment(id)
	require.Equal(t, "pending", detail["deposit_status"])
	require.EqualValues(t, 20, detail["deposit_amount"])
	require.Equal(t, "deposit", detail["payments"].([]any)[0].(object)["kind"])
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(0))
	require.Equal(t, []string{"appointment.created"}, types(p))

	p.pay(p.txid(id))
	paid := p.appointment(id)
	require.Equal(t, "paid", paid["deposit_status"])
	require.Equal(t, "partial", paid["payment_status"])
	require.Equal(t, "confirmed", paid["status"])
	last := paid["history"].([]any)[1].(object)
	require.Equal(t, "confirm", last["action"])
	require.Equal(t, "system", last["by"])
	require.Nil(t, g.ok(200, "GET", p.public("/appointment?token="+made["cancel_token"].(string)), nil)["deposit"], "none is due any more")
	p.refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	require.EqualValues(t, 60, p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})["amount"], "what is left to pay")
	p.later(time.Hour)
	p.work("payments")
	require.Equal(t, "confirmed", p.appointment(id)["status"], "and it stays")
}

func TestAnUnpaidDepositLetsGoOfItsSlot(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	id := g.ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	p.later(29 * time.Minute)
	p.work("payments")
	require.Equal(t, "scheduled", p.appointment(id)["status"], "half an hour is not over")
	p.later(time.Minute)
	p.work("payments")
	p.work("payments")
	gone := p.appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	require.Equal(t, "none", gone["deposit_status"])
	require.Equal(t, "expired", gone["payments"].([]any)[0].(object)["status"])
	history := gone["history"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, "cancel", history[1].(object)["action"])
	require.Equal(t, "system", history[1].(object)["by"])
	require.Equal(t, "Deposit not paid in time", history[1].(object)["reason"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled"}, types(p))
	require.Len(t, starts(p.day("&date=2026-03-02")), 6, "the time is free again")
	g.ok(201, "POST", p.public("/appointments"), p.wish(0))
}

// A deposit that is taken in otherwise counts too.
func TestADepositPaidAtTheDesk(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 15, "method": "cash", "kind": "deposit"})
	require.Equal(t, "pending", p.appointment(id)["deposit_status"], "not all of it")
	p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash"})
	require.Equal(t, "paid", p.appointment(id)["deposit_status"])
	p.later(time.Hour)
	p.work("payments")
	require.Equal(t, "scheduled", p.appointment(id)["status"])
	p.do(200, "cancel", id, object{})
	gone := p.appointment(id)
	require.Equal(t, "refunded", gone["deposit_status"])
	require.Equal(t, true, gone["needs_refund"], "no provider can give it back")
}

// expired books with a deposit and lets the time for it go by; whoever pays at the
// provider pays late.
func (p *plan) expired() (id, txid string) {
	p.t.Helper()
	id = p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	txid = p.txid(id)
	p.exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	p.exec(`update scheduling.charges set due_at = null where txid = $1`, txid) // as where the provider did not answer
	p.exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	p.later(31 * time.Minute)
	p.work("payments")
	require.Equal(p.t, "cancelled", p.appointment(id)["status"])
	return id, txid
}

func TestALateDepositBooksAgainWhereTheTimeIsFree(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id, txid := p.expired()
	p.pay(txid)
	back := p.appointment(id)
	require.Equal(t, "scheduled", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Equal(t, false, back["needs_refund"])
	require.Nil(t, back["cancelled_at"])
	require.Nil(t, back["reason"])
	last := back["history"].([]any)[2].(object)
	require.Equal(t, "rebook", last["action"])
	require.Equal(t, "system", last["by"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled", "appointment.created"}, types(p))
	require.Len(t, starts(p.day("&date=2026-03-02")), 5)
	require.Equal(t, 2, p.count("scheduling.reminders where appointment_id = $1", id), "reminders are planned again")
}

func TestALateDepositNeedsARefundWhereTheTimeIsTaken(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id, txid := p.expired()
	p.book(0)
	p.pay(txid)
	late := p.appointment(id)
	require.Equal(t, "cancelled", late["status"])
	require.Equal(t, true, late["needs_refund"])
	require.Equal(t, "paid", late["payments"].([]any)[0].(object)["status"], "the money is there")
	// Somebody gives it back at the provider, which tells.
	p.exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, txid)
	p.exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = 'sbx_' || $1`, txid)
	p.work("payments")
	require.Equal(t, false, p.appointment(id)["needs_refund"])
}

func TestALateDepositOfWhatIsOverNeedsARefund(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id, txid := p.expired()
	p.exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '30 days' where txid = $1`, txid)
	p.later(5 * 24 * time.Hour)
	p.pay(txid)
	require.Equal(t, "cancelled", p.appointment(id)["status"])
	require.Equal(t, true, p.appointment(id)["needs_refund"])
}

func TestDepositsAreRefunded(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true})
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	id := made["appointment_id"].(string)
	p.pay(p.txid(id))
	client := p.appointment(id)["client_id"].(string)
	require.EqualValues(t, 20, p.points(client)["balance"])
	gone := g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "pending", gone["refund"])
	require.Equal(t, "refunded", p.appointment(id)["deposit_status"])
	require.EqualValues(t, 20, p.ok(200, "GET", "/clients/"+client, nil)["total_spent"], "not yet")
	for range 2 {
		p.work("payments")
		done := p.appointment(id)
		payment := done["payments"].([]any)[0].(object)
		require.Equal(t, "refunded", payment["status"])
		require.EqualValues(t, 20, payment["refunded_amount"])
		require.Equal(t, "unpaid", done["payment_status"])
		require.Equal(t, false, done["needs_refund"])
		require.EqualValues(t, 0, p.ok(200, "GET", "/clients/"+client, nil)["total_spent"])
		require.EqualValues(t, 0, p.points(client)["balance"], "the points go too")
	}
	require.Equal(t, 1, p.count(`scheduling.sandbox_charges where txid = $1 and status = 'refunded' and refunded_cents = 2000`, p.txid(id)))
}

func TestDepositsAreKeptWhereTheNoticeIsNot(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	p.ok(200, "PUT", "/organization/settings", object{"deposit_refund_notice_minutes": 5 * 24 * 60})
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	p.pay(p.txid(made["appointment_id"]))
	require.Nil(t, g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})["refund"])
	p.work("payments")
	kept := p.appointment(made["appointment_id"].(string))
	require.Equal(t, "forfeited", kept["deposit_status"])
	require.Equal(t, "paid", kept["payments"].([]any)[0].(object)["status"])
	require.Zero(t, p.count("scheduling.refunds where org_id = $1", p.org))
}

// A cancellation ends the charge too, here and at the provider.
func TestACancelledBookingCannotBePaid(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	txid := p.txid(made["appointment_id"])
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "cancelled", p.appointment(made["appointment_id"].(string))["payments"].([]any)[0].(object)["status"])
	p.work("payments")
	g.refused(409, "charge_state", "POST", "/dev/payments/"+txid+"/pay", nil)
	p.refused(409, "appointment_cancelled", "POST", "/payments/pix", object{"appointment_id": made["appointment_id"]})
}

// A refund that the provider does not make is left to people.
func TestARefundThatFails(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	made := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	id := made["appointment_id"].(string)
	p.pay(p.txid(id))
	p.exec(`update scheduling.sandbox_charges set status = 'cancelled' where txid = $1`, p.txid(id))
	p.do(200, "cancel", id, object{})
	for range 20 {
		p.work("payments")
		p.hub.Clock.Advance(3 * time.Hour)
	}
	p.later(0)
	require.Equal(t, true, p.appointment(id)["needs_refund"])
	require.Equal(t, 1, p.count("scheduling.refunds where org_id = $1 and failed_at is not null", p.org))
}

func TestFiftyDepositsAtOnce(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	got := p.together(50, func() answer {
		one, _ := g.try("POST", p.public("/appointments"), p.wish(0))
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 49}, got)
	require.Equal(t, 1, p.count("scheduling.charges where org_id = $1", p.org), "only who got the time asked for a charge")
	require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))
}

// The event of an appointment that the system cancels or takes back stands or falls
// with the change, and with the money that caused it.
func TestTheSystemsChangesPublishInTheirTransaction(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	txid := p.txid(id)
	p.exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	p.exec(`update scheduling.charges set due_at = null where txid = $1`, txid)
	p.exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	p.hub.FailPublishing.Store(true) // before the time is over: the hub runs the job by itself, too
	p.later(31 * time.Minute)
	p.work("payments")
	require.Equal(t, "scheduled", p.appointment(id)["status"])
	p.hub.FailPublishing.Store(false)
	p.work("payments")
	require.Equal(t, "cancelled", p.appointment(id)["status"])
	p.hub.FailPublishing.Store(true)
	p.pay(txid)
	still := p.appointment(id)
	require.Equal(t, "cancelled", still["status"])
	require.Equal(t, "unpaid", still["payment_status"])
	require.Equal(t, "expired", still["payments"].([]any)[0].(object)["status"])
	p.hub.FailPublishing.Store(false)
	p.later(2 * time.Minute)
	p.work("payments")
	require.Equal(t, "scheduled", p.appointment(id)["status"], "the notice was kept and is worked at again")
	require.Equal(t, "partial", p.appointment(id)["payment_status"])
}
