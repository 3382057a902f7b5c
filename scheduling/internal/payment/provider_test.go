package payment_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// mercadoPago is a stand-in of the provider's API: what the test answers.
func mercadoPago(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) *schedulingtest.Bookable {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider, host.Settings.PaymentToken, host.Settings.PaymentSecret = "mercadopago", "token", "secret"
		host.HTTP = toServer{server}
	})
}

// toServer sends every request to a server of the test.
type toServer struct{ server *httptest.Server }

// Do implements hub.Doer.
func (s toServer) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", s.server.Listener.Addr().String()
	return s.server.Client().Do(r)
}

func TestAProviderThatFails(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	p := mercadoPago(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	p.InvalidWith("payer_email_required", "body.client_id", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5})
	p.OK(200, "PUT", "/clients/"+p.ClientID, object{"email": "caio@example.com"})
	p.Refused(502, "provider_error", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5}, "Idempotency-Key", "k")
	require.Positive(t, asked.Load())
	p.Guest().Refused(502, "provider_error", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	wish := p.BookingBody(0)
	delete(wish, "client_email")
	p.Guest().InvalidWith("payer_email_required", "body.client_email", "POST", p.PublicPath("/appointments"), wish)
	require.EqualValues(t, 0, p.OK(200, "GET", "/payments", nil)["total"], "no row is kept")
	require.Empty(t, p.List("/appointments"), "nor the booking")
	require.Equal(t, []string{"Caio"}, p.ClientNames(), "nor the client")
	require.Empty(t, p.Hub.Events(p.ID))
	require.Len(t, schedulingtest.SlotTimesOf(p.Availability("&date=2026-03-02")), 6, "and the time is free")
	require.Zero(t, p.Count("scheduling.holds where org_id = $1", p.ID))
}

// bank is a stand-in of Mercado Pago that keeps one charge.
type bank struct {
	mu      sync.Mutex
	charge  object
	methods []string
	asked   func() // while the answer to an order is awaited
}

// payments is a studio that collects through it.
func (b *bank) payments(t testing.TB) *schedulingtest.Bookable {
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
	p.OK(200, "PUT", "/clients/"+p.ClientID, object{"email": "caio@example.com"})
	return p
}

// tells changes the charge and sends a webhook about it.
func (b *bank) tells(p *schedulingtest.Bookable, request string, change object) {
	p.T.Helper()
	b.mu.Lock()
	for name, value := range change {
		b.charge[name] = value
	}
	b.mu.Unlock()
	mac := hmac.New(sha256.New, []byte("secret"))
	fmt.Fprintf(mac, "id:77;request-id:%s;ts:1;", request)
	p.Guest().OK(200, "POST", "/payments/webhook/mercadopago?data.id=77&type=payment", `{"type":"payment","data":{"id":"77"}}`,
		"X-Request-Id", request, "X-Signature", "ts=1,v1="+hex.EncodeToString(mac.Sum(nil)))
	p.RunJob("payments")
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
			p.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
			id := p.Book(0)
			p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
			b.tells(p, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
			require.Equal(t, "paid", p.Appointment(id)["payment_status"])
			require.EqualValues(t, 80, p.LoyaltyAccount(p.ClientID)["balance"])
			for _, request := range []string{"two", "three"} { // however often it is told
				b.tells(p, request, object{"status": status, "transaction_amount_refunded": 0})
				back := p.Appointment(id)
				require.Equal(t, "unpaid", back["payment_status"])
				require.Equal(t, "refunded", back["payments"].([]any)[0].(object)["status"])
				require.EqualValues(t, 80, back["payments"].([]any)[0].(object)["refunded_amount"])
				require.EqualValues(t, 0, p.TotalSpent())
				require.EqualValues(t, 0, p.LoyaltyAccount(p.ClientID)["balance"])
				require.EqualValues(t, 0, p.OK(200, "GET", "/reports/revenue?month=2026-02", nil)["total"])
			}
		})
	}
}

