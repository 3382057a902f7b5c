package payment_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

func requireQR(t testing.TB, encoded any) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoded.(string))
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
}

func TestPixCharge(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := org.Book(0)
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, "pending", created["status"])
	require.Equal(t, "pix", created["method"])
	require.Equal(t, "full", created["kind"])
	require.Equal(t, "sandbox", created["provider"])
	require.EqualValues(t, 80, created["amount"], "what the appointment costs")
	require.Equal(t, org.ClientID, created["client_id"])
	require.Equal(t, "2026-02-27T09:30:00-03:00", created["expires_at"], "half an hour")
	require.True(t, strings.HasPrefix(created["pix_copy_paste"].(string), "000201"))
	require.Contains(t, created["pix_copy_paste"], "540580.00")
	require.NotEmpty(t, created["provider_payment_id"])
	require.Contains(t, created, "qr_code_url")
	requireQR(t, created["qr_code_base64"])

	require.Equal(t, created, org.OK(200, "POST", "/payments/pix", object{"appointment_id": id}), "the open one instead of a second")
	require.Equal(t, created, org.OK(200, "POST", "/payments/pix", object{"appointment_id": id, "amount": 80, "client_id": org.ClientID}))
	other := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 20.5})
	require.NotEqual(t, created["id"], other["id"])
	listed := org.OK(200, "GET", "/payments", nil)
	require.InDelta(t, 100.5, listed["total_pending"], 0.001)
	require.Equal(t, "sandbox", listed["items"].([]any)[0].(object)["provider"])

	org.PayCharge(created["txid"])
	paid := org.Appointment(id)
	require.Equal(t, "paid", paid["payment_status"])
	require.EqualValues(t, 80, org.TotalSpent())
	require.EqualValues(t, 80, org.LoyaltyAccount(org.ClientID)["balance"])
	for _, payment := range paid["payments"].([]any) {
		if payment.(object)["id"] == created["id"] {
			require.Equal(t, "paid", payment.(object)["status"])
			require.Equal(t, "2026-02-27T09:00:00-03:00", payment.(object)["paid_at"])
		}
	}
	org.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id})
	org.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "amount": 5})
	org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 5, "kind": "other"})
	org.OK(201, "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5, "description": "Shampoo"})
	org.Invalid("body.client_id", "POST", "/payments/pix", object{"amount": 5})
	org.Invalid("body.amount", "POST", "/payments/pix", object{"client_id": org.ClientID})
	org.Invalid("body.amount", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	org.Invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5, "expires_in_minutes": 4})
	org.Invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5, "expires_in_minutes": 10081})
	org.Invalid("body.description", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5, "description": strings.Repeat("x", 141)})
	org.Transition(200, "cancel", org.Book(time.Hour), object{})
}

func TestChargeExpires(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	org.AdvanceClock(5 * time.Minute)
	next := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	require.NotEqual(t, created["id"], next["id"], "one whose time is over is not open any more")
	org.AdvanceClock(5 * time.Minute)
	org.RunJob("payments")
	require.EqualValues(t, 0, org.OK(200, "GET", "/payments?status=pending", nil)["total"])
	require.EqualValues(t, 2, org.OK(200, "GET", "/payments?status=expired", nil)["total"])
	org.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+next["txid"].(string)+"/pay", nil)
	require.Equal(t, "scheduled", org.Appointment(id)["status"], "it is no deposit")
	require.Zero(t, org.Count("scheduling.charges where org_id = $1 and due_at is not null", org.ID), "nothing more to ask the provider")
}

func TestPixIdempotencyKey(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	order := object{"client_id": org.ClientID, "amount": 12.34}
	created := org.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")
	require.Equal(t, created, org.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1"))
	org.Refused(409, "idempotency_key_reused", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 1}, "Idempotency-Key", "k1")
	require.NotEqual(t, created["id"], org.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k2")["id"])
	require.NotEqual(t, created["id"], org.OK(201, "POST", "/payments/pix", order)["id"])
	org.AdvanceClock(25 * time.Hour)
	require.NotEqual(t, created["id"], org.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")["id"], "for 24 hours")

	var ids sync.Map
	moduletest.SendTogether(50, func() answer {
		got := tryUntilServed(org, order, "Idempotency-Key", "k3")
		ids.Store(got.Body["id"], true)
		return got
	})
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n, "fifty at once make one charge")
}

// tryUntilServed asks for a charge, again where the organization's places were all taken for too
// long, as on a busy machine.
func tryUntilServed(org *schedulingtest.Bookable, charge object, headers ...string) answer {
	for {
		if got, err := org.Try("POST", "/payments/pix", charge, headers...); err != nil || got.Status != 429 {
			return got
		}
	}
}

func TestFiftyConcurrentChargesCreateOne(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	got := moduletest.SendTogether(50, func() answer {
		return tryUntilServed(org, object{"appointment_id": id})
	})
	require.Equal(t, 50, got[200]+got[201], got)
	require.Equal(t, 1, got[201])
	require.EqualValues(t, 1, org.OK(200, "GET", "/payments?status=pending", nil)["total"])
	require.Equal(t, 1, org.Count(`scheduling.sandbox_charges where status = 'pending' and order_id in (select id from scheduling.payments where org_id = $1)`, org.ID))
	require.Zero(t, org.Count(`scheduling.sandbox_charges c where c.status = 'pending' and c.code like '%Studio%' and not exists (select from scheduling.payments p where p.id = c.order_id)
		and c.notify_url = $1`, org.Hub.Base+"/api/v1/payments/webhook/sandbox"), "those made for nothing are ended")
}

func TestWithoutAProvider(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_PAYMENT_PROVIDER=none")
	org.Refused(409, "provider_not_configured", "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	org.Guest().Refused(409, "provider_not_configured", "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.Guest().Refused(404, "not_found", "POST", "/payments/webhook/sandbox", object{})
	org.Guest().Refused(404, "not_found", "POST", "/dev/payments/x/pay", nil)
	require.Equal(t, []string{"Caio"}, org.ClientNames(), "nothing stays")
}

func TestSandboxPaymentExistsInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider, host.Settings.Development = "sandbox", false
	})
	created := org.OK(201, "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5})
	require.Equal(t, 404, org.Guest().Call("POST", "/dev/payments/"+created["txid"].(string)+"/pay", nil).Status)
}

