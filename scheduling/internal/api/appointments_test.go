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

func TestBookingWarnsAndRefusesTakenSlots(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	created := org.OK(201, "POST", "/appointments", org.AppointmentBody(0))
	require.Equal(t, "scheduled", created["status"])
	require.Equal(t, "dashboard", created["source"])
	require.Equal(t, "2026-03-02T09:00:00-03:00", created["start_at"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", created["end_at"])
	require.EqualValues(t, 80, created["price"])
	require.Equal(t, "Caio", created["client"].(object)["name"])
	require.Empty(t, created["warnings"])
	require.NotContains(t, created, "cancel_token")
	require.Equal(t, []any{"outside_working_hours"}, org.OK(201, "POST", "/appointments", org.AppointmentBody(-2*time.Hour))["warnings"])
	require.Equal(t, []any{"outside_working_hours", "in_the_past"}, org.OK(201, "POST", "/appointments", org.AppointmentBody(-100*time.Hour))["warnings"])

	got := org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(15*time.Minute))
	require.Equal(t, "Time slot not available", got["detail"])
	alternatives := got["alternatives"].([]any)
	require.Len(t, alternatives, 3)
	require.Equal(t, "2026-03-02T09:30:00-03:00", alternatives[0].(object)["start_at"])
	over := org.AppointmentBody(15 * time.Minute)
	over["overbook"] = true
	require.Equal(t, true, org.OK(201, "POST", "/appointments", over)["overbooked"])
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(30*time.Minute))

	for location, change := range map[string]object{
		"body.start_at": {"start_at": "2026-03-02T09:00:00"}, "body.client_id": {"client_id": "x"}, "body.notes": {"notes": strings.Repeat("x", 2001)},
	} {
		draft := org.AppointmentBody(time.Hour)
		for name, value := range change {
			draft[name] = value
		}
		org.Invalid(location, "POST", "/appointments", draft)
	}
	for _, field := range []string{"client_id", "professional_id", "service_id"} {
		draft := org.AppointmentBody(time.Hour)
		draft[field] = uuid.NewString()
		org.Refused(404, "not_found", "POST", "/appointments", draft)
	}
	draft := org.AppointmentBody(time.Hour)
	draft["professional_id"] = org.AddUnscheduledProfessional("Eva")
	org.Refused(422, "service_not_offered", "POST", "/appointments", draft)
	require.Len(t, org.List("/appointments"), 4)
}

