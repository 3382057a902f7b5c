package scheduling_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bank is a stand-in of Mercado Pago that keeps one charge.
type bank struct {
	mu      sync.Mutex
	charge  object
	methods []string
	asked   func() // while the answer to an order is awaited
}

// payments is a studio that collects through it.
func (b *bank) payments(t testing.TB) *plan {
	t.Helper()
	p := mercadoPago(t, func(w http.ResponseWriter, r *http.Request, body string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.methods = append(b.methods, r.Method)
		switch r.Method {
		case "POST":
			var order object
			_ = json.Unmarshal([]byte(body), &order)
			b.charge = object{
				"id": 77, "status": "pending", "transaction_amount": order["transaction_amount"], "transaction_amount_refunded": 0, "currency_id": "BRL",
				"payment_method_id": "pix", "external_reference": order["external_reference"], "date_of_expiration": order["date_of_expiration"],
				"point_of_interaction": object{"transaction_data": object{"qr_code": "000201"}},
			}
			if b.asked != nil {
				b.asked()
			}
		case "PUT":
			b.charge["status"] = "cancelled"
		}
		_ = json.NewEncoder(w).Encode(b.charge)
	})
	p.ok(200, "PUT", "/clients/"+p.client, object{"email": "caio@example.com"})
	return p
}

// tells changes the charge and sends a webhook about it.
func (b *bank) tells(p *plan, request string, change object) {
	p.t.Helper()
	b.mu.Lock()
	for name, value := range change {
		b.charge[name] = value
	}
	b.mu.Unlock()
	mac := hmac.New(sha256.New, []byte("secret"))
	fmt.Fprintf(mac, "id:77;request-id:%s;ts:1;", request)
	p.guest().ok(200, "POST", "/payments/webhook/mercadopago?data.id=77&type=payment", `{"type":"payment","data":{"id":"77"}}`,
		"X-Request-Id", request, "X-Signature", "ts=1,v1="+hex.EncodeToString(mac.Sum(nil)))
	p.work("payments")
}

// What the provider gave back, or the payer's bank took back, is not paid, also where
// the provider tells no amount.
func TestChargesThatAreTakenBack(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"charged_back", "refunded"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			var b bank
			p := b.payments(t)
			p.ok(200, "PUT", "/loyalty/config", object{"enabled": true})
			id := p.book(0)
			p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
			b.tells(p, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
			require.Equal(t, "paid", p.appointment(id)["payment_status"])
			require.EqualValues(t, 80, p.points(p.client)["balance"])
			for _, request := range []string{"two", "three"} { // however often it is told
				b.tells(p, request, object{"status": status, "transaction_amount_refunded": 0})
				back := p.appointment(id)
				require.Equal(t, "unpaid", back["payment_status"])
				require.Equal(t, "refunded", back["payments"].([]any)[0].(object)["status"])
				require.EqualValues(t, 80, back["payments"].([]any)[0].(object)["refunded_amount"])
				require.EqualValues(t, 0, p.spent())
				require.EqualValues(t, 0, p.points(p.client)["balance"])
				require.EqualValues(t, 0, p.ok(200, "GET", "/reports/revenue?month=2026-02", nil)["total"])
			}
		})
	}
}

// What was cancelled or paid while the provider made the code is not to be paid by it.
func TestAppointmentsThatChangeWhileTheirChargeIsMade(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		code   string
		change func(p *plan, id string)
	}{
		"cancelled": {"appointment_cancelled", func(p *plan, id string) { p.do(200, "cancel", id, nil) }},
		"paid": {"already_paid", func(p *plan, id string) {
			p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
		}},
		"partly paid": {"amount_changed", func(p *plan, id string) {
			p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 30, "method": "cash"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bank
			p := b.payments(t)
			id := p.book(0)
			b.asked = func() { one.change(p, id) }
			p.refused(409, one.code, "POST", "/payments/pix", object{"appointment_id": id}, "Idempotency-Key", "k")
			require.Equal(t, []string{"POST", "PUT"}, b.methods, "and it is ended at the provider")
			require.Equal(t, "cancelled", b.charge["status"])
			require.Zero(t, p.count("scheduling.charges where org_id = $1", p.org))
		})
	}
}

// A code is for what is left: whoever pays at the desk does not pay by the code too.
func TestACodeForWhatIsPaidEnds(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	id := p.book(0)
	full := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "other", "amount": 5})
	part := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 30})
	p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
	p.work("payments")
	p.guest().refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	p.pay(part["txid"])
	p.pay(other["txid"])
	require.EqualValues(t, 85, p.spent(), "30 were left")
	require.Equal(t, false, p.appointment(id)["needs_refund"])

	// A lower price.
	cheaper := p.book(2 * time.Hour)
	full = p.ok(201, "POST", "/payments/pix", object{"appointment_id": cheaper})
	p.ok(200, "PUT", "/appointments/"+cheaper, object{"price": 80, "notes": "as before"})
	require.Equal(t, full["id"], p.ok(200, "POST", "/payments/pix", object{"appointment_id": cheaper})["id"])
	p.ok(200, "PUT", "/appointments/"+cheaper, object{"price": 60})
	p.work("payments")
	p.guest().refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	require.EqualValues(t, 60, p.ok(201, "POST", "/payments/pix", object{"appointment_id": cheaper})["amount"])

	// Paid by both before the provider heard of it.
	second := p.book(time.Hour)
	full = p.ok(201, "POST", "/payments/pix", object{"appointment_id": second})
	p.exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, full["txid"], p.hub.Clock.Now())
	p.ok(201, "POST", "/payments", object{"appointment_id": second, "amount": 80, "method": "cash"})
	p.work("payments")
	require.Equal(t, true, p.appointment(second)["needs_refund"])
	require.EqualValues(t, 85+160, p.spent())
	p.pay(full["txid"]) // which tells of it once more
	p.exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, full["txid"])
	p.exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = $1`, full["provider_payment_id"])
	p.work("payments")
	require.Equal(t, false, p.appointment(second)["needs_refund"])
	require.Equal(t, "paid", p.appointment(second)["payment_status"])
	require.EqualValues(t, 85+80, p.spent())
}

// A code that staff make for the deposit does not hold the slot any longer.
func TestADepositAskedForAtTheDeskHoldsNoLonger(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	id := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	p.later(10 * time.Minute)
	made := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit", "amount": 10, "expires_in_minutes": 10080})
	require.Equal(t, "2026-02-27T09:30:00-03:00", made["expires_at"], "when the slot is let go")
	p.exec(`update scheduling.charges set expires_at = expires_at + interval '7 days', due_at = due_at + interval '7 days' where payment_id = $1`, made["id"])
	p.later(20 * time.Minute)
	p.work("payments")
	gone := p.appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	for _, one := range gone["payments"].([]any) {
		require.Equal(t, "expired", one.(object)["status"])
	}
	p.work("payments")
	p.guest().refused(409, "charge_state", "POST", "/dev/payments/"+made["txid"].(string)+"/pay", nil)
	require.True(t, strings.HasPrefix(p.ok(201, "POST", "/payments/pix", object{"client_id": p.client, "amount": 1, "kind": "deposit", "expires_in_minutes": 10080})["expires_at"].(string), "2026-03-06"))
}
