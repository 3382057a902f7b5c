package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestBook(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	made := p.OK(201, "POST", "/appointments", p.AppointmentBody(0))
	require.Equal(t, "scheduled", made["status"])
	require.Equal(t, "dashboard", made["source"])
	require.Equal(t, "2026-03-02T09:00:00-03:00", made["start_at"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", made["end_at"])
	require.EqualValues(t, 80, made["price"])
	require.Equal(t, "Caio", made["client"].(object)["name"])
	require.Empty(t, made["warnings"])
	require.NotContains(t, made, "cancel_token")
	require.Equal(t, []any{"outside_working_hours"}, p.OK(201, "POST", "/appointments", p.AppointmentBody(-2*time.Hour))["warnings"])
	require.Equal(t, []any{"outside_working_hours", "in_the_past"}, p.OK(201, "POST", "/appointments", p.AppointmentBody(-100*time.Hour))["warnings"])

	got := p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(15*time.Minute))
	require.Equal(t, "Time slot not available", got["detail"])
	alternatives := got["alternatives"].([]any)
	require.Len(t, alternatives, 3)
	require.Equal(t, "2026-03-02T09:30:00-03:00", alternatives[0].(object)["start_at"])
	over := p.AppointmentBody(15 * time.Minute)
	over["overbook"] = true
	require.Equal(t, true, p.OK(201, "POST", "/appointments", over)["overbooked"])
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(30*time.Minute))

	for location, change := range map[string]object{
		"body.start_at": {"start_at": "2026-03-02T09:00:00"}, "body.client_id": {"client_id": "x"}, "body.notes": {"notes": strings.Repeat("x", 2001)},
	} {
		draft := p.AppointmentBody(time.Hour)
		for name, value := range change {
			draft[name] = value
		}
		p.Invalid(location, "POST", "/appointments", draft)
	}
	for _, field := range []string{"client_id", "professional_id", "service_id"} {
		draft := p.AppointmentBody(time.Hour)
		draft[field] = uuid.NewString()
		p.Refused(404, "not_found", "POST", "/appointments", draft)
	}
	draft := p.AppointmentBody(time.Hour)
	draft["professional_id"] = p.AddUnscheduledProfessional("Eva")
	p.Refused(422, "service_not_offered", "POST", "/appointments", draft)
	require.Len(t, p.List("/appointments"), 4)
}

