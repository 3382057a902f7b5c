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
	p := schedulingtest.NewPaidBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := p.Book(0)
	made := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, "pending", made["status"])
	require.Equal(t, "pix", made["method"])
	require.Equal(t, "full", made["kind"])
	require.Equal(t, "sandbox", made["provider"])
	require.EqualValues(t, 80, made["amount"], "what the appointment costs")
	require.Equal(t, p.ClientID, made["client_id"])
	require.Equal(t, "2026-02-27T09:30:00-03:00", made["expires_at"], "half an hour")
	require.True(t, strings.HasPrefix(made["pix_copy_paste"].(string), "000201"))
	require.Contains(t, made["pix_copy_paste"], "540580.00")
	require.NotEmpty(t, made["provider_payment_id"])
	require.Contains(t, made, "qr_code_url")
	requireQR(t, made["qr_code_base64"])

	require.Equal(t, made, p.OK(200, "POST", "/payments/pix", object{"appointment_id": id}), "the open one instead of a second")
	require.Equal(t, made, p.OK(200, "POST", "/payments/pix", object{"appointment_id": id, "amount": 80, "client_id": p.ClientID}))
	other := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 20.5})
	require.NotEqual(t, made["id"], other["id"])
	listed := p.OK(200, "GET", "/payments", nil)
	require.InDelta(t, 100.5, listed["total_pending"], 0.001)
	require.Equal(t, "sandbox", listed["items"].([]any)[0].(object)["provider"])

	p.PayCharge(made["txid"])
	paid := p.Appointment(id)
	require.Equal(t, "paid", paid["payment_status"])
	require.EqualValues(t, 80, p.TotalSpent())
	require.EqualValues(t, 80, p.LoyaltyAccount(p.ClientID)["balance"])
	for _, one := range paid["payments"].([]any) {
		if one.(object)["id"] == made["id"] {
			require.Equal(t, "paid", one.(object)["status"])
			require.Equal(t, "2026-02-27T09:00:00-03:00", one.(object)["paid_at"])
		}
	}
	p.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id})
	p.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "amount": 5})
	p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 5, "kind": "other"})
	p.OK(201, "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5, "description": "Shampoo"})
	p.Invalid("body.client_id", "POST", "/payments/pix", object{"amount": 5})
	p.Invalid("body.amount", "POST", "/payments/pix", object{"client_id": p.ClientID})
	p.Invalid("body.amount", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	p.Invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5, "expires_in_minutes": 4})
	p.Invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5, "expires_in_minutes": 10081})
	p.Invalid("body.description", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5, "description": strings.Repeat("x", 141)})
	p.Transition(200, "cancel", p.Book(time.Hour), object{})
}

func TestAChargeRunsOut(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	id := p.Book(0)
	made := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	p.AdvanceClock(5 * time.Minute)
	next := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	require.NotEqual(t, made["id"], next["id"], "one whose time is over is not open any more")
	p.AdvanceClock(5 * time.Minute)
	p.RunJob("payments")
	require.EqualValues(t, 0, p.OK(200, "GET", "/payments?status=pending", nil)["total"])
	require.EqualValues(t, 2, p.OK(200, "GET", "/payments?status=expired", nil)["total"])
	p.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+next["txid"].(string)+"/pay", nil)
	require.Equal(t, "scheduled", p.Appointment(id)["status"], "it is no deposit")
	require.Zero(t, p.Count("scheduling.charges where org_id = $1 and due_at is not null", p.ID), "nothing more to ask the provider")
}

