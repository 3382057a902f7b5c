package publicbooking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPublicLimits(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_PAYMENT_PROVIDER=none")
	guest := org.Guest()
	org.OK(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 1, "max_bookings_per_day": 2, "auto_confirm": true})
	require.Equal(t, "confirmed", guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["status"])
	guest.Refused(409, "too_many_bookings", "POST", org.PublicPath("/appointments"), org.BookingBody(time.Hour))
	other := org.BookingBody(time.Hour)
	other["client_phone"] = "+351912345678"
	guest.OK(201, "POST", org.PublicPath("/appointments"), other)
	third := org.BookingBody(2 * time.Hour)
	third["client_phone"] = "+351912345679"
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), third)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 10})
	third["start_at"] = org.At(24 * time.Hour)
	guest.Refused(409, "provider_not_configured", "POST", org.PublicPath("/appointments"), third)
	require.Equal(t, []string{"Caio", "Gil", "Gil"}, org.ClientNames(), "a refused booking leaves no client")
	org.OK(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	guest.Refused(403, "booking_disabled", "POST", org.PublicPath("/appointments"), third)
	require.Empty(t, schedulingtest.SlotTimesOf(guest.OK(200, "GET", org.PublicPath("/availability?service_id="+org.ServiceID+"&date=2026-03-04"), nil)))
	org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"accepts_online_booking": false})
	require.Empty(t, guest.List(org.PublicPath("/professionals?service_id="+org.ServiceID)))
}

func TestRateLimitPerAddress(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	for range 120 {
		guest.Refused(404, "invalid_token", "POST", org.PublicPath("/cancel"), object{"cancel_token": "x"})
	}
	got := guest.Call("POST", org.PublicPath("/cancel"), object{"cancel_token": "x"})
	require.Equal(t, 429, got.Status)
	require.Equal(t, "rate_limited", got.Body["code"])
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	guest.OK(200, "GET", org.PublicPath(""), nil)
	org.OK(200, "GET", "/organization", nil)
}

// Every limit of requests can be set by the operator.
func TestLimitsCanBeSet(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_PRODUCT_LIMITS=scheduling.public-writes=3-M,scheduling.public-reads=4-M,scheduling.users=40-M,scheduling.sign-ups=2-H,scheduling.holds=1-M")
	guest := org.Guest()
	hold := object{"service_id": org.ServiceID, "start_at": org.At(0)}
	guest.OK(201, "POST", org.PublicPath("/hold"), hold)
	guest.Refused(429, "rate_limited", "POST", org.PublicPath("/hold"), hold)
	guest.Refused(404, "invalid_token", "POST", org.PublicPath("/cancel"), object{"cancel_token": "x"})
	guest.Refused(429, "rate_limited", "POST", org.PublicPath("/cancel"), object{"cancel_token": "x"})
	for range 4 {
		guest.OK(200, "GET", org.PublicPath(""), nil)
	}
	guest.Refused(429, "rate_limited", "GET", org.PublicPath(""), nil)
	schedulingtest.RegisterOrganization(t, org.Hub)
	guest.Refused(429, "rate_limited", "POST", "/auth/register", object{"org_name": "O", "org_slug": "o-o-o", "name": "N", "email": "n@example.com", "password": schedulingtest.Password})
	limited := 0
	for range 40 { // some were made before
		if org.Call("GET", "/organization", nil).Status == 429 {
			limited++
		}
	}
	require.Positive(t, limited)
}