// notice is the sandbox's webhook about a charge, signed.
func notice(org *schedulingtest.Bookable, secret, id, charge string) answer {
	org.T.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"charge.paid","charge":%q}`, id, charge)
	got, err := org.Guest().Try("POST", "/payments/webhook/sandbox", body, hub.HeaderSignature, hub.SignBody(secret, []byte(body)))
	require.NoError(org.T, err)
	return got
}

func TestPaymentWebhook(t *testing.T) {
	t.Parallel()
	var secret string
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider = "sandbox"
		secret = base64.RawStdEncoding.EncodeToString(host.Sealer.Derive("sandbox payments"))
	})
	guest := org.Guest()
	id := org.Book(0)
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	charge := created["provider_payment_id"].(string)

	guest.Refused(401, "invalid_signature", "POST", "/payments/webhook/sandbox", object{"id": "x", "charge": charge})
	require.Equal(t, 401, notice(org, "guessed", "x", charge).Status)
	guest.Refused(404, "not_found", "POST", "/payments/webhook/mercadopago", object{})
	guest.Refused(404, "not_found", "POST", "/payments/webhook/nobody", object{})
	large := `{"x":"` + strings.Repeat("x", 256<<10) + `"}`
	require.Equal(t, 413, guest.Call("POST", "/payments/webhook/sandbox", large, hub.HeaderSignature, hub.SignBody(secret, []byte(large))).Status)

	require.Equal(t, `{"received":true}`, strings.TrimSpace(notice(org, secret, "n1", charge).Text))
	org.RunJob("payments")
	require.Equal(t, "unpaid", org.Appointment(id)["payment_status"], "what a notice says is not believed: the charge is read back")

	org.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where id = $1`, charge, org.Hub.Clock.Now())
	require.Equal(t, 200, notice(org, secret, "n1", charge).Status, "a duplicate")
	org.RunJob("payments")
	require.Equal(t, "unpaid", org.Appointment(id)["payment_status"], "a duplicate is not worked at again")
	unknown := "unknown-" + uuid.NewString()
	require.Equal(t, 200, notice(org, secret, unknown, "sbx_nobody").Status)
	unreadable := `{"id":7}`
	require.Equal(t, 200, guest.Call("POST", "/payments/webhook/sandbox", unreadable, hub.HeaderSignature, hub.SignBody(secret, []byte(unreadable))).Status)
	got := moduletest.SendTogether(50, func() answer { return notice(org, secret, "n2"+charge, charge) })
	require.Equal(t, map[int]int{200: 50}, got)
	require.Equal(t, 1, org.Count("scheduling.provider_events where event_id = $1", "n2"+charge), "stored once")
	var done sync.WaitGroup
	for range 10 { // and settled once, by however many
		done.Go(func() { org.RunJob("payments") })
	}
	done.Wait()
	require.Equal(t, "paid", org.Appointment(id)["payment_status"])
	require.EqualValues(t, 80, org.TotalSpent())
	for range 10 {
		org.Hub.Clock.Advance(time.Hour)
		org.RunJob("payments")
	}
	require.Zero(t, org.Count("scheduling.provider_events where processed_at is null and event_id = $1", unknown), "unknown charges are given up")
}

// A charge that is not what was ordered does not count.
func TestMismatchedChargeAmountIsRefused(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	org.Exec(`update scheduling.sandbox_charges set amount_cents = 7999 where id = $1`, created["provider_payment_id"])
	org.PayCharge(created["txid"])
	require.Equal(t, "unpaid", org.Appointment(id)["payment_status"])
	require.EqualValues(t, 0, org.TotalSpent())
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "unpaid", org.Appointment(id)["payment_status"])
	require.EqualValues(t, 1, org.OK(200, "GET", "/payments?status=expired", nil)["total"])
}

// What is still to be paid is the new client's.
func TestPendingChargesFollowTheClient(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := org.Book(0)
	charge := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := org.OK(201, "POST", "/clients", object{"name": "Other"})["id"].(string)
	org.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	again := org.OK(200, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, []any{charge["id"], other}, []any{again["id"], again["client_id"]})
	org.PayCharge(charge["txid"])
	require.EqualValues(t, 0, org.TotalSpent())
	require.EqualValues(t, 80, org.OK(200, "GET", "/clients/"+other, nil)["total_spent"])
	require.EqualValues(t, 0, org.LoyaltyAccount(org.ClientID)["balance"])
	require.EqualValues(t, 80, org.LoyaltyAccount(other)["balance"])
}
