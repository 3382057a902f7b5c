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
	g := p.Guest()
	org := g.OK(200, "GET", p.PublicPath(""), nil)
	for _, field := range []string{"name", "logo_url", "phone", "timezone", "currency"} {
		require.Contains(t, org, field)
	}
	require.Equal(t, "Organization not found", g.Refused(404, "not_found", "GET", "/public/book/nobody-here", nil)["detail"])
	require.Equal(t, []string{"Cut"}, schedulingtest.NamesOf(g.List(p.PublicPath("/services"))))
	require.Equal(t, []string{"Ana"}, schedulingtest.NamesOf(g.List(p.PublicPath("/professionals?service_id="+p.ServiceID))))
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
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	token := made["cancel_token"].(string)
	moved := g.OK(200, "POST", p.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": p.At(time.Hour)})
	require.Equal(t, token, moved["cancel_token"])
	require.Equal(t, p.At(time.Hour), moved["start_at"])
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/reschedule"), object{"cancel_token": token, "start_at": p.At(5 * time.Hour)})

	other := schedulingtest.RegisterOrganization(t, p.Hub)
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

func TestFiftyGuestsAtOnceGetEachProfessionalOnce(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
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
