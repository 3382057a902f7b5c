package api_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// What a connected product offers a client: services, and their next free times over days.
func TestFreeTimesForConnectedProducts(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "availability.read"))
	hidden := org.OK(201, "POST", "/services", object{"name": "Staff only", "duration_minutes": 30, "price": 10, "is_public": false})["id"].(string)
	listed := key.OK(200, "GET", "/integrations/search/services", nil)
	require.Equal(t, []any{object{"id": org.ServiceID, "name": "Cut", "duration_minutes": 30.0, "price": 80.0, "requires_deposit": false}}, listed["services"])
	require.Equal(t, "pt-BR", listed["locale"])

	times := func(query string) (starts []string) {
		t.Helper()
		for _, entry := range key.OK(200, "GET", "/integrations/search/free-times?service_id="+org.ServiceID+query, nil)["times"].([]any) {
			require.Equal(t, "Ana", entry.(object)["professional"])
			starts = append(starts, entry.(object)["start_at"].(string))
		}
		return starts
	}
	org.Book(0)
	at := func(after time.Duration) string { return org.At(after) }
	friday := times("&limit=100") // the clock stands at Friday 9:00
	require.Equal(t, at(-72*time.Hour+30*time.Minute), friday[0], "what has begun is not free")
	require.Len(t, friday, 100)
	monday := times("&limit=8&after=" + url.QueryEscape(org.At(-time.Hour)))
	require.Equal(t, []string{at(30 * time.Minute), at(time.Hour), at(90 * time.Minute), at(2 * time.Hour), at(150 * time.Minute), at(24 * time.Hour), at(24*time.Hour + 30*time.Minute), at(25 * time.Hour)}, monday, "the booked time is not free; the next day follows")
	require.Equal(t, monday, times("&limit=8&professional_id="+org.ProfessionalID+"&after="+url.QueryEscape(org.At(-time.Hour))))
	org.OK(200, "PUT", "/organization/settings", object{"max_advance_days": 3})
	require.Len(t, times("&limit=100"), 10, "as far ahead as clients may book: the rest of Friday, and Monday")

	const path = "/integrations/search/free-times?service_id="
	key.Refused(404, "not_found", "GET", path+hidden, nil)
	for location, query := range map[string]string{"query.after": "&after=soon", "query.limit": "&limit=101", "query.professional_id": "&professional_id=x"} {
		key.Invalid(location, "GET", path+org.ServiceID+query, nil)
	}
	org.As(org.Hub.CreateKey(org.ID, hub.Live, "client.search")).Refused(403, "missing_scope", "GET", path+org.ServiceID, nil)
	other := schedulingtest.RegisterOrganization(t, org.Hub).MakeBookable()
	other.Refused(404, "not_found", "GET", path+org.ServiceID, nil)
}

// A client's answer to a reminder, by a connected product: confirmed and cancelled once, with
// the client's notice.
func TestConfirmAndCancelForClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	const confirm, cancel = "/integrations/action/confirm", "/integrations/action/cancel"
	first, second := org.Book(0), org.Book(time.Hour)
	reference := object{"appointment_id": first, "phone": "+551187654321"} // without the ninth digit
	confirmed := key.OK(200, "POST", confirm, reference)
	require.Equal(t, object{"appointment_id": first, "status": "confirmed", "start_at": org.At(0), "service": "Cut", "professional": "Ana"}, confirmed)
	require.Equal(t, confirmed, key.OK(200, "POST", confirm, reference), "once more changes nothing")
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.created"}, org.EventTypes(), "the confirmation is published, once")

	var done sync.WaitGroup
	statuses := make([]int, 10)
	for i := range statuses {
		done.Go(func() {
			if response, err := key.Try("POST", cancel, object{"appointment_id": first, "phone": "+5511987654321", "reason": "By chat"}); err == nil {
				statuses[i] = response.Status
			}
		})
	}
	done.Wait()
	for _, status := range statuses {
		require.Equal(t, 200, status)
	}
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.created", "appointment.cancelled"}, org.EventTypes(), "cancelled once")
	kept := org.OK(200, "GET", "/appointments/"+first, nil)
	require.Equal(t, "cancelled", kept["status"])
	require.Equal(t, "integration", kept["cancelled_by"])
	require.Equal(t, "By chat", kept["reason"])
	key.Refused(409, "invalid_transition", "POST", confirm, reference)

	// Neither another client's appointment nor another organization's, and not too late.
	org.OK(201, "POST", "/clients", object{"name": "Eva", "phone": "+5511911112222"})
	key.Refused(404, "not_found", "POST", cancel, object{"appointment_id": second, "phone": "+5511911112222"})
	key.Refused(404, "not_found", "POST", cancel, object{"appointment_id": second, "phone": "+5511933334444"})
	other := schedulingtest.RegisterOrganization(t, org.Hub)
	other.As(org.Hub.CreateKey(other.ID, hub.Live)).Refused(404, "not_found", "POST", cancel, object{"appointment_id": second})
	org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.read")).Refused(403, "missing_scope", "POST", cancel, object{"appointment_id": second})
	key.Invalid("body.phone", "POST", cancel, object{"appointment_id": second, "phone": "1"})
	key.Invalid("body.reason", "POST", cancel, object{"appointment_id": second, "reason": strings.Repeat("x", 501)})
	org.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 6000})
	key.Refused(409, "cancel_window_closed", "POST", cancel, object{"appointment_id": second})
	org.OK(200, "PUT", "/organization/settings", object{"allow_client_cancel": false})
	key.Refused(403, "client_cancel_disabled", "POST", cancel, object{"appointment_id": second})
	require.Equal(t, "scheduled", org.OK(200, "GET", "/appointments/"+second, nil)["status"])
	org.AdvanceClock(73 * time.Hour)
	key.Refused(409, "already_started", "POST", confirm, object{"appointment_id": second})
	org.OK(200, "POST", cancel, object{"appointment_id": second}) // users are not bound by the notice
}

// An unpaid booking is not confirmed by its client: a confirmed one keeps its time without the
// deposit. Staff may confirm it.
func TestUnpaidBookingIsNotConfirmedByItsClient(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	const confirm = "/integrations/action/confirm"
	first := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"]
	second := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(time.Hour))["appointment_id"]
	key.Refused(409, "deposit_due", "POST", confirm, object{"appointment_id": first})
	require.Equal(t, "scheduled", org.Appointment(first.(string))["status"])
	org.PayCharge(org.DepositTxID(first))
	require.Eventually(t, func() bool { return org.Appointment(first.(string))["deposit_status"] == "paid" }, time.Minute, 20*time.Millisecond)
	key.OK(200, "POST", confirm, object{"appointment_id": first})
	org.OK(200, "POST", confirm, object{"appointment_id": second}) // staff decide
}
