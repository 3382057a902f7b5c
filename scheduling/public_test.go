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

// Guest is the same studio to its clients.
func (p *Bookable) Guest() *Bookable {
	other := *p
	other.Organization = p.As("")
	return &other
}

func (p *Bookable) PublicPath(path string) string { return "/public/book/" + p.Slug + path }

func (p *Bookable) BookingBody(after time.Duration) object {
	return object{
		"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(after),
		"client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
	}
}

func TestPublicBooking(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	g := p.Guest()
	org := g.OK(200, "GET", p.PublicPath(""), nil)
	for _, field := range []string{"name", "logo_url", "phone", "timezone", "currency"} {
		require.Contains(t, org, field)
	}
	require.Equal(t, "Organization not found", g.Refused(404, "not_found", "GET", "/public/book/nobody-here", nil)["detail"])
	require.Equal(t, []string{"Cut"}, NamesOf(g.List(p.PublicPath("/services"))))
	require.Equal(t, []string{"Ana"}, NamesOf(g.List(p.PublicPath("/professionals?service_id="+p.ServiceID))))
	g.Refused(404, "not_found", "GET", p.PublicPath("/professionals?service_id="+uuid.NewString()), nil)
	day := g.OK(200, "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&professional_id="+p.ProfessionalID+"&date=2026-03-02"), nil)
	require.Len(t, day["slots"], 6)

	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	require.Equal(t, "scheduled", made["status"])
	require.Equal(t, "Cut", made["service"])
	require.Nil(t, made["deposit"])
	token := made["cancel_token"].(string)
	require.Equal(t, p.Hub.URL+"/book/"+p.Slug+"/cancel?token="+token, made["cancel_url"])
	detail := p.OK(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)
	require.Equal(t, "web", detail["source"])
	require.Equal(t, "client", detail["history"].([]any)[0].(object)["by"])
	got := g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	require.Len(t, got["alternatives"], 3)
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(10*time.Minute))
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(-200*time.Hour))

	again := p.BookingBody(time.Hour)
	again["client_name"], again["client_phone"] = "Somebody", "+55 (11) 8765-0000" // without the ninth digit
	again["client_email"] = "other@example.com"
	second := g.OK(201, "POST", p.PublicPath("/appointments"), again)
	one := p.OK(200, "GET", "/appointments/"+second["appointment_id"].(string), nil)
	require.NotContains(t, g.Call("GET", p.PublicPath("/appointment?token="+second["cancel_token"].(string)), nil).Text, "Gil")
	require.Equal(t, detail["client_id"], one["client_id"], "found by phone")
	require.Equal(t, "Gil", one["client"].(object)["name"], "and never overwritten")

	for location, change := range map[string]object{
		"body.client_name": {"client_name": "G"}, "body.client_phone": {"client_phone": "123"}, "body.client_email": {"client_email": "x"},
		"body.notes": {"notes": strings.Repeat("x", 501)}, "body.start_at": {"start_at": "soon"}, "body.website": {"website": "http://spam"},
	} {
		wish := p.BookingBody(2 * time.Hour)
		for name, value := range change {
			wish[name] = value
		}
		g.Invalid(location, "POST", p.PublicPath("/appointments"), wish)
	}
	anybody := p.BookingBody(2 * time.Hour)
	delete(anybody, "professional_id")
	require.Equal(t, "Ana", g.OK(201, "POST", p.PublicPath("/appointments"), anybody)["professional"])
}

