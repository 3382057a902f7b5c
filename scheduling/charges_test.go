package scheduling_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// lent is the service with a host that the test changed.
type lent struct {
	module.Module
	change func(*module.Host)
}

// Open implements module.Module.
func (l lent) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	l.change(&host)
	return l.Module.Open(ctx, host)
}

// lending opens a studio whose host the test changed.
func lending(t testing.TB, change func(*module.Host)) *plan {
	t.Helper()
	return another(t, moduletest.Start(t, lent{scheduling.New(), change}, moduletest.Options{Start: monday.Add(-72 * time.Hour)})).open()
}

// collecting is a studio whose charges the sandbox collects.
func collecting(t testing.TB) *plan {
	t.Helper()
	return opened(t, "HUB_PAYMENT_PROVIDER=sandbox")
}

// jobs are what the service does in the background.
func (s *studio) jobs() []module.Job { return s.hub.Instance.(module.Worker).Jobs() }

// work does what is due of a job, beside the hub's own runner, and waits for that one
// where it is at it.
func (s *studio) work(job string) {
	s.t.Helper()
	for _, one := range s.jobs() {
		if one.Name == job {
			require.NoError(s.t, one.Run(s.t.Context(), nil))
			require.Eventually(s.t, func() bool {
				return s.count("hub.jobs where product = 'scheduling' and job = $1 and leased_to is not null", job) == 0
			}, 30*time.Second, 10*time.Millisecond)
			return
		}
	}
	require.Fail(s.t, "there is no job "+job)
}

// pay pays a charge as a person with a phone would, and waits for what follows.
func (p *plan) pay(txid any) {
	p.t.Helper()
	p.guest().ok(200, "POST", "/dev/payments/"+txid.(string)+"/pay", nil)
	p.work("payments")
}

func (p *plan) appointment(id string) object {
	p.t.Helper()
	return p.ok(200, "GET", "/appointments/"+id, nil)
}

func (p *plan) spent() any {
	p.t.Helper()
	return p.ok(200, "GET", "/clients/"+p.client, nil)["total_spent"]
}

func (p *plan) points(client string) object {
	p.t.Helper()
	return p.ok(200, "GET", "/loyalty/clients/"+client, nil)
}

// exec changes the database behind the service's back.
func (s *studio) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := s.hub.Host.Pool.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
}

// count counts rows.
func (s *studio) count(sql string, args ...any) (n int) {
	s.t.Helper()
	require.NoError(s.t, s.hub.Host.Pool.QueryRow(s.t.Context(), "select count(*) from "+sql, args...).Scan(&n))
	return n
}

func requireQR(t testing.TB, encoded any) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoded.(string))
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
}

func TestPixCharge(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := p.book(0)
	made := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, "pending", made["status"])
	require.Equal(t, "pix", made["method"])
	require.Equal(t, "full", made["kind"])
	require.Equal(t, "sandbox", made["provider"])
	require.EqualValues(t, 80, made["amount"], "what the appointment costs")
	require.Equal(t, p.client, made["client_id"])
	require.Equal(t, "2026-02-27T09:30:00-03:00", made["expires_at"], "half an hour")
	require.True(t, strings.HasPrefix(made["pix_copy_paste"].(string), "000201"))
	require.Contains(t, made["pix_copy_paste"], "540580.00")
	require.NotEmpty(t, made["provider_payment_id"])
	require.Contains(t, made, "qr_code_url")
	requireQR(t, made["qr_code_base64"])

	require.Equal(t, made, p.ok(200, "POST", "/payments/pix", object{"appointment_id": id}), "the open one instead of a second")
	require.Equal(t, made, p.ok(200, "POST", "/payments/pix", object{"appointment_id": id, "amount": 80, "client_id": p.client}))
	other := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 20.5})
	require.NotEqual(t, made["id"], other["id"])
	listed := p.ok(200, "GET", "/payments", nil)
	require.InDelta(t, 100.5, listed["total_pending"], 0.001)
	require.Equal(t, "sandbox", listed["items"].([]any)[0].(object)["provider"])

	p.pay(made["txid"])
	paid := p.appointment(id)
	require.Equal(t, "paid", paid["payment_status"])
	require.EqualValues(t, 80, p.spent())
	require.EqualValues(t, 80, p.points(p.client)["balance"])
	for _, one := range paid["payments"].([]any) {
		if one.(object)["id"] == made["id"] {
			require.Equal(t, "paid", one.(object)["status"])
			require.Equal(t, "2026-02-27T09:00:00-03:00", one.(object)["paid_at"])
		}
	}
	p.refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id})
	p.refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "amount": 5})
	p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 5, "kind": "other"})
	p.ok(201, "POST", "/payments/pix", object{"client_id": p.client, "amount": 5, "description": "Shampoo"})
	p.invalid("body.client_id", "POST", "/payments/pix", object{"amount": 5})
	p.invalid("body.amount", "POST", "/payments/pix", object{"client_id": p.client})
	p.invalid("body.amount", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	p.invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5, "expires_in_minutes": 4})
	p.invalid("body.expires_in_minutes", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5, "expires_in_minutes": 10081})
	p.invalid("body.description", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5, "description": longText(141)})
	p.do(200, "cancel", p.book(time.Hour), object{})
}