func TestIdempotencyKeyBooksOnce(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	first := org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k1")
	require.Equal(t, first["id"], org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k1")["id"])
	org.Refused(409, "idempotency_key_reused", "POST", "/appointments", org.AppointmentBody(time.Hour), "Idempotency-Key", "k1")
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k2")
	refused := org.Refused(422, "validation_failed", "POST", "/appointments", org.AppointmentBody(2*time.Hour), "Idempotency-Key", "")
	require.Equal(t, "header.Idempotency-Key", refused["errors"].([]any)[0].(object)["location"])
	require.Len(t, org.List("/appointments"), 1)
	require.Len(t, org.Hub.Events(org.ID), 1)
}

// Keys often have the client's address or number: only a hash is stored. A key that a version
// before stored in clear still counts.
func TestIdempotencyKeysAreStoredHashed(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	const key = "book-zulmira@example.com"
	first := org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", key)
	require.Zero(t, org.Count("scheduling.idempotency where org_id = $1 and key ~ 'zulmira'", org.ID))
	org.Exec(`update scheduling.idempotency set key = $2 where org_id = $1`, org.ID, key)
	require.Equal(t, first["id"], org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", key)["id"])
	org.Refused(409, "idempotency_key_reused", "POST", "/appointments", org.AppointmentBody(time.Hour), "Idempotency-Key", key)
	require.Equal(t, 1, org.Count("scheduling.idempotency where org_id = $1", org.ID))
}

func TestListAppointments(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	first, second, tuesday := org.Book(0), org.Book(time.Hour), org.Book(24*time.Hour)
	org.Transition(200, "confirm", second, nil)
	ids := func(query string) []string {
		found := []string{}
		for _, item := range org.List("/appointments" + query) {
			found = append(found, item["id"].(string))
		}
		return found
	}
	require.Equal(t, []string{first, second, tuesday}, ids(""))
	require.Equal(t, []string{first, second}, ids("?date=2026-03-02"))
	require.Equal(t, []string{first, tuesday}, ids("?status=scheduled"))
	require.Equal(t, []string{first, second, tuesday}, ids("?status=scheduled&status=confirmed&professional_id="+org.ProfessionalID))
	require.Equal(t, []string{second}, ids("?status=confirmed&date=2026-03-02&client_id="+org.ClientID))
	require.Empty(t, ids("?client_id="+uuid.NewString()))
	require.Equal(t, []string{tuesday}, ids("?date_from=2026-03-03&date_to=2026-03-05"))
	got := org.Call("GET", "/appointments?per_page=2&page=2", nil)
	require.Len(t, got.List, 1)
	require.Equal(t, "3", got.Header.Get("X-Total-Count"))
	require.Contains(t, got.Header.Get("Link"), `page=1&per_page=2>; rel="prev"`)
	org.Refused(422, "validation_failed", "GET", "/appointments?status=gone", nil)
	org.Refused(422, "validation_failed", "GET", "/appointments?per_page=501", nil)
	org.Invalid("query.date", "GET", "/appointments?date=x", nil)
	org.Invalid("query.date_to", "GET", "/appointments?date_from=2026-01-01&date_to=2026-12-31", nil)
}

// The state machine's matrix, over HTTP.
func TestActions(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
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
			id := org.Book(time.Duration(n) * 48 * time.Hour)
			for _, step := range reach[status] {
				org.Transition(200, step, id, nil)
			}
			var body any
			if action == "reschedule" {
				body = object{"start_at": org.At(time.Duration(n)*48*time.Hour + time.Hour)}
			}
			before := org.OK(200, "GET", "/appointments/"+id, nil)
			require.Equal(t, status, before["status"])
			got := org.Call("POST", "/appointments/"+id+"/"+action, body)
			require.Equal(t, row[i], got.Status, "%s of %s: %s", action, status, got.Text)
			after := org.OK(200, "GET", "/appointments/"+id, nil)
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
	org.Refused(404, "not_found", "POST", "/appointments/"+uuid.NewString()+"/confirm", nil)
}

func TestCancelFreesTheTime(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	done := org.Transition(200, "cancel", id, object{"reason": "ill"})
	require.Equal(t, "ill", done["reason"])
	require.Equal(t, "staff", done["cancelled_by"])
	require.NotNil(t, done["cancelled_at"])
	org.Book(0)
	org.Invalid("body.reason", "POST", "/appointments/"+id+"/cancel", object{"reason": strings.Repeat("x", 501)})
}

// The texts of start_at: a missing offset is said in the words of the cases, other forms with
// the one to use.
func TestFormsOfStartAt(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	body := func(start string) object {
		draft := org.AppointmentBody(0)
		draft["start_at"] = start
		return draft
	}
	for _, text := range []string{"2026-03-02T09:00:00", "2026-03-02T09:00", "2026-03-02", "2026-03-02 09:00:00", "tomorrow", ""} {
		refused := org.Refused(422, "validation_failed", "POST", "/appointments", body(text))
		require.Equal(t, "start_at needs a UTC offset", refused["detail"], text)
		require.Equal(t, []any{object{"location": "body.start_at", "message": "needs a UTC offset"}}, refused["errors"], text)
	}
	for _, text := range []string{"2026-03-02T09:00:00-0300", "2026-03-02T09:00:00-03", "2026-03-02T09:00:00+3", "2026-03-02T09:00:60Z", "2026-02-30T09:00:00Z", "2026-03-02t09:00:00z"} {
		require.Contains(t, org.Refused(422, "validation_failed", "POST", "/appointments", body(text))["detail"], "of the form 2026-03-02T09:00:00-03:00", text)
	}
	require.Contains(t, org.Refused(422, "validation_failed", "POST", "/appointments", body("1969-03-02T09:00:00Z"))["detail"], "must be from 1970 to 9998")
	require.Equal(t, org.At(0), org.OK(201, "POST", "/appointments", body("2026-03-02T12:00:00.123Z"))["start_at"], "fractions of a second are dropped")
	require.Equal(t, org.At(time.Hour), org.OK(201, "POST", "/appointments", body("2026-03-02T13:00Z"))["start_at"])
}

func TestRescheduleAndEdit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id, other := org.Book(0), org.Book(time.Hour)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"price": 100, "duration_minutes": 60})
	moved := org.Transition(200, "reschedule", id, object{"start_at": org.At(15 * time.Minute), "reason": "traffic"})
	require.Equal(t, org.At(15*time.Minute), moved["start_at"], "its own time does not count")
	require.EqualValues(t, 30, moved["duration_minutes"], "length and price are kept")
	require.EqualValues(t, 80, moved["price"])
	require.EqualValues(t, 1, moved["rescheduled_count"])
	require.Equal(t, org.At(0), moved["original_start_at"])
	got := org.Refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reschedule", object{"start_at": org.At(time.Hour)})
	require.Len(t, got["alternatives"], 3)
	org.Invalid("body.start_at", "POST", "/appointments/"+id+"/reschedule", object{"start_at": "tomorrow"})
	org.Refused(422, "validation_failed", "POST", "/appointments/"+id+"/reschedule", object{})

	path := "/appointments/" + id
	edited := org.OK(200, "PUT", path, object{"notes": "window seat", "price": 70, "start_at": org.At(2 * time.Hour)})
	require.Equal(t, "window seat", edited["notes"])
	require.EqualValues(t, 70, edited["price"])
	require.EqualValues(t, 2, edited["rescheduled_count"])
	org.Refused(409, "slot_unavailable", "PUT", path, object{"notes": "lost", "start_at": org.At(time.Hour)})
	require.Equal(t, "window seat", org.OK(200, "GET", path, nil)["notes"], "never a partial write")
	for _, status := range []any{"confirmed", nil, 1, object{}} {
		org.InvalidWith("status_read_only", "body.status", "PUT", path, object{"status": status})
	}
	org.Refused(412, "version_mismatch", "PUT", path, object{"notes": "x"}, "If-Match", "1")
	org.OK(200, "PUT", path, object{"notes": "x"}, "If-Match", fmt.Sprint(org.OK(200, "GET", path, nil)["version"]))
	eva := org.AddProfessional("Eva", org.ServiceID)
	require.Equal(t, "Eva", org.Transition(200, "reschedule", other, object{"start_at": org.At(time.Hour), "professional_id": eva})["professional"].(object)["name"])

	// Each new time and each new professional is published under the same id; notes and prices are not.
	events := org.Hub.Events(org.ID)
	require.Len(t, events, 5, "two bookings, three moves")
	for _, move := range []struct {
		event        int
		id, at, with string
	}{{2, id, org.At(15 * time.Minute), "Ana"}, {3, id, org.At(2 * time.Hour), "Ana"}, {4, other, org.At(time.Hour), "Eva"}} {
		publishedEvent := events[move.event]
		require.Equal(t, "appointment.created", publishedEvent.Type)
		require.Equal(t, move.id, publishedEvent.Data["appointment_id"])
		require.Equal(t, move.with, publishedEvent.Data["professional"])
		when, err := time.Parse(time.RFC3339, move.at)
		require.NoError(t, err)
		require.Equal(t, when.UTC().Format(time.RFC3339), publishedEvent.Data["datetime"])
	}
	org.OK(200, "PUT", path, object{"client_id": org.OK(201, "POST", "/clients", object{"name": "Rui", "phone": "+351912345678"})["id"]})
	events = org.Hub.Events(org.ID)
	require.Len(t, events, 6)
	require.Equal(t, "+351912345678", events[5].Data["client_phone"], "it is somebody else's now")

	history := org.OK(200, "GET", path, nil)["history"].([]any)
	require.Len(t, history, 6, "with three edits")
	require.Equal(t, "create", history[0].(object)["action"])
	require.Equal(t, "reschedule", history[1].(object)["action"])
	require.Equal(t, "traffic", history[1].(object)["reason"])
	require.Equal(t, "Bia", history[1].(object)["user"])
}