func TestPublicCancelAndReschedule(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	token := made["cancel_token"].(string)
	moved := g.OK(200, "POST", p.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": p.At(time.Hour)})
	require.Equal(t, token, moved["cancel_token"])
	require.Equal(t, p.At(time.Hour), moved["start_at"])
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": p.At(5 * time.Hour)})

	other := RegisterOrganization(t, p.Hub)
	for _, bad := range []string{"x", token[:len(token)-2] + "AA", token + "A", url.QueryEscape("é")} {
		require.Equal(t, "Invalid cancel token", g.Refused(404, "invalid_token", "POST", p.PublicPath("/cancel"), object{"cancel_token": bad})["detail"])
	}
	g.Refused(404, "invalid_token", "POST", "/public/book/"+other.Slug+"/cancel", object{"cancel_token": token})
	g.Refused(422, "validation_failed", "POST", p.PublicPath("/cancel"), object{})

	p.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 43200})
	require.NotEmpty(t, g.Refused(409, "cancel_window_closed", "POST", p.PublicPath("/cancel"), object{"cancel_token": token})["deadline"])
	p.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 0})
	done := g.OK(200, "POST", p.PublicPath("/cancel"), object{"token": token, "reason": "ill"})
	require.Equal(t, "cancelled", done["status"])
	require.Nil(t, done["refund"])
	require.Equal(t, done, g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": token}))
	require.Equal(t, "client", p.OK(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)["cancelled_by"])
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.cancelled"}, p.EventTypes(), "the move is told as well")
}

func TestPublicLimits(t *testing.T) {
	t.Parallel()
	p := NewBookable(t, "HUB_PAYMENT_PROVIDER=none")
	g := p.Guest()
	p.OK(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 1, "max_bookings_per_day": 2, "auto_confirm": true})
	require.Equal(t, "confirmed", g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["status"])
	g.Refused(409, "too_many_bookings", "POST", p.PublicPath("/appointments"), p.BookingBody(time.Hour))
	other := p.BookingBody(time.Hour)
	other["client_phone"] = "+351912345678"
	g.OK(201, "POST", p.PublicPath("/appointments"), other)
	third := p.BookingBody(2 * time.Hour)
	third["client_phone"] = "+351912345679"
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), third)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": true, "deposit_amount": 10})
	third["start_at"] = p.At(24 * time.Hour)
	g.Refused(409, "provider_not_configured", "POST", p.PublicPath("/appointments"), third)
	require.Equal(t, []string{"Caio", "Gil", "Gil"}, ClientNames(p), "a refused booking leaves no client")
	p.OK(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	g.Refused(403, "booking_disabled", "POST", p.PublicPath("/appointments"), third)
	require.Empty(t, SlotTimesOf(g.OK(200, "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&date=2026-03-04"), nil)))
	p.OK(200, "PUT", "/professionals/"+p.ProfessionalID, object{"accepts_online_booking": false})
	require.Empty(t, g.List(p.PublicPath("/professionals?service_id="+p.ServiceID)))
}

func ClientNames(p *Bookable) []string {
	var list []object
	for _, one := range p.OK(200, "GET", "/clients", nil)["items"].([]any) {
		list = append(list, one.(object))
	}
	return NamesOf(list)
}

func TestFiftyGuestsAtOnceGetEachProfessionalOnce(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	p.Organization.AddProfessional("Eva", p.ServiceID)
	g := p.Guest()
	var mu sync.Mutex
	got := map[int]int{}
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			wish := p.BookingBody(0)
			delete(wish, "professional_id")
			answer, err := g.Try("POST", p.PublicPath("/appointments"), wish)
			if err == nil {
				mu.Lock()
				got[answer.Status]++
				mu.Unlock()
			}
		})
	}
	done.Wait()
	require.Equal(t, map[int]int{201: 2, 409: 48}, got)
}