// What was cancelled or paid while the provider made the code is not to be paid by it.
func TestAppointmentsThatChangeWhileTheirChargeIsMade(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		code   string
		change func(p *schedulingtest.Bookable, id string)
	}{
		"cancelled": {"appointment_cancelled", func(p *schedulingtest.Bookable, id string) { p.Transition(200, "cancel", id, nil) }},
		"paid": {"already_paid", func(p *schedulingtest.Bookable, id string) {
			p.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
		}},
		"partly paid": {"amount_changed", func(p *schedulingtest.Bookable, id string) {
			p.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 30, "method": "cash"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bank
			p := b.payments(t)
			id := p.Book(0)
			b.asked = func() { one.change(p, id) }
			p.Refused(409, one.code, "POST", "/payments/pix", object{"appointment_id": id}, "Idempotency-Key", "k")
			require.Equal(t, []string{"POST", "PUT"}, b.methods, "and it is ended at the provider")
			require.Equal(t, "cancelled", b.charge["status"])
			require.Zero(t, p.Count("scheduling.charges where org_id = $1", p.ID))
		})
	}
}

// A code is for what is left: whoever pays at the desk does not pay by the code too.
func TestACodeForWhatIsPaidEnds(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	id := p.Book(0)
	full := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "other", "amount": 5})
	part := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 30})
	p.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
	p.RunJob("payments")
	p.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	p.PayCharge(part["txid"])
	p.PayCharge(other["txid"])
	require.EqualValues(t, 85, p.TotalSpent(), "30 were left")
	require.Equal(t, false, p.Appointment(id)["needs_refund"])

	// A lower price.
	cheaper := p.Book(2 * time.Hour)
	full = p.OK(201, "POST", "/payments/pix", object{"appointment_id": cheaper})
	p.OK(200, "PUT", "/appointments/"+cheaper, object{"price": 80, "notes": "as before"})
	require.Equal(t, full["id"], p.OK(200, "POST", "/payments/pix", object{"appointment_id": cheaper})["id"])
	p.OK(200, "PUT", "/appointments/"+cheaper, object{"price": 60})
	p.RunJob("payments")
	p.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	require.EqualValues(t, 60, p.OK(201, "POST", "/payments/pix", object{"appointment_id": cheaper})["amount"])

	// Paid by both before the provider heard of it.
	second := p.Book(time.Hour)
	full = p.OK(201, "POST", "/payments/pix", object{"appointment_id": second})
	p.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, full["txid"], p.Hub.Clock.Now())
	p.OK(201, "POST", "/payments", object{"appointment_id": second, "amount": 80, "method": "cash"})
	p.RunJob("payments")
	require.Equal(t, true, p.Appointment(second)["needs_refund"])
	require.EqualValues(t, 85+160, p.TotalSpent())
	p.PayCharge(full["txid"]) // which tells of it once more
	p.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, full["txid"])
	p.Exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = $1`, full["provider_payment_id"])
	p.RunJob("payments")
	require.Equal(t, false, p.Appointment(second)["needs_refund"])
	require.Equal(t, "paid", p.Appointment(second)["payment_status"])
	require.EqualValues(t, 85+80, p.TotalSpent())
}

// A code that staff make for the deposit does not hold the slot any longer.
func TestADepositAskedForAtTheDeskHoldsNoLonger(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	p.AdvanceClock(10 * time.Minute)
	made := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit", "amount": 10, "expires_in_minutes": 10080})
	require.Equal(t, "2026-02-27T09:30:00-03:00", made["expires_at"], "when the slot is let go")
	p.Exec(`update scheduling.charges set expires_at = expires_at + interval '7 days', due_at = due_at + interval '7 days' where payment_id = $1`, made["id"])
	p.AdvanceClock(20 * time.Minute)
	p.RunJob("payments")
	gone := p.Appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	for _, one := range gone["payments"].([]any) {
		require.Equal(t, "expired", one.(object)["status"])
	}
	p.RunJob("payments")
	p.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+made["txid"].(string)+"/pay", nil)
	require.True(t, strings.HasPrefix(p.OK(201, "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 1, "kind": "deposit", "expires_in_minutes": 10080})["expires_at"].(string), "2026-03-06"))
}