func TestAChargeRunsOut(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	id := p.book(0)
	made := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	p.later(5 * time.Minute)
	next := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	require.NotEqual(t, made["id"], next["id"], "one whose time is over is not open any more")
	p.later(5 * time.Minute)
	p.work("payments")
	require.EqualValues(t, 0, p.ok(200, "GET", "/payments?status=pending", nil)["total"])
	require.EqualValues(t, 2, p.ok(200, "GET", "/payments?status=expired", nil)["total"])
	p.guest().refused(409, "charge_state", "POST", "/dev/payments/"+next["txid"].(string)+"/pay", nil)
	require.Equal(t, "scheduled", p.appointment(id)["status"], "it is no deposit")
	require.Zero(t, p.count("scheduling.charges where org_id = $1 and due_at is not null", p.org), "nothing more to ask the provider")
}

func TestPixIdempotencyKey(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	order := object{"client_id": p.client, "amount": 12.34}
	made := p.ok(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")
	require.Equal(t, made, p.ok(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1"))
	p.refused(409, "idempotency_key_reused", "POST", "/payments/pix", object{"client_id": p.client, "amount": 1}, "Idempotency-Key", "k1")
	require.NotEqual(t, made["id"], p.ok(201, "POST", "/payments/pix", order, "Idempotency-Key", "k2")["id"])
	require.NotEqual(t, made["id"], p.ok(201, "POST", "/payments/pix", order)["id"])
	p.later(25 * time.Hour)
	require.NotEqual(t, made["id"], p.ok(201, "POST", "/payments/pix", order, "Idempotency-Key", "k1")["id"], "for 24 hours")

	var ids sync.Map
	p.together(50, func() answer {
		got, _ := p.try("POST", "/payments/pix", order, "Idempotency-Key", "k3")
		ids.Store(got.body["id"], true)
		return got
	})
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n, "fifty at once make one charge")
}

// together does something many times at once and counts the statuses.
func (s *studio) together(times int, do func() answer) map[int]int {
	s.t.Helper()
	var mu sync.Mutex
	got := map[int]int{}
	var done sync.WaitGroup
	for range times {
		done.Go(func() {
			one := do()
			mu.Lock()
			defer mu.Unlock()
			got[one.status]++
		})
	}
	done.Wait()
	return got
}

func TestFiftyChargesAtOnceAreOne(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	id := p.book(0)
	got := p.together(50, func() answer {
		one, _ := p.try("POST", "/payments/pix", object{"appointment_id": id})
		return one
	})
	require.Equal(t, 50, got[200]+got[201], got)
	require.Equal(t, 1, got[201])
	require.EqualValues(t, 1, p.ok(200, "GET", "/payments?status=pending", nil)["total"])
	require.Equal(t, 1, p.count(`scheduling.sandbox_charges where status = 'pending' and order_id in (select id from scheduling.payments where org_id = $1)`, p.org))
	require.Zero(t, p.count(`scheduling.sandbox_charges c where c.status = 'pending' and c.code like '%Studio%' and not exists (select from scheduling.payments p where p.id = c.order_id)
		and c.notify_url = $1`, p.hub.Base+"/api/v1/payments/webhook/sandbox"), "those made for nothing are ended")
}

func TestWithoutAProvider(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_PAYMENT_PROVIDER=none")
	p.refused(409, "provider_not_configured", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5})
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 20})
	p.guest().refused(409, "provider_not_configured", "POST", p.public("/appointments"), p.wish(0))
	p.guest().refused(404, "not_found", "POST", "/payments/webhook/sandbox", object{})
	p.guest().refused(404, "not_found", "POST", "/dev/payments/x/pay", nil)
	require.Equal(t, []string{"Caio"}, clientNames(p), "nothing stays")
}

func TestTheDevelopersCallIsForDevelopersOnly(t *testing.T) {
	t.Parallel()
	p := lending(t, func(host *module.Host) {
		host.Settings.PaymentProvider, host.Settings.Development = "sandbox", false
	})
	made := p.ok(201, "POST", "/payments/pix", object{"client_id": p.client, "amount": 5})
	require.Equal(t, 404, p.guest().call("POST", "/dev/payments/"+made["txid"].(string)+"/pay", nil).status)
}

