package scheduling_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// guest is the same studio to its clients.
func (p *plan) guest() *plan {
	other := *p
	other.studio = p.as("")
	return &other
}

func (p *plan) public(path string) string { return "/public/book/" + p.slug + path }

func (p *plan) wish(after time.Duration) object {
	return object{
		"service_id": p.service, "professional_id": p.professional, "start_at": p.at(after),
		"client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
	}
}

func TestPublicBooking(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	org := g.ok(200, "GET", p.public(""), nil)
	for _, field := range []string{"name", "logo_url", "phone", "timezone", "currency"} {
		require.Contains(t, org, field)
	}
	require.Equal(t, "Organization not found", g.refused(404, "not_found", "GET", "/public/book/nobody-here", nil)["detail"])
	require.Equal(t, []string{"Cut"}, names(g.list(p.public("/services"))))
	require.Equal(t, []string{"Ana"}, names(g.list(p.public("/professionals?service_id="+p.service))))
	g.refused(404, "not_found", "GET", p.public("/professionals?service_id="+uuid.NewString()), nil)
	day := g.ok(200, "GET", p.public("/availability?service_id="+p.service+"&professional_id="+p.professional+"&date=2026-03-02"), nil)
	require.Len(t, day["slots"], 6)

	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	require.Equal(t, "scheduled", made["status"])
	require.Equal(t, "Cut", made["service"])
	require.Nil(t, made["deposit"])
	token := made["cancel_token"].(string)
	require.Equal(t, p.hub.URL+"/book/"+p.slug+"/cancel?token="+token, made["cancel_url"])
	detail := p.ok(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)
	require.Equal(t, "web", detail["source"])
	require.Equal(t, "client", detail["history"].([]any)[0].(object)["by"])
	got := g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(0))
	require.Len(t, got["alternatives"], 3)
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(10*time.Minute))
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(-200*time.Hour))

	again := p.wish(time.Hour)
	again["client_name"], again["client_phone"] = "Somebody", "+55 (11) 8765-0000" // without the ninth digit
	again["client_email"] = "other@example.com"
	second := g.ok(201, "POST", p.public("/appointments"), again)
	one := p.ok(200, "GET", "/appointments/"+second["appointment_id"].(string), nil)
	require.NotContains(t, g.call("GET", p.public("/appointment?token="+second["cancel_token"].(string)), nil).text, "Gil")
	require.Equal(t, detail["client_id"], one["client_id"], "found by phone")
	require.Equal(t, "Gil", one["client"].(object)["name"], "and never overwritten")

	for location, change := range map[string]object{
		"body.client_name": {"client_name": "G"}, "body.client_phone": {"client_phone": "123"}, "body.client_email": {"client_email": "x"},
		"body.notes": {"notes": longText(501)}, "body.start_at": {"start_at": "soon"}, "body.website": {"website": "http://spam"},
	} {
		wish := p.wish(2 * time.Hour)
		for name, value := range change {
			wish[name] = value
		}
		g.invalid(location, "POST", p.public("/appointments"), wish)
	}
	anybody := p.wish(2 * time.Hour)
	delete(anybody, "professional_id")
	require.Equal(t, "Ana", g.ok(201, "POST", p.public("/appointments"), anybody)["professional"])
}

func TestPublicCancelAndReschedule(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	token := made["cancel_token"].(string)
	moved := g.ok(200, "POST", p.public("/reschedule"), object{"cancel_token": token, "start_at": p.at(time.Hour)})
	require.Equal(t, token, moved["cancel_token"])
	require.Equal(t, p.at(time.Hour), moved["start_at"])
	g.refused(409, "slot_unavailable", "POST", p.public("/reschedule"), object{"cancel_token": token, "start_at": p.at(5 * time.Hour)})

	other := another(t, p.hub)
	for _, bad := range []string{"x", token[:len(token)-2] + "AA", token + "A", url.QueryEscape("é")} {
		require.Equal(t, "Invalid cancel token", g.refused(404, "invalid_token", "POST", p.public("/cancel"), object{"cancel_token": bad})["detail"])
	}
	g.refused(404, "invalid_token", "POST", "/public/book/"+other.slug+"/cancel", object{"cancel_token": token})
	g.refused(422, "validation_failed", "POST", p.public("/cancel"), object{})

	p.ok(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 43200})
	require.NotEmpty(t, g.refused(409, "cancel_window_closed", "POST", p.public("/cancel"), object{"cancel_token": token})["deadline"])
	p.ok(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 0})
	done := g.ok(200, "POST", p.public("/cancel"), object{"token": token, "reason": "ill"})
	require.Equal(t, "cancelled", done["status"])
	require.Nil(t, done["refund"])
	require.Equal(t, done, g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": token}))
	require.Equal(t, "client", p.ok(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)["cancelled_by"])
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.cancelled"}, types(p), "the move is told as well")
}