func TestIntegrations(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	key := p.As(p.Hub.Key(p.ID, hub.Live, "client.search", "appointment.read", "appointment.book", "availability.read"))
	const base = "/integrations"
	phone := url.QueryEscape("+551187654321") // without the ninth digit
	p.OK(200, "PUT", "/clients/"+p.ClientID, object{"cpf": "529.982.247-25"})
	found := key.OK(200, "GET", base+"/search/clients?phone="+phone, nil)
	require.Equal(t, true, found["found"])
	require.Equal(t, "Caio", found["client"].(object)["name"])
	require.Equal(t, "***.***.***-25", found["client"].(object)["cpf"])
	require.Equal(t, object{"found": false, "client": nil}, p.OK(200, "GET", base+"/search/clients?phone=11900000000", nil))
	key.Refused(422, "validation_failed", "GET", base+"/search/clients?phone=12", nil)

	id := p.Book(0)
	listed := key.OK(200, "GET", base+"/search/appointments?phone="+phone+"&status=scheduled", nil)["appointments"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, id, listed[0].(object)["id"])
	require.Equal(t, "2026-03-02T12:00:00Z", listed[0].(object)["datetime"])
	require.Len(t, SlotTimesOf((&Bookable{Organization: key, ServiceID: p.ServiceID, ProfessionalID: p.ProfessionalID}).Availability("&date=2026-03-02")), 5)

	wish := object{"phone": "+5511987654321", "name": "Other", "service": "Cut", "datetime": p.At(time.Hour), "source_id": "t-1"}
	made := key.OK(201, "POST", base+"/action/book", wish)
	require.Equal(t, "Ana", made["professional"])
	require.True(t, strings.HasPrefix(made["cancel_url"].(string), p.Hub.URL+"/book/"))
	require.Equal(t, made, key.OK(201, "POST", base+"/action/book", wish), "the same source_id books once")
	detail := p.OK(200, "GET", "/appointments/"+made["appointment_id"].(string), nil)
	require.Equal(t, "integration", detail["source"])
	require.Equal(t, p.ClientID, detail["client_id"])
	wish["source_id"] = "t-2"
	require.NotEmpty(t, key.Refused(409, "slot_unavailable", "POST", base+"/action/book", wish)["alternatives"])
	p.OK(201, "POST", base+"/action/book", object{"phone": "+5511987654321", "service_id": p.ServiceID, "start_at": p.At(2 * time.Hour)})
	for location, change := range map[string]object{
		"body.service": {"service": "Nothing"}, "body.phone": {"phone": "1"}, "body.datetime": {"datetime": "soon"},
	} {
		draft := object{"phone": "+5511987654321", "service": "Cut", "datetime": p.At(0)}
		for name, value := range change {
			draft[name] = value
		}
		key.Invalid(location, "POST", base+"/action/book", draft)
	}
	p.As(p.Hub.Key(p.ID, hub.Live, "client.search")).Refused(403, "missing_scope", "POST", base+"/action/book", wish)
	p.As(p.Hub.Key(p.ID, hub.Test)).Refused(404, "not_found", "GET", base+"/search/clients?phone="+phone, nil)
	p.As("").Refused(401, "unauthorized", "GET", base+"/search/clients?phone="+phone, nil)

	matches, err := p.Hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+5511987654321")
	require.NoError(t, err)
	found2 := false
	for _, m := range matches {
		found2 = found2 || m.TenantID == p.ID && m.ID == p.ClientID
	}
	require.True(t, found2)
}

// ReceiveEvent hands an event over as the hub does: what is ignored is committed.
func (p *Bookable) ReceiveEvent(id, eventType string, data object) error {
	p.T.Helper()
	raw, err := json.Marshal(data)
	require.NoError(p.T, err)
	var ignored error
	err = pgx.BeginFunc(p.T.Context(), p.Hub.Host.Pool, func(tx pgx.Tx) error {
		err := p.Hub.Instance.Handle(p.T.Context(), tx, hub.Event{ID: id, TenantID: p.ID, Environment: hub.Live, Product: "clinic", Type: eventType, Data: raw})
		if errors.Is(err, module.ErrIgnored) {
			ignored, err = err, nil
		}
		return err
	})
	return errors.Join(err, ignored)
}