// notice is the sandbox's webhook about a charge, signed.
func (p *plan) notice(secret, id, charge string) answer {
	p.t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"charge.paid","charge":%q}`, id, charge)
	got, err := p.guest().try("POST", "/payments/webhook/sandbox", body, hub.HeaderSignature, hub.SignBody(secret, []byte(body)))
	require.NoError(p.t, err)
	return got
}

func TestPaymentWebhook(t *testing.T) {
	t.Parallel()
	var secret string
	p := lending(t, func(host *module.Host) {
		host.Settings.PaymentProvider = "sandbox"
		secret = base64.RawStdEncoding.EncodeToString(host.Sealer.Derive("sandbox payments"))
	})
	g := p.guest()
	id := p.book(0)
	made := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
	charge := made["provider_payment_id"].(string)

	g.refused(401, "invalid_signature", "POST", "/payments/webhook/sandbox", object{"id": "x", "charge": charge})
	require.Equal(t, 401, p.notice("guessed", "x", charge).status)
	g.refused(404, "not_found", "POST", "/payments/webhook/mercadopago", object{})
	g.refused(404, "not_found", "POST", "/payments/webhook/nobody", object{})
	large := `{"x":"` + strings.Repeat("x", 256<<10) + `"}`
	require.Equal(t, 413, g.call("POST", "/payments/webhook/sandbox", large, hub.HeaderSignature, hub.SignBody(secret, []byte(large))).status)

	require.Equal(t, `{"received":true}`, strings.TrimSpace(p.notice(secret, "n1", charge).text))
	p.work("payments")
	require.Equal(t, "unpaid", p.appointment(id)["payment_status"], "what a notice says is not believed: the charge is read back")

	p.exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where id = $1`, charge, p.hub.Clock.Now())
	require.Equal(t, 200, p.notice(secret, "n1", charge).status, "a duplicate")
	p.work("payments")
	require.Equal(t, "unpaid", p.appointment(id)["payment_status"], "a duplicate is not worked at again")
	unknown := "unknown-" + uuid.NewString()
	require.Equal(t, 200, p.notice(secret, unknown, "sbx_nobody").status)
	unreadable := `{"id":7}`
	require.Equal(t, 200, g.call("POST", "/payments/webhook/sandbox", unreadable, hub.HeaderSignature, hub.SignBody(secret, []byte(unreadable))).status)
	got := p.together(50, func() answer { return p.notice(secret, "n2"+charge, charge) })
	require.Equal(t, map[int]int{200: 50}, got)
	require.Equal(t, 1, p.count("scheduling.provider_events where event_id = $1", "n2"+charge), "stored once")
	var done sync.WaitGroup
	for range 10 { // and settled once, by however many
		done.Go(func() { p.work("payments") })
	}
	done.Wait()
	require.Equal(t, "paid", p.appointment(id)["payment_status"])
	require.EqualValues(t, 80, p.spent())
	for range 10 {
		p.hub.Clock.Advance(time.Hour)
		p.work("payments")
	}
	require.Zero(t, p.count("scheduling.provider_events where processed_at is null and event_id = $1", unknown), "unknown charges are given up")
}

// A charge that is not what was ordered does not count.
func TestTheAmountOfAChargeIsChecked(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	id := p.book(0)
	made := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
	p.exec(`update scheduling.sandbox_charges set amount_cents = 7999 where id = $1`, made["provider_payment_id"])
	p.pay(made["txid"])
	require.Equal(t, "unpaid", p.appointment(id)["payment_status"])
	require.EqualValues(t, 0, p.spent())
	p.later(31 * time.Minute)
	p.work("payments")
	require.Equal(t, "unpaid", p.appointment(id)["payment_status"])
	require.EqualValues(t, 1, p.ok(200, "GET", "/payments?status=expired", nil)["total"])
}

// mercadoPago is a stand-in of the provider's API: what the test answers.
func mercadoPago(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) *plan {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return lending(t, func(host *module.Host) {
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
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 20})
	p.invalid2("payer_email_required", "body.client_id", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5})
	p.ok(200, "PUT", "/clients/"+p.client, object{"email": "caio@example.com"})
	p.refused(502, "provider_error", "POST", "/payments/pix", object{"client_id": p.client, "amount": 5}, "Idempotency-Key", "k")
	require.Positive(t, asked.Load())
	p.guest().refused(502, "provider_error", "POST", p.public("/appointments"), p.wish(0))
	wish := p.wish(0)
	delete(wish, "client_email")
	p.guest().invalid2("payer_email_required", "body.client_email", "POST", p.public("/appointments"), wish)
	require.EqualValues(t, 0, p.ok(200, "GET", "/payments", nil)["total"], "no row is kept")
	require.Empty(t, p.list("/appointments"), "nor the booking")
	require.Equal(t, []string{"Caio"}, clientNames(p), "nor the client")
	require.Empty(t, p.hub.Events(p.org))
	require.Len(t, starts(p.day("&date=2026-03-02")), 6, "and the time is free")
	require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))
}

// invalid2 requires a 422 with a code of its own that names a field.
func (s *studio) invalid2(code, location, method, path string, body any) {
	s.t.Helper()
	got := s.refused(422, code, method, path, body)
	require.Equal(s.t, location, got["errors"].([]any)[0].(object)["location"])
}