func TestPublicLimits(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_PAYMENT_PROVIDER=none")
	g := p.guest()
	p.ok(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 1, "max_bookings_per_day": 2, "auto_confirm": true})
	require.Equal(t, "confirmed", g.ok(201, "POST", p.public("/appointments"), p.wish(0))["status"])
	g.refused(409, "too_many_bookings", "POST", p.public("/appointments"), p.wish(time.Hour))
	other := p.wish(time.Hour)
	other["client_phone"] = "+351912345678"
	g.ok(201, "POST", p.public("/appointments"), other)
	third := p.wish(2 * time.Hour)
	third["client_phone"] = "+351912345679"
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), third)
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 10})
	third["start_at"] = p.at(24 * time.Hour)
	g.refused(409, "provider_not_configured", "POST", p.public("/appointments"), third)
	require.Equal(t, []string{"Caio", "Gil", "Gil"}, clientNames(p), "a refused booking leaves no client")
	p.ok(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	g.refused(403, "booking_disabled", "POST", p.public("/appointments"), third)
	require.Empty(t, starts(g.ok(200, "GET", p.public("/availability?service_id="+p.service+"&date=2026-03-04"), nil)))
	p.ok(200, "PUT", "/professionals/"+p.professional, object{"accepts_online_booking": false})
	require.Empty(t, g.list(p.public("/professionals?service_id="+p.service)))
}

func clientNames(p *plan) []string {
	var list []object
	for _, one := range p.ok(200, "GET", "/clients", nil)["items"].([]any) {
		list = append(list, one.(object))
	}
	return names(list)
}

func TestFiftyGuestsAtOnceGetEachProfessionalOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.studio.professional("Eva", p.service)
	g := p.guest()
	var mu sync.Mutex
	got := map[int]int{}
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			wish := p.wish(0)
			delete(wish, "professional_id")
			answer, err := g.try("POST", p.public("/appointments"), wish)
			if err == nil {
				mu.Lock()
				got[answer.status]++
				mu.Unlock()
			}
		})
	}
	done.Wait()
	require.Equal(t, map[int]int{201: 2, 409: 48}, got)
}

func TestIntegrations(t *testing.T) {
	t.Parallel()
	p := opened(t)
	key := p.as(p.hub.CreateKey(p.org, hub.Live, "client.search", "appointment.read", "appointment.book", "availability.read"))
	const base = "/integrations"
	phone := url.QueryEscape("+551187654321") // without the ninth digit
	p.ok(200, "PUT", "/clients/"+p.client, object{"cpf": "529.982.247-25"})
	found := key.ok(200, "GET", base+"/search/clients?phone="+phone, nil)
	require.Equal(t, true, found["found"])
	require.Equal(t, "Caio", found["client"].(object)["name"])
	require.Equal(t, "***.***.***-25", found["client"].(object)["cpf"])
	require.Equal(t, object{"found": false, "client": nil}, p.ok(200, "GET", base+"/search/clients?phone=11900000000", nil))
	key.refused(422, "validation_failed", "GET", base+"/search/clients?phone=12", nil)

	id := p.book(0)
	listed := key.ok(200, "GET", base+"/search/appointments?phone="+phone+"&status=scheduled", nil)["appointments"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, id, listed[0].(object)["id"])
	require.Equal(t, "2026-03-02T12:00:00Z", listed[0].(object)["datetime"])
	require.Len(t, starts((&plan{studio: key, service: p.service, professional: p.professional}).day("&date=2026-03-02")), 5)

	wish := object{"phone": "+5511987654321", "name": "Other", "service": "Cut", "datetime": p.at(time.Hour), "source_id": "t-1"}
	made := key.ok(201, "POST", base+"/action/book", wish)
	require.Equal(t, "Ana", made["professional"])
	require.True(t, strings.HasPrefix(made["cancel_url"].(string), p.hub.URL+"/book/"))
	require.Equal(t, made, key.ok(201, "POST", base+"/action/book", wish), "the same source_id books once")
	detail := p.ok(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)
	require.Equal(t, "integration", detail["source"])
	require.Equal(t, p.client, detail["client_id"])
	wish["source_id"] = "t-2"
	require.NotEmpty(t, key.refused(409, "slot_unavailable", "POST", base+"/action/book", wish)["alternatives"])
	p.ok(201, "POST", base+"/action/book", object{"phone": "+5511987654321", "service_id": p.service, "start_at": p.at(2 * time.Hour)})
	for location, change := range map[string]object{
		"body.service": {"service": "Nothing"}, "body.phone": {"phone": "1"}, "body.datetime": {"datetime": "soon"},
	} {
		draft := object{"phone": "+5511987654321", "service": "Cut", "datetime": p.at(0)}
		for name, value := range change {
			draft[name] = value
		}
		key.invalid(location, "POST", base+"/action/book", draft)
	}
	p.as(p.hub.CreateKey(p.org, hub.Live, "client.search")).refused(403, "missing_scope", "POST", base+"/action/book", wish)
	p.as(p.hub.CreateKey(p.org, hub.Test)).refused(404, "not_found", "GET", base+"/search/clients?phone="+phone, nil)
	p.as("").refused(401, "unauthorized", "GET", base+"/search/clients?phone="+phone, nil)

	matches, err := p.hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+5511987654321")
	require.NoError(t, err)
	found2 := false
	for _, m := range matches {
		found2 = found2 || m.TenantID == p.org && m.ID == p.client
	}
	require.True(t, found2)
}