func TestIdempotencyKeyBooksOnce(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	first := p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k1")
	require.Equal(t, first["id"], p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k1")["id"])
	p.Refused(409, "idempotency_key_reused", "POST", "/appointments", p.AppointmentBody(time.Hour), "Idempotency-Key", "k1")
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k2")
	require.Len(t, p.List("/appointments"), 1)
	require.Len(t, p.Hub.Events(p.ID), 1)
}

func TestListAppointments(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	first, second, tuesday := p.Book(0), p.Book(time.Hour), p.Book(24*time.Hour)
	p.Transition(200, "confirm", second, nil)
	ids := func(query string) []string {
		found := []string{}
		for _, one := range p.List("/appointments" + query) {
			found = append(found, one["id"].(string))
		}
		return found
	}
	require.Equal(t, []string{first, second, tuesday}, ids(""))
	require.Equal(t, []string{first, second}, ids("?date=2026-03-02"))
	require.Equal(t, []string{first, tuesday}, ids("?status=scheduled"))
	require.Equal(t, []string{first, second, tuesday}, ids("?status=scheduled&status=confirmed&professional_id="+p.ProfessionalID))
	require.Equal(t, []string{second}, ids("?status=confirmed&date=2026-03-02&client_id="+p.ClientID))
	require.Empty(t, ids("?client_id="+uuid.NewString()))
	require.Equal(t, []string{tuesday}, ids("?date_from=2026-03-03&date_to=2026-03-05"))
	got := p.Call("GET", "/appointments?per_page=2&page=2", nil)
	require.Len(t, got.List, 1)
	require.Equal(t, "3", got.Header.Get("X-Total-Count"))
	require.Contains(t, got.Header.Get("Link"), `page=1&per_page=2>; rel="prev"`)
	p.Refused(422, "validation_failed", "GET", "/appointments?status=gone", nil)
	p.Refused(422, "validation_failed", "GET", "/appointments?per_page=501", nil)
	p.Invalid("query.date", "GET", "/appointments?date=x", nil)
	p.Invalid("query.date_to", "GET", "/appointments?date_from=2026-01-01&date_to=2026-12-31", nil)
}

// The state machine's matrix, over HTTP.
func TestActions(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	reach := map[string][]string{
		"scheduled": nil, "confirmed": {"confirm"}, "completed": {"complete"}, "cancelled": {"cancel"}, "no_show": {"noshow"},
	}
	statuses := []string{"scheduled", "confirmed", "completed", "cancelled", "no_show"}
	want := map[string][]int{
		"confirm": {200, 200, 409, 409, 409}, "cancel": {200, 200, 409, 200, 409}, "complete": {200, 200, 200, 409, 409},
		"noshow": {200, 200, 409, 409, 200}, "reschedule": {200, 200, 409, 409, 409},
	}
	n := 0
	for action, row := range want {
		for i, status := range statuses {
			n++
			id := p.Book(time.Duration(n) * 48 * time.Hour)
			for _, step := range reach[status] {
				p.Transition(200, step, id, nil)
			}
			var body any
			if action == "reschedule" {
				body = object{"start_at": p.At(time.Duration(n)*48*time.Hour + time.Hour)}
			}
			before := p.OK(200, "GET", "/appointments/"+id, nil)
			require.Equal(t, status, before["status"])
			got := p.Call("POST", "/appointments/"+id+"/"+action, body)
			require.Equal(t, row[i], got.Status, "%s of %s: %s", action, status, got.Text)
			after := p.OK(200, "GET", "/appointments/"+id, nil)
			switch {
			case got.Status == 409:
				require.Equal(t, "invalid_transition", got.Body["code"])
				require.Equal(t, status, got.Body["appointment_status"])
				require.Contains(t, got.Body, "allowed")
				require.Equal(t, before, after)
			case action != "reschedule" && slices.Contains(reach[status], action):
				require.Equal(t, before, after, "repeating changes nothing")
			}
		}
	}
	p.Refused(404, "not_found", "POST", "/appointments/"+uuid.NewString()+"/confirm", nil)
}

func TestCancelFreesTheTime(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	id := p.Book(0)
	done := p.Transition(200, "cancel", id, object{"reason": "ill"})
	require.Equal(t, "ill", done["reason"])
	require.Equal(t, "staff", done["cancelled_by"])
	require.NotNil(t, done["cancelled_at"])
	p.Book(0)
	p.Invalid("body.reason", "POST", "/appointments/"+id+"/cancel", object{"reason": strings.Repeat("x", 501)})
}

func TestRescheduleAndEdit(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	id, other := p.Book(0), p.Book(time.Hour)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"price": 100, "duration_minutes": 60})
	moved := p.Transition(200, "reschedule", id, object{"start_at": p.At(15 * time.Minute), "reason": "traffic"})
	require.Equal(t, p.At(15*time.Minute), moved["start_at"], "its own time does not count")
	require.EqualValues(t, 30, moved["duration_minutes"], "length and price are kept")
	require.EqualValues(t, 80, moved["price"])
	require.EqualValues(t, 1, moved["rescheduled_count"])
	require.Equal(t, p.At(0), moved["original_start_at"])
	got := p.Refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reschedule", object{"start_at": p.At(time.Hour)})
	require.Len(t, got["alternatives"], 3)
	p.Invalid("body.start_at", "POST", "/appointments/"+id+"/reschedule", object{"start_at": "tomorrow"})
	p.Refused(422, "validation_failed", "POST", "/appointments/"+id+"/reschedule", object{})

	path := "/appointments/" + id
	edited := p.OK(200, "PUT", path, object{"notes": "window seat", "price": 70, "start_at": p.At(2 * time.Hour)})
	require.Equal(t, "window seat", edited["notes"])
	require.EqualValues(t, 70, edited["price"])
	require.EqualValues(t, 2, edited["rescheduled_count"])
	p.Refused(409, "slot_unavailable", "PUT", path, object{"notes": "lost", "start_at": p.At(time.Hour)})
	require.Equal(t, "window seat", p.OK(200, "GET", path, nil)["notes"], "never a partial write")
	require.Equal(t, "status_read_only", p.Call("PUT", path, object{"status": "confirmed"}).Body["code"])
	p.Refused(412, "version_mismatch", "PUT", path, object{"notes": "x"}, "If-Match", "1")
	p.OK(200, "PUT", path, object{"notes": "x"}, "If-Match", fmt.Sprint(p.OK(200, "GET", path, nil)["version"]))
	eva := p.Organization.AddProfessional("Eva", p.ServiceID)
	require.Equal(t, "Eva", p.Transition(200, "reschedule", other, object{"start_at": p.At(time.Hour), "professional_id": eva})["professional"].(object)["name"])

	// Each new time, and who else gives the service, is told under the same id; notes and prices are not.
	events := p.Hub.Events(p.ID)
	require.Len(t, events, 5, "two bookings, three moves")
	for _, move := range []struct {
		event        int
		id, at, with string
	}{{2, id, p.At(15 * time.Minute), "Ana"}, {3, id, p.At(2 * time.Hour), "Ana"}, {4, other, p.At(time.Hour), "Eva"}} {
		told := events[move.event]
		require.Equal(t, "appointment.created", told.Type)
		require.Equal(t, move.id, told.Data["appointment_id"])
		require.Equal(t, move.with, told.Data["professional"])
		when, err := time.Parse(time.RFC3339, move.at)
		require.NoError(t, err)
		require.Equal(t, when.UTC().Format(time.RFC3339), told.Data["datetime"])
	}
	p.OK(200, "PUT", path, object{"client_id": p.OK(201, "POST", "/clients", object{"name": "Rui", "phone": "+351912345678"})["id"]})
	events = p.Hub.Events(p.ID)
	require.Len(t, events, 6)
	require.Equal(t, "+351912345678", events[5].Data["client_phone"], "it is somebody else's now")

	history := p.OK(200, "GET", path, nil)["history"].([]any)
	require.Len(t, history, 6, "with three edits")
	require.Equal(t, "create", history[0].(object)["action"])
	require.Equal(t, "reschedule", history[1].(object)["action"])
	require.Equal(t, "traffic", history[1].(object)["reason"])
	require.Equal(t, "Bia", history[1].(object)["user"])
}

