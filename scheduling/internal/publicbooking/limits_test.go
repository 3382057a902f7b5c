package publicbooking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPublicLimits(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t, "HUB_PAYMENT_PROVIDER=none")
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
	require.Equal(t, []string{"Caio", "Gil", "Gil"}, p.ClientNames(), "a refused booking leaves no client")
	p.OK(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	g.Refused(403, "booking_disabled", "POST", p.PublicPath("/appointments"), third)
	require.Empty(t, schedulingtest.SlotTimesOf(g.OK(200, "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&date=2026-03-04"), nil)))
	p.OK(200, "PUT", "/professionals/"+p.ProfessionalID, object{"accepts_online_booking": false})
	require.Empty(t, g.List(p.PublicPath("/professionals?service_id="+p.ServiceID)))
}

func TestAddressesAreLimited(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
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
	p := schedulingtest.NewBookable(t, "HUB_PRODUCT_LIMITS=scheduling.public-writes=3-M,scheduling.public-reads=4-M,scheduling.users=40-M,scheduling.sign-ups=2-H,scheduling.holds=1-M")
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
	schedulingtest.RegisterOrganization(t, p.Hub)
	g.Refused(429, "rate_limited", "POST", "/auth/register", object{"org_name": "O", "org_slug": "o-o-o", "name": "N", "email": "n@example.com", "password": schedulingtest.Password})
	limited := 0
	for range 40 { // some were made before
		if p.Call("GET", "/organization", nil).Status == 429 {
			limited++
		}
	}
	require.Positive(t, limited)
}