func TestEventsOfConnectedProducts(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	id := p.Book(0)
	p.OK(200, "PUT", "/appointments/"+id, object{"notes": "Caio likes tea"})
	for range 2 {
		require.NoError(t, p.ReceiveEvent("evt_0123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 80, "description": "x"}))
	}
	require.EqualValues(t, 80, p.OK(200, "GET", "/clients/"+p.ClientID, nil)["total_spent"])
	require.ErrorIs(t, p.ReceiveEvent("evt_1123456789abcdef", "payment.received", object{"amount": 80}), module.ErrIgnored)
	for _, amount := range []any{0, -1, 100000000} {
		err := p.ReceiveEvent("evt_a123456789abcdef", "payment.received", object{"appointment_id": id, "amount": amount})
		require.ErrorIs(t, err, hub.ErrInvalid, "%v", amount)
	}
	require.ErrorIs(t, p.ReceiveEvent("evt_b123456789abcdef", "payment.received", object{"appointment_id": id, "amount": "much"}), hub.ErrMalformed)
	require.Equal(t, 1, p.Count("scheduling.payments where appointment_id = $1", id))
	require.NoError(t, p.ReceiveEvent("evt_c123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.5, "method": "barter", "description": strings.Repeat("é", 201)}))
	require.NoError(t, p.ReceiveEvent("evt_d123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.25, "method": "credit_card"}))
	var methods []string
	for _, one := range p.OK(200, "GET", "/clients/"+p.ClientID+"/payments", nil)["items"].([]any) {
		methods = append(methods, one.(object)["method"].(string))
	}
	require.ElementsMatch(t, []string{"cash", "cash", "credit_card"}, methods, "what is not known counts as cash")
	require.ErrorIs(t, p.ReceiveEvent("evt_2123456789abcdef", "patient.deleted", object{"phone": "+351900000000"}), module.ErrIgnored)
	require.NoError(t, p.ReceiveEvent("evt_4123456789abcdef", "patient.deleted", object{"phone": "+5511987654321"}))
	p.Refused(404, "not_found", "GET", "/clients/"+p.ClientID, nil)
	gone := p.Call("GET", "/appointments/"+id, nil)
	require.Equal(t, 200, gone.Status, "the booking stays")
	require.NotContains(t, gone.Text, "Caio")
	require.NotContains(t, gone.Text, "987654321")
}

func TestAddressesAreLimited(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	g := p.Guest()
	for range 120 {
		g.Refused(404, "invalid_token", "POST", p.PublicPath("/cancel"), object{"cancel_token": "x"})
	}
	got := g.Call("POST", p.PublicPath("/cancel"), object{"cancel_token": "x"})
	require.Equal(t, 429, got.Status)
	require.Equal(t, "rate_limited", got.Body["code"])
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	g.OK(200, "GET", p.PublicPath(""), nil)
	p.OK(200, "GET", "/organization", nil)
}

// Every limit of requests can be set by the operator.
func TestLimitsCanBeSet(t *testing.T) {
	t.Parallel()
	p := NewBookable(t, "HUB_PRODUCT_LIMITS=scheduling.public-writes=3-M,scheduling.public-reads=4-M,scheduling.users=40-M,scheduling.sign-ups=2-H,scheduling.holds=1-M")
	g := p.Guest()
	hold := object{"service_id": p.ServiceID, "start_at": p.At(0)}
	g.OK(201, "POST", p.PublicPath("/hold"), hold)
	g.Refused(429, "rate_limited", "POST", p.PublicPath("/hold"), hold)
	g.Refused(404, "invalid_token", "POST", p.PublicPath("/cancel"), object{"cancel_token": "x"})
	g.Refused(429, "rate_limited", "POST", p.PublicPath("/cancel"), object{"cancel_token": "x"})
	for range 4 {
		g.OK(200, "GET", p.PublicPath(""), nil)
	}
	g.Refused(429, "rate_limited", "GET", p.PublicPath(""), nil)
	RegisterOrganization(t, p.Hub)
	g.Refused(429, "rate_limited", "POST", "/auth/register", object{"org_name": "O", "org_slug": "o-o-o", "name": "N", "email": "n@example.com", "password": Password})
	limited := 0
	for range 40 { // some were made before
		if p.Call("GET", "/organization", nil).Status == 429 {
			limited++
		}
	}
	require.Positive(t, limited)
}
