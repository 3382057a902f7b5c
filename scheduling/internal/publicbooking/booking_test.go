package publicbooking_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPublicBooking(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	guest := p.Guest()
	org := guest.OK(200, "GET", p.PublicPath(""), nil)
	for _, field := range []string{"name", "logo_url", "phone", "timezone", "currency"} {
		require.Contains(t, org, field)
	}
	require.Equal(t, "Organization not found", guest.Refused(404, "not_found", "GET", "/public/book/nobody-here", nil)["detail"])
	require.Equal(t, []string{"Cut"}, schedulingtest.NamesOf(guest.List(p.PublicPath("/services"))))
	require.Equal(t, []string{"Ana"}, schedulingtest.NamesOf(guest.List(p.PublicPath("/professionals?service_id="+p.ServiceID))))
	guest.Refused(404, "not_found", "GET", p.PublicPath("/professionals?service_id="+uuid.NewString()), nil)
	day := guest.OK(200, "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&professional_id="+p.ProfessionalID+"&date=2026-03-02"), nil)
	require.Len(t, day["slots"], 6)

	created := guest.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	require.Equal(t, "scheduled", created["status"])
	require.Equal(t, "Cut", created["service"])
	require.Nil(t, created["deposit"])
	token := created["cancel_token"].(string)
	require.Equal(t, p.Hub.URL+"/book/"+p.Slug+"/cancel?token="+token, created["cancel_url"])
	detail := p.OK(200, "GET", "/appointments/"+created["appointment_id"].(string), nil)
	require.Equal(t, "web", detail["source"])
	require.Equal(t, "client", detail["history"].([]any)[0].(object)["by"])
	got := guest.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	require.Len(t, got["alternatives"], 3)
	guest.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(10*time.Minute))
	guest.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(-200*time.Hour))

	again := p.BookingBody(time.Hour)
	again["client_name"], again["client_phone"] = "Somebody", "+55 (11) 8765-0000" // without the ninth digit
	again["client_email"] = "other@example.com"
	second := guest.OK(201, "POST", p.PublicPath("/appointments"), again)
	appointment := p.OK(200, "GET", "/appointments/"+second["appointment_id"].(string), nil)
	require.NotContains(t, guest.Call("GET", p.PublicPath("/appointment?token="+second["cancel_token"].(string)), nil).Text, "Gil")
	require.Equal(t, detail["client_id"], appointment["client_id"], "found by phone")
	require.Equal(t, "Gil", appointment["client"].(object)["name"], "and never overwritten")

	for location, change := range map[string]object{
		"body.client_name": {"client_name": "G"}, "body.client_phone": {"client_phone": "123"}, "body.client_email": {"client_email": "x"},
		"body.notes": {"notes": strings.Repeat("x", 501)}, "body.start_at": {"start_at": "soon"}, "body.website": {"website": "http://spam"},
	} {
		request := p.BookingBody(2 * time.Hour)
		for name, value := range change {
			request[name] = value
		}
		guest.Invalid(location, "POST", p.PublicPath("/appointments"), request)
	}
	anybody := p.BookingBody(2 * time.Hour)
	delete(anybody, "professional_id")
	require.Equal(t, "Ana", guest.OK(201, "POST", p.PublicPath("/appointments"), anybody)["professional"])
}

func TestPublicCancelAndReschedule(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	token := created["cancel_token"].(string)
	moved := guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": org.At(time.Hour)})
	require.Equal(t, token, moved["cancel_token"])
	require.Equal(t, org.At(time.Hour), moved["start_at"])
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": org.At(5 * time.Hour)})

	other := schedulingtest.RegisterOrganization(t, org.Hub)
	for _, bad := range []string{"x", token[:len(token)-2] + "AA", token + "A", url.QueryEscape("é")} {
		require.Equal(t, "Invalid cancel token", guest.Refused(404, "invalid_token", "POST", org.PublicPath("/cancel"), object{"cancel_token": bad})["detail"])
	}
	guest.Refused(404, "invalid_token", "POST", "/public/book/"+other.Slug+"/cancel", object{"cancel_token": token})
	guest.Refused(422, "validation_failed", "POST", org.PublicPath("/cancel"), object{})

	org.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 43200})
	require.NotEmpty(t, guest.Refused(409, "cancel_window_closed", "POST", org.PublicPath("/cancel"), object{"cancel_token": token})["deadline"])
	org.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 0})
	done := guest.OK(200, "POST", org.PublicPath("/cancel"), object{"token": token, "reason": "ill"})
	require.Equal(t, "cancelled", done["status"])
	require.Nil(t, done["refund"])
	require.Equal(t, done, guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": token}))
	require.Equal(t, "client", org.OK(200, "GET", "/appointments/"+created["appointment_id"].(string), nil)["cancelled_by"])
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.cancelled"}, org.EventTypes(), "the move is published as well")
}

func TestFiftyConcurrentGuestsFillEachProfessionalOnce(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.AddProfessional("Eva", org.ServiceID)
	guest := org.Guest()
	var mu sync.Mutex
	got := map[int]int{}
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			request := org.BookingBody(0)
			delete(request, "professional_id")
			answer, err := guest.Try("POST", org.PublicPath("/appointments"), request)
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