// receive hands an event over as the hub does: what is ignored is committed.
func (p *plan) receive(id, eventType string, data object) error {
	p.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(p.t, err)
	var ignored error
	err = pgx.BeginFunc(p.t.Context(), p.hub.Host.Pool, func(tx pgx.Tx) error {
		err := p.hub.Instance.Handle(p.t.Context(), tx, hub.Event{ID: id, TenantID: p.org, Environment: hub.Live, Product: "clinic", Type: eventType, Data: raw})
		if errors.Is(err, module.ErrIgnored) {
			ignored, err = err, nil
		}
		return err
	})
	return errors.Join(err, ignored)
}

func TestEventsOfConnectedProducts(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id := p.book(0)
	p.ok(200, "PUT", "/appointments/"+id, object{"notes": "Caio likes tea"})
	for range 2 {
		require.NoError(t, p.receive("evt_0123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 80, "description": "x"}))
	}
	require.EqualValues(t, 80, p.ok(200, "GET", "/clients/"+p.client, nil)["total_spent"])
	require.ErrorIs(t, p.receive("evt_1123456789abcdef", "payment.received", object{"amount": 80}), module.ErrIgnored)
	for _, amount := range []any{0, -1, 100000000} {
		err := p.receive("evt_a123456789abcdef", "payment.received", object{"appointment_id": id, "amount": amount})
		require.ErrorIs(t, err, hub.ErrInvalid, "%v", amount)
	}
	require.ErrorIs(t, p.receive("evt_b123456789abcdef", "payment.received", object{"appointment_id": id, "amount": "much"}), hub.ErrMalformed)
	require.Equal(t, 1, p.count("scheduling.payments where appointment_id = $1", id))
	require.NoError(t, p.receive("evt_c123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.5, "method": "barter", "description": strings.Repeat("é", 201)}))
	require.NoError(t, p.receive("evt_d123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.25, "method": "credit_card"}))
	var methods []string
	for _, one := range p.ok(200, "GET", "/clients/"+p.client+"/payments", nil)["items"].([]any) {
		methods = append(methods, one.(object)["method"].(string))
	}
	require.ElementsMatch(t, []string{"cash", "cash", "credit_card"}, methods, "what is not known counts as cash")
	require.ErrorIs(t, p.receive("evt_2123456789abcdef", "patient.deleted", object{"phone": "+351900000000"}), module.ErrIgnored)
	require.NoError(t, p.receive("evt_4123456789abcdef", "patient.deleted", object{"phone": "+5511987654321"}))
	p.refused(404, "not_found", "GET", "/clients/"+p.client, nil)
	gone := p.call("GET", "/appointments/"+id, nil)
	require.Equal(t, 200, gone.status, "the booking stays")
	require.NotContains(t, gone.text, "Caio")
	require.NotContains(t, gone.text, "987654321")
}

func TestAddressesAreLimited(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	for range 120 {
		g.refused(404, "invalid_token", "POST", p.public("/cancel"), object{"cancel_token": "x"})
	}
	got := g.call("POST", p.public("/cancel"), object{"cancel_token": "x"})
	require.Equal(t, 429, got.status)
	require.Equal(t, "rate_limited", got.body["code"])
	require.NotEmpty(t, got.header.Get("Retry-After"))
	g.ok(200, "GET", p.public(""), nil)
	p.ok(200, "GET", "/organization", nil)
}

// Every limit of requests can be set by the operator.
func TestLimitsCanBeSet(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_PRODUCT_LIMITS=scheduling.public-writes=3-M,scheduling.public-reads=4-M,scheduling.users=40-M,scheduling.sign-ups=2-H,scheduling.holds=1-M")
	g := p.guest()
	hold := object{"service_id": p.service, "start_at": p.at(0)}
	g.ok(201, "POST", p.public("/hold"), hold)
	g.refused(429, "rate_limited", "POST", p.public("/hold"), hold)
	g.refused(404, "invalid_token", "POST", p.public("/cancel"), object{"cancel_token": "x"})
	g.refused(429, "rate_limited", "POST", p.public("/cancel"), object{"cancel_token": "x"})
	for range 4 {
		g.ok(200, "GET", p.public(""), nil)
	}
	g.refused(429, "rate_limited", "GET", p.public(""), nil)
	another(t, p.hub)
	g.refused(429, "rate_limited", "POST", "/auth/register", object{"org_name": "O", "org_slug": "o-o-o", "name": "N", "email": "n@example.com", "password": password})
	limited := 0
	for range 40 { // some were made before
		if p.call("GET", "/organization", nil).status == 429 {
			limited++
		}
	}
	require.Positive(t, limited)
}
