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
func mercadoPago(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string), modify ...func(*module.Host)) *schedulingtest.Bookable {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider, host.Settings.PaymentToken, host.Settings.PaymentSecret = "mercadopago", "token", "secret"
		host.HTTP = toServer{server}
		for _, change := range modify {
			change(host)
		}
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

func TestFailingProvider(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	org := mercadoPago(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	org.InvalidWith("payer_email_required", "body.client_id", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5})
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"email": "caio@example.com"})
	org.Refused(502, "provider_error", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5}, "Idempotency-Key", "k")
	require.Positive(t, asked.Load())
	org.Guest().Refused(502, "provider_error", "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	request := org.BookingBody(0)
	delete(request, "client_email")
	org.Guest().InvalidWith("payer_email_required", "body.client_email", "POST", org.PublicPath("/appointments"), request)
	require.EqualValues(t, 0, org.OK(200, "GET", "/payments", nil)["total"], "no row is kept")
	require.Empty(t, org.List("/appointments"), "nor the booking")
	require.Equal(t, []string{"Caio"}, org.ClientNames(), "nor the client")
	require.Empty(t, org.Hub.Events(org.ID))
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 6, "and the time is free")
	require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))
}

// bank is a stand-in of Mercado Pago that keeps one charge.
type bank struct {
	mu      sync.Mutex
	charge  object
	methods []string
	asked   func() // while the answer to an order is awaited
	// onCancel is called before a charge is cancelled, with the lock held.
	onCancel   func()
	failure    int    // status of every response; 0: none
	refund     string // status of every refund; "": the bank makes none
	retryAfter string // header of failing responses; "": none
}

// payments is a studio that collects through it.
func (b *bank) payments(t testing.TB, modify ...func(*module.Host)) *schedulingtest.Bookable {
	t.Helper()
	org := mercadoPago(t, func(w http.ResponseWriter, r *http.Request, body string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.methods = append(b.methods, r.Method)
		if b.failure != 0 {
			if b.retryAfter != "" {
				w.Header().Set("Retry-After", b.retryAfter)
			}
			w.WriteHeader(b.failure)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/88") { // a charge that the provider never answers for
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/99") { // a charge whose calls always meet an outage
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var order object
		_ = json.Unmarshal([]byte(body), &order)
		if strings.HasSuffix(r.URL.Path, "/refunds") && b.refund != "" {
			_ = json.NewEncoder(w).Encode(object{"amount": order["amount"], "status": b.refund})
			return
		}
		switch r.Method {
		case "POST":
			b.charge = object{
				"id": 77, "status": "pending", "transaction_amount": order["transaction_amount"], "transaction_amount_refunded": 0, "currency_id": "BRL",
				"payment_method_id": "pix", "external_reference": order["external_reference"], "date_of_expiration": order["date_of_expiration"],
				"point_of_interaction": object{"transaction_data": object{"qr_code": "000201"}},
			}
			if b.asked != nil {
				b.asked()
			}
		case "PUT":
			if b.onCancel != nil {
				b.onCancel()
			}
			if b.charge["status"] == "pending" {
				b.charge["status"] = "cancelled"
			}
		}
		_ = json.NewEncoder(w).Encode(b.charge)
	}, modify...)
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"email": "caio@example.com"})
	return org
}

// sendChange changes the charge and sends a webhook about it.
func (b *bank) sendChange(org *schedulingtest.Bookable, request string, change object) {
	org.T.Helper()
	b.mu.Lock()
	for name, value := range change {
		b.charge[name] = value
	}
	b.mu.Unlock()
	mac := hmac.New(sha256.New, []byte("secret"))
	fmt.Fprintf(mac, "id:77;request-id:%s;ts:1;", request)
	org.Guest().OK(200, "POST", "/payments/webhook/mercadopago?data.id=77&type=payment", `{"type":"payment","data":{"id":"77"}}`,
		"X-Request-Id", request, "X-Signature", "ts=1,v1="+hex.EncodeToString(mac.Sum(nil)))
	org.RunJob("payments")
}

// What the provider gave back, or the payer's bank took back, is not paid, also where
// the provider reports no amount.
func TestChargebacks(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"charged_back", "refunded"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			var b bank
			org := b.payments(t)
			org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
			id := org.Book(0)
			org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
			b.sendChange(org, "one", object{"status": "approved", "date_approved": "2026-02-27T12:00:00.000-00:00"})
			require.Equal(t, "paid", org.Appointment(id)["payment_status"])
			require.EqualValues(t, 80, org.LoyaltyAccount(org.ClientID)["balance"])
			for _, request := range []string{"two", "three"} { // however often it is notified
				b.sendChange(org, request, object{"status": status, "transaction_amount_refunded": 0})
				back := org.Appointment(id)
				require.Equal(t, "unpaid", back["payment_status"])
				require.Equal(t, "refunded", back["payments"].([]any)[0].(object)["status"])
				require.EqualValues(t, 80, back["payments"].([]any)[0].(object)["refunded_amount"])
				require.EqualValues(t, 0, org.TotalSpent())
				require.EqualValues(t, 0, org.LoyaltyAccount(org.ClientID)["balance"])
				require.EqualValues(t, 0, org.OK(200, "GET", "/reports/revenue?month=2026-02", nil)["total"])
			}
		})
	}
}