func TestGroupsFillUp(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"capacity": 3})
	first := org.Book(0)
	org.Book(0)
	require.EqualValues(t, 1, org.Availability("&date=2026-03-02")["slots"].([]any)[0].(object)["remaining"])
	org.Book(0)
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))
	org.Transition(200, "cancel", first, nil)
	org.Book(0)
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))
}

// Taking back a no-show: its count, its forfeited deposit, and its time where that is
// still there.
func TestReopenANoShow(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.PayCharge(org.DepositTxID(id))
	client := org.Appointment(id)["client_id"].(string)
	missed := func() any { return org.OK(200, "GET", "/clients/"+client, nil)["no_show_count"] }
	require.Equal(t, "forfeited", org.Transition(200, "noshow", id, nil)["deposit_status"])
	require.EqualValues(t, 1, missed())

	other := org.Book(0) // the time is free again
	require.NotEmpty(t, org.Refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reopen", nil)["alternatives"])
	require.Equal(t, "no_show", org.Appointment(id)["status"])
	require.EqualValues(t, 1, missed(), "nothing changed")
	org.Transition(200, "cancel", other, object{})
	back := org.Transition(200, "reopen", id, nil)
	require.Equal(t, "confirmed", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Nil(t, back["no_show_at"])
	require.EqualValues(t, 0, missed())
	eventTypes := org.EventTypes()
	require.Equal(t, []string{"appointment.cancelled", "appointment.created"}, eventTypes[len(eventTypes)-2:], "the receiver of the no-show hears that it takes place")
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))
	require.Equal(t, back["version"], org.Transition(200, "confirm", id, nil)["version"], "in its own state nothing happens")
	require.Equal(t, back["version"], org.Transition(200, "reopen", id, nil)["version"])
}

// A no-show in a group returns to any free seat: its own may be another client's by then.
func TestReopenANoShowInAGroup(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"capacity": 2})
	missed, other := org.Book(0), org.Book(0)
	org.Transition(200, "noshow", missed, nil)
	org.Book(0)
	org.Refused(409, "slot_unavailable", "POST", "/appointments/"+missed+"/reopen", nil)
	org.Transition(200, "cancel", other, object{})
	org.Transition(200, "reopen", missed, nil)
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))
}