func TestGroupsFillUp(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"capacity": 3})
	first := p.Book(0)
	p.Book(0)
	require.EqualValues(t, 1, p.Availability("&date=2026-03-02")["slots"].([]any)[0].(object)["remaining"])
	p.Book(0)
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0))
	p.Transition(200, "cancel", first, nil)
	p.Book(0)
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0))
}

// Taking back a no-show: its count, its forfeited deposit, and its time where that is
// still there.
func TestReopenANoShow(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	made := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id := made["appointment_id"].(string)
	p.PayCharge(p.DepositTxID(id))
	client := p.Appointment(id)["client_id"].(string)
	missed := func() any { return p.OK(200, "GET", "/clients/"+client, nil)["no_show_count"] }
	require.Equal(t, "forfeited", p.Transition(200, "noshow", id, nil)["deposit_status"])
	require.EqualValues(t, 1, missed())

	other := p.Book(0) // the time is free again
	require.NotEmpty(t, p.Refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reopen", nil)["alternatives"])
	require.Equal(t, "no_show", p.Appointment(id)["status"])
	require.EqualValues(t, 1, missed(), "nothing changed")
	p.Transition(200, "cancel", other, object{})
	back := p.Transition(200, "reopen", id, nil)
	require.Equal(t, "confirmed", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Nil(t, back["no_show_at"])
	require.EqualValues(t, 0, missed())
	told := p.EventTypes()
	require.Equal(t, []string{"appointment.cancelled", "appointment.created"}, told[len(told)-2:], "who was told of the no-show hears that it takes place")
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0))
	require.Equal(t, back["version"], p.Transition(200, "confirm", id, nil)["version"], "in its own state nothing happens")
	require.Equal(t, back["version"], p.Transition(200, "reopen", id, nil)["version"])
}