func TestPixIdempotencyKey(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	order := object{"client_id": p.ClientID, "amount": 12.34}
	made := p.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")
	require.Equal(t, made, p.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1"))
	p.Refused(409, "idempotency_key_reused", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 1}, "Idempotency-Key", "k1")
	require.NotEqual(t, made["id"], p.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k2")["id"])
	require.NotEqual(t, made["id"], p.OK(201, "POST", "/payments/pix", order)["id"])
	p.AdvanceClock(25 * time.Hour)
	require.NotEqual(t, made["id"], p.OK(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")["id"], "for 24 hours")

	var ids sync.Map
	moduletest.SendTogether(50, func() answer {
		got, _ := p.Try("POST", "/payments/pix", order, "Idempotency-Key", "k3")
		ids.Store(got.Body["id"], true)
		return got
	})
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n, "fifty at once make one charge")
}

func TestFiftyChargesAtOnceAreOne(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	id := p.Book(0)
	got := moduletest.SendTogether(50, func() answer {
		one, _ := p.Try("POST", "/payments/pix", object{"appointment_id": id})
		return one
	})
	require.Equal(t, 50, got[200]+got[201], got)
	require.Equal(t, 1, got[201])
	require.EqualValues(t, 1, p.OK(200, "GET", "/payments?status=pending", nil)["total"])
	require.Equal(t, 1, p.Count(`scheduling.sandbox_charges where status = 'pending' and order_id in (select id from scheduling.payments where org_id = $1)`, p.ID))
	require.Zero(t, p.Count(`scheduling.sandbox_charges c where c.status = 'pending' and c.code like '%Studio%' and not exists (select from scheduling.payments p where p.id = c.order_id)
		and c.notify_url = $1`, p.Hub.Base+"/api/v1/payments/webhook/sandbox"), "those made for nothing are ended")
}

func TestWithoutAProvider(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t, "HUB_PAYMENT_PROVIDER=none")
	p.Refused(409, "provider_not_configured", "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5})
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	p.Guest().Refused(409, "provider_not_configured", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.Guest().Refused(404, "not_found", "POST", "/payments/webhook/sandbox", object{})
	p.Guest().Refused(404, "not_found", "POST", "/dev/payments/x/pay", nil)
	require.Equal(t, []string{"Caio"}, p.ClientNames(), "nothing stays")
}

func TestTheDevelopersCallIsForDevelopersOnly(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider, host.Settings.Development = "sandbox", false
	})
	made := p.OK(201, "POST", "/payments/pix", object{"client_id": p.ClientID, "amount": 5})
	require.Equal(t, 404, p.Guest().Call("POST", "/dev/payments/"+made["txid"].(string)+"/pay", nil).Status)
}

// notice is the sandbox's webhook about a charge, signed.
func notice(p *schedulingtest.Bookable, secret, id, charge string) answer {
	p.T.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"charge.paid","charge":%q}`, id, charge)
	got, err := p.Guest().Try("POST", "/payments/webhook/sandbox", body, hub.HeaderSignature, hub.SignBody(secret, []byte(body)))
	require.NoError(p.T, err)
	return got
}

func TestPaymentWebhook(t *testing.T) {
	t.Parallel()
	var secret string
	p := schedulingtest.NewBookableOn(t, func(host *module.Host) {
		host.Settings.PaymentProvider = "sandbox"
		secret = base64.RawStdEncoding.EncodeToString(host.Sealer.Derive("sandbox payments"))
	})
	g := p.Guest()
	id := p.Book(0)
	made := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	charge := made["provider_payment_id"].(string)

	g.Refused(401, "invalid_signature", "POST", "/payments/webhook/sandbox", object{"id": "x", "charge": charge})
	require.Equal(t, 401, notice(p, "guessed", "x", charge).Status)
	g.Refused(404, "not_found", "POST", "/payments/webhook/mercadopago", object{})
	g.Refused(404, "not_found", "POST", "/payments/webhook/nobody", object{})
	large := `{"x":"` + strings.Repeat("x", 256<<10) + `"}`
	require.Equal(t, 413, g.Call("POST", "/payments/webhook/sandbox", large, hub.HeaderSignature, hub.SignBody(secret, []byte(large))).Status)

	require.Equal(t, `{"received":true}`, strings.TrimSpace(notice(p, secret, "n1", charge).Text))
	p.RunJob("payments")
	require.Equal(t, "unpaid", p.Appointment(id)["payment_status"], "what a notice says is not believed: the charge is read back")

	p.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where id = $1`, charge, p.Hub.Clock.Now())
	require.Equal(t, 200, notice(p, secret, "n1", charge).Status, "a duplicate")
	p.RunJob("payments")
	require.Equal(t, "unpaid", p.Appointment(id)["payment_status"], "a duplicate is not worked at again")
	unknown := "unknown-" + uuid.NewString()
	require.Equal(t, 200, notice(p, secret, unknown, "sbx_nobody").Status)
	unreadable := `{"id":7}`
	require.Equal(t, 200, g.Call("POST", "/payments/webhook/sandbox", unreadable, hub.HeaderSignature, hub.SignBody(secret, []byte(unreadable))).Status)
	got := moduletest.SendTogether(50, func() answer { return notice(p, secret, "n2"+charge, charge) })
	require.Equal(t, map[int]int{200: 50}, got)
	require.Equal(t, 1, p.Count("scheduling.provider_events where event_id = $1", "n2"+charge), "stored once")
	var done sync.WaitGroup
	for range 10 { // and settled once, by however many
		done.Go(func() { p.RunJob("payments") })
	}
	done.Wait()
	require.Equal(t, "paid", p.Appointment(id)["payment_status"])
	require.EqualValues(t, 80, p.TotalSpent())
	for range 10 {
		p.Hub.Clock.Advance(time.Hour)
		p.RunJob("payments")
	}
	require.Zero(t, p.Count("scheduling.provider_events where processed_at is null and event_id = $1", unknown), "unknown charges are given up")
}

// A charge that is not what was ordered does not count.
func TestTheAmountOfAChargeIsChecked(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	id := p.Book(0)
	made := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	p.Exec(`update scheduling.sandbox_charges set amount_cents = 7999 where id = $1`, made["provider_payment_id"])
	p.PayCharge(made["txid"])
	require.Equal(t, "unpaid", p.Appointment(id)["payment_status"])
	require.EqualValues(t, 0, p.TotalSpent())
	p.AdvanceClock(31 * time.Minute)
	p.RunJob("payments")
	require.Equal(t, "unpaid", p.Appointment(id)["payment_status"])
	require.EqualValues(t, 1, p.OK(200, "GET", "/payments?status=expired", nil)["total"])
}

// What is still to be paid is the new client's.
func TestOpenChargesGoWithTheClient(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := p.Book(0)
	charge := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"].(string)
	p.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	again := p.OK(200, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, []any{charge["id"], other}, []any{again["id"], again["client_id"]})
	p.PayCharge(charge["txid"])
	require.EqualValues(t, 0, p.TotalSpent())
	require.EqualValues(t, 80, p.OK(200, "GET", "/clients/"+other, nil)["total_spent"])
	require.EqualValues(t, 0, p.LoyaltyAccount(p.ClientID)["balance"])
	require.EqualValues(t, 80, p.LoyaltyAccount(other)["balance"])
}