// What was cancelled or paid while the provider made the code is not to be paid by it.
func TestAppointmentChangesDuringChargeCreation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   string
		change func(org *schedulingtest.Bookable, id string)
	}{
		"cancelled": {"appointment_cancelled", func(org *schedulingtest.Bookable, id string) { org.Transition(200, "cancel", id, nil) }},
		"paid": {"already_paid", func(org *schedulingtest.Bookable, id string) {
			org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
		}},
		"partly paid": {"amount_changed", func(org *schedulingtest.Bookable, id string) {
			org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 30, "method": "cash"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bank
			org := b.payments(t)
			id := org.Book(0)
			b.asked = func() { tc.change(org, id) }
			org.Refused(409, tc.code, "POST", "/payments/pix", object{"appointment_id": id}, "Idempotency-Key", "k")
			require.Equal(t, []string{"POST", "PUT"}, b.methods, "and it is ended at the provider")
			require.Equal(t, "cancelled", b.charge["status"])
			require.Zero(t, org.Count("scheduling.charges where org_id = $1", org.ID))
		})
	}
}

// A code is for what is left: whoever pays at the desk does not pay by the code too.
func TestPaidAppointmentClosesItsCharges(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	full := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "other", "amount": 5})
	part := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 30})
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
	org.RunJob("payments")
	org.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	org.PayCharge(part["txid"])
	org.PayCharge(other["txid"])
	require.EqualValues(t, 85, org.TotalSpent(), "30 were left")
	require.Equal(t, false, org.Appointment(id)["needs_refund"])

	// A lower price.
	cheaper := org.Book(2 * time.Hour)
	full = org.OK(201, "POST", "/payments/pix", object{"appointment_id": cheaper})
	org.OK(200, "PUT", "/appointments/"+cheaper, object{"price": 80, "notes": "as before"})
	require.Equal(t, full["id"], org.OK(200, "POST", "/payments/pix", object{"appointment_id": cheaper})["id"])
	org.OK(200, "PUT", "/appointments/"+cheaper, object{"price": 60})
	org.RunJob("payments")
	org.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+full["txid"].(string)+"/pay", nil)
	require.EqualValues(t, 60, org.OK(201, "POST", "/payments/pix", object{"appointment_id": cheaper})["amount"])

	// Paid by both before the provider heard of it.
	second := org.Book(time.Hour)
	full = org.OK(201, "POST", "/payments/pix", object{"appointment_id": second})
	org.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, full["txid"], org.Hub.Clock.Now())
	org.OK(201, "POST", "/payments", object{"appointment_id": second, "amount": 80, "method": "cash"})
	org.RunJob("payments")
	require.Equal(t, true, org.Appointment(second)["needs_refund"])
	require.EqualValues(t, 85+160, org.TotalSpent())
	org.PayCharge(full["txid"]) // which announces it again
	org.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, full["txid"])
	org.Exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = $1`, full["provider_payment_id"])
	org.RunJob("payments")
	require.Equal(t, false, org.Appointment(second)["needs_refund"])
	require.Equal(t, "paid", org.Appointment(second)["payment_status"])
	require.EqualValues(t, 85+80, org.TotalSpent())
}

// A code that staff make for the deposit does not hold the slot any longer.
func TestStaffDepositChargeExpiresAtTheDeadline(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	org.AdvanceClock(10 * time.Minute)
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit", "amount": 10, "expires_in_minutes": 10080})
	require.Equal(t, "2026-02-27T09:30:00-03:00", created["expires_at"], "when the slot is let go")
	org.Exec(`update scheduling.charges set expires_at = expires_at + interval '7 days', due_at = due_at + interval '7 days' where payment_id = $1`, created["id"])
	org.AdvanceClock(20 * time.Minute)
	org.RunJob("payments")
	gone := org.Appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	for _, payment := range gone["payments"].([]any) {
		require.Equal(t, "expired", payment.(object)["status"])
	}
	org.RunJob("payments")
	org.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+created["txid"].(string)+"/pay", nil)
	require.True(t, strings.HasPrefix(org.OK(201, "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 1, "kind": "deposit", "expires_in_minutes": 10080})["expires_at"].(string), "2026-03-06"))
}

// Nor does a code for the whole price, which counts as one for the deposit.
func TestStaffPriceChargeExpiresAtTheDeadline(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, left := bookForGuest(org, 0), bookForGuest(org, time.Hour)
	charge := func(id, kind string, amount int) object {
		t.Helper()
		return org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": kind, "amount": amount, "expires_in_minutes": 60})
	}
	require.Equal(t, "2026-02-27T10:00:00-03:00", charge(id, "other", 80)["expires_at"])
	full := charge(id, "full", 80)
	require.Equal(t, "2026-02-27T09:30:00-03:00", full["expires_at"], "when the slot is let go")
	org.Transition(200, "confirm", left, nil)
	require.Equal(t, "2026-02-27T10:00:00-03:00", charge(left, "full", 80)["expires_at"], "its deposit is left to staff")
	paidAtSandbox(org, full["txid"]) // whose webhook is lost
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	got := org.Appointment(id)
	require.Equal(t, []any{"scheduled", "paid"}, []any{got["status"], got["deposit_status"]})
	require.Len(t, got["history"], 1, "it was never cancelled")
}
