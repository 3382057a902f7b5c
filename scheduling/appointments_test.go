package scheduling_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func (p *plan) day(query string) object {
	p.t.Helper()
	return p.ok(200, "GET", "/availability?service_id="+p.service+"&professional_id="+p.professional+query, nil)
}

func starts(day object) []string {
	found := []string{}
	for _, slot := range day["slots"].([]any) {
		found = append(found, slot.(object)["start"].(string))
	}
	return found
}

func TestAvailability(t *testing.T) {
	t.Parallel()
	p := opened(t)
	day := p.day("&date=2026-03-02")
	require.Equal(t, "Ana", day["professional"])
	require.Equal(t, "Cut", day["service"])
	require.EqualValues(t, 30, day["duration"])
	require.Equal(t, "America/Sao_Paulo", day["timezone"])
	require.Equal(t, []string{"09:00", "09:30", "10:00", "10:30", "11:00", "11:30"}, starts(day))
	require.Equal(t, object{"start": "09:00", "end": "09:30", "start_at": "2026-03-02T09:00:00-03:00", "end_at": "2026-03-02T09:30:00-03:00"}, day["slots"].([]any)[0])
	p.book(30 * time.Minute)
	require.Equal(t, []string{"09:00", "10:00", "10:30", "11:00", "11:30"}, starts(p.day("&date=2026-03-02")))
	require.Empty(t, starts(p.day("&date=2026-03-01")), "a Sunday")
	require.Empty(t, starts(p.day("&date=2026-02-02")), "the past")
	p.invalid("query.date", "GET", "/availability?service_id="+p.service+"&professional_id="+p.professional+"&date=tomorrow", nil)
	p.refused(404, "not_found", "GET", "/availability?service_id="+uuid.NewString()+"&professional_id="+p.professional+"&date=2026-03-02", nil)
	p.refused(404, "not_found", "GET", "/availability?service_id="+p.service+"&professional_id="+uuid.NewString()+"&date=2026-03-02", nil)
	p.refused(422, "service_not_offered", "GET", "/availability?service_id="+p.service+"&professional_id="+p.unscheduled("Eva")+"&date=2026-03-02", nil)

	stranger := &plan{studio: p.as(""), service: p.service, professional: p.professional}
	require.Len(t, starts(stranger.day("&date=2026-03-02")), 5)
	p.as("nonsense").refused(401, "invalid_token", "GET", "/availability?service_id="+p.service+"&date=2026-03-02", nil)
	p.ok(200, "PUT", "/organization/settings", object{"min_notice_minutes": 4 * 24 * 60})
	require.Len(t, starts(p.day("&date=2026-03-02")), 5, "staff see every free slot")
	require.Empty(t, starts(stranger.day("&date=2026-03-02")))
	p.ok(200, "PUT", "/services/"+p.service, object{"is_public": false})
	stranger.refused(404, "not_found", "GET", "/availability?service_id="+p.service+"&date=2026-03-02", nil)
	require.Len(t, starts(p.day("&date=2026-03-02")), 5)
}

func TestMonthAgreesWithItsDays(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.book(0)
	second := p.studio.professional("Eva", p.service)
	p.ok(201, "POST", "/schedule-exceptions", object{"professional_id": second, "date": "2026-03-02", "exception_type": "block"})
	for _, who := range []string{"", "&professional_id=" + p.professional} {
		month := p.ok(200, "GET", "/availability/month?service_id="+p.service+"&month=2026-03"+who, nil)
		days := month["days"].([]any)
		require.Len(t, days, 31)
		for _, one := range days[:9] {
			day := one.(object)
			slots := starts(p.ok(200, "GET", "/availability?service_id="+p.service+who+"&date="+day["date"].(string), nil))
			require.EqualValues(t, len(slots), day["free"], day)
			if len(slots) > 0 {
				require.Equal(t, slots[0], day["first"])
			} else {
				require.Nil(t, day["first"])
			}
		}
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	p := opened(t)
	made := p.ok(201, "POST", "/appointments", p.draft(0))
	require.Equal(t, "scheduled", made["status"])
	require.Equal(t, "dashboard", made["source"])
	require.Equal(t, "2026-03-02T09:00:00-03:00", made["start_at"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", made["end_at"])
	require.EqualValues(t, 80, made["price"])
	require.Equal(t, "Caio", made["client"].(object)["name"])
	require.Empty(t, made["warnings"])
	require.NotContains(t, made, "cancel_token")
	require.Equal(t, []any{"outside_working_hours"}, p.ok(201, "POST", "/appointments", p.draft(-2*time.Hour))["warnings"])
	require.Equal(t, []any{"outside_working_hours", "in_the_past"}, p.ok(201, "POST", "/appointments", p.draft(-100*time.Hour))["warnings"])

	got := p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(15*time.Minute))
	require.Equal(t, "Time slot not available", got["detail"])
	alternatives := got["alternatives"].([]any)
	require.Len(t, alternatives, 3)
	require.Equal(t, "2026-03-02T09:30:00-03:00", alternatives[0].(object)["start_at"])
	over := p.draft(15 * time.Minute)
	over["overbook"] = true
	require.Equal(t, true, p.ok(201, "POST", "/appointments", over)["overbooked"])
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(30*time.Minute))

	for location, change := range map[string]object{
		"body.start_at": {"start_at": "2026-03-02T09:00:00"}, "body.client_id": {"client_id": "x"}, "body.notes": {"notes": longText(2001)},
	} {
		draft := p.draft(time.Hour)
		for name, value := range change {
			draft[name] = value
		}
		p.invalid(location, "POST", "/appointments", draft)
	}
	for _, field := range []string{"client_id", "professional_id", "service_id"} {
		draft := p.draft(time.Hour)
		draft[field] = uuid.NewString()
		p.refused(404, "not_found", "POST", "/appointments", draft)
	}
	draft := p.draft(time.Hour)
	draft["professional_id"] = p.unscheduled("Eva")
	p.refused(422, "service_not_offered", "POST", "/appointments", draft)
	require.Len(t, p.list("/appointments"), 4)
}

func TestIdempotencyKeyBooksOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	first := p.ok(201, "POST", "/appointments", p.draft(0), "Idempotency-Key", "k1")
	require.Equal(t, first["id"], p.ok(201, "POST", "/appointments", p.draft(0), "Idempotency-Key", "k1")["id"])
	p.refused(409, "idempotency_key_reused", "POST", "/appointments", p.draft(time.Hour), "Idempotency-Key", "k1")
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(0), "Idempotency-Key", "k2")
	require.Len(t, p.list("/appointments"), 1)
	require.Len(t, p.hub.Events(p.org), 1)
}

func TestListAppointments(t *testing.T) {
	t.Parallel()
	p := opened(t)
	first, second, tuesday := p.book(0), p.book(time.Hour), p.book(24*time.Hour)
	p.do(200, "confirm", second, nil)
	ids := func(query string) []string {
		found := []string{}
		for _, one := range p.list("/appointments" + query) {
			found = append(found, one["id"].(string))
		}
		return found
	}
	require.Equal(t, []string{first, second, tuesday}, ids(""))
	require.Equal(t, []string{first, second}, ids("?date=2026-03-02"))
	require.Equal(t, []string{first, tuesday}, ids("?status=scheduled"))
	require.Equal(t, []string{first, second, tuesday}, ids("?status=scheduled&status=confirmed&professional_id="+p.professional))
	require.Equal(t, []string{second}, ids("?status=confirmed&date=2026-03-02&client_id="+p.client))
	require.Empty(t, ids("?client_id="+uuid.NewString()))
	require.Equal(t, []string{tuesday}, ids("?date_from=2026-03-03&date_to=2026-03-05"))
	got := p.call("GET", "/appointments?per_page=2&page=2", nil)
	require.Len(t, got.list, 1)
	require.Equal(t, "3", got.header.Get("X-Total-Count"))
	require.Contains(t, got.header.Get("Link"), `page=1&per_page=2>; rel="prev"`)
	p.refused(422, "validation_failed", "GET", "/appointments?status=gone", nil)
	p.refused(422, "validation_failed", "GET", "/appointments?per_page=501", nil)
	p.invalid("query.date", "GET", "/appointments?date=x", nil)
	p.invalid("query.date_to", "GET", "/appointments?date_from=2026-01-01&date_to=2026-12-31", nil)
}

// The state machine's matrix, over HTTP.
func TestActions(t *testing.T) {
	t.Parallel()
	p := opened(t)
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
			id := p.book(time.Duration(n) * 48 * time.Hour)
			for _, step := range reach[status] {
				p.do(200, step, id, nil)
			}
			var body any
			if action == "reschedule" {
				body = object{"start_at": p.at(time.Duration(n)*48*time.Hour + time.Hour)}
			}
			before := p.ok(200, "GET", "/appointments/"+id, nil)
			require.Equal(t, status, before["status"])
			got := p.call("POST", "/appointments/"+id+"/"+action, body)
			require.Equal(t, row[i], got.status, "%s of %s: %s", action, status, got.text)
			after := p.ok(200, "GET", "/appointments/"+id, nil)
			switch {
			case got.status == 409:
				require.Equal(t, "invalid_transition", got.body["code"])
				require.Equal(t, status, got.body["appointment_status"])
				require.Contains(t, got.body, "allowed")
				require.Equal(t, before, after)
			case action != "reschedule" && slices.Contains(reach[status], action):
				require.Equal(t, before, after, "repeating changes nothing")
			}
		}
	}
	p.refused(404, "not_found", "POST", "/appointments/"+uuid.NewString()+"/confirm", nil)
}

func TestCancelFreesTheTime(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id := p.book(0)
	done := p.do(200, "cancel", id, object{"reason": "ill"})
	require.Equal(t, "ill", done["reason"])
	require.Equal(t, "staff", done["cancelled_by"])
	require.NotNil(t, done["cancelled_at"])
	p.book(0)
	p.invalid("body.reason", "POST", "/appointments/"+id+"/cancel", object{"reason": longText(501)})
}

func TestRescheduleAndEdit(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id, other := p.book(0), p.book(time.Hour)
	p.ok(200, "PUT", "/services/"+p.service, object{"price": 100, "duration_minutes": 60})
	moved := p.do(200, "reschedule", id, object{"start_at": p.at(15 * time.Minute), "reason": "traffic"})
	require.Equal(t, p.at(15*time.Minute), moved["start_at"], "its own time does not count")
	require.EqualValues(t, 30, moved["duration_minutes"], "length and price are kept")
	require.EqualValues(t, 80, moved["price"])
	require.EqualValues(t, 1, moved["rescheduled_count"])
	require.Equal(t, p.at(0), moved["original_start_at"])
	got := p.refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reschedule", object{"start_at": p.at(time.Hour)})
	require.Len(t, got["alternatives"], 3)
	p.invalid("body.start_at", "POST", "/appointments/"+id+"/reschedule", object{"start_at": "tomorrow"})
	p.refused(422, "validation_failed", "POST", "/appointments/"+id+"/reschedule", object{})

	path := "/appointments/" + id
	edited := p.ok(200, "PUT", path, object{"notes": "window seat", "price": 70, "start_at": p.at(2 * time.Hour)})
	require.Equal(t, "window seat", edited["notes"])
	require.EqualValues(t, 70, edited["price"])
	require.EqualValues(t, 2, edited["rescheduled_count"])
	p.refused(409, "slot_unavailable", "PUT", path, object{"notes": "lost", "start_at": p.at(time.Hour)})
	require.Equal(t, "window seat", p.ok(200, "GET", path, nil)["notes"], "never a partial write")
	require.Equal(t, "status_read_only", p.call("PUT", path, object{"status": "confirmed"}).body["code"])
	p.refused(412, "version_mismatch", "PUT", path, object{"notes": "x"}, "If-Match", "1")
	p.ok(200, "PUT", path, object{"notes": "x"}, "If-Match", fmt.Sprint(p.ok(200, "GET", path, nil)["version"]))
	eva := p.studio.professional("Eva", p.service)
	require.Equal(t, "Eva", p.do(200, "reschedule", other, object{"start_at": p.at(time.Hour), "professional_id": eva})["professional"].(object)["name"])

	// Each new time, and who else gives the service, is told under the same id; notes and prices are not.
	events := p.hub.Events(p.org)
	require.Len(t, events, 5, "two bookings, three moves")
	for _, move := range []struct {
		event        int
		id, at, with string
	}{{2, id, p.at(15 * time.Minute), "Ana"}, {3, id, p.at(2 * time.Hour), "Ana"}, {4, other, p.at(time.Hour), "Eva"}} {
		told := events[move.event]
		require.Equal(t, "appointment.created", told.Type)
		require.Equal(t, move.id, told.Data["appointment_id"])
		require.Equal(t, move.with, told.Data["professional"])
		when, err := time.Parse(time.RFC3339, move.at)
		require.NoError(t, err)
		require.Equal(t, when.UTC().Format(time.RFC3339), told.Data["datetime"])
	}
	p.ok(200, "PUT", path, object{"client_id": p.ok(201, "POST", "/clients", object{"name": "Rui", "phone": "+351912345678"})["id"]})
	events = p.hub.Events(p.org)
	require.Len(t, events, 6)
	require.Equal(t, "+351912345678", events[5].Data["client_phone"], "it is somebody else's now")

	history := p.ok(200, "GET", path, nil)["history"].([]any)
	require.Len(t, history, 6, "with three edits")
	require.Equal(t, "create", history[0].(object)["action"])
	require.Equal(t, "reschedule", history[1].(object)["action"])
	require.Equal(t, "traffic", history[1].(object)["reason"])
	require.Equal(t, "Bia", history[1].(object)["user"])
}

// What the document calls the end-to-end flow.
func TestClientTotals(t *testing.T) {
	t.Parallel()
	p := opened(t)
	kpis := p.ok(200, "GET", "/clients/"+p.client, nil)
	require.EqualValues(t, 0, kpis["total_appointments"])
	id := p.book(0)
	p.do(200, "confirm", id, nil)
	p.do(200, "complete", id, nil)
	paid := p.ok(201, "POST", "/payments", object{"appointment_id": id, "client_id": p.client, "amount": 80, "method": "pix", "description": "Cut"})
	require.Equal(t, "paid", paid["status"])
	who := p.ok(200, "GET", "/clients/"+p.client, nil)
	require.EqualValues(t, 1, who["total_appointments"])
	require.EqualValues(t, 80, who["total_spent"])
	require.Len(t, who["appointments"], 1)
	require.Len(t, who["payments"], 1)
	require.Equal(t, "paid", p.ok(200, "GET", "/appointments/"+id, nil)["payment_status"])
	p.do(200, "reopen", id, nil)
	require.EqualValues(t, 0, p.ok(200, "GET", "/clients/"+p.client, nil)["total_appointments"])

	statement := p.ok(200, "GET", "/payments?month=2026-02&status=paid", nil)
	require.EqualValues(t, 1, statement["total"])
	require.EqualValues(t, 80, statement["total_paid"])
	require.Equal(t, []any{object{"method": "pix", "amount": 80.0, "count": 1.0}}, statement["by_method"])
	require.EqualValues(t, 0, p.ok(200, "GET", "/payments?month=2026-03", nil)["total"])
	for location, change := range map[string]object{
		"body.amount": {"amount": 0}, "body.method": {"method": "gold"},
		"body.client_id": {"client_id": p.ok(201, "POST", "/clients", object{"name": "Davi"})["id"]},
	} {
		draft := object{"appointment_id": id, "client_id": p.client, "amount": 80, "method": "pix"}
		for name, value := range change {
			draft[name] = value
		}
		p.invalid(location, "POST", "/payments", draft)
	}
	p.invalid("body.amount", "POST", "/payments", object{"client_id": p.client, "amount": 1.005, "method": "cash"})
	p.refused(404, "not_found", "POST", "/payments", object{"appointment_id": uuid.NewString(), "client_id": p.client, "amount": 80, "method": "pix"})
}

// Each change publishes in its own transaction: without the event there is no change.
func TestEventsAndChangesStandOrFallTogether(t *testing.T) {
	t.Parallel()
	p := opened(t)
	kept, missed := p.book(0), p.book(time.Hour)
	p.hub.FailPublishing.Store(true)
	for _, change := range []func() answer{
		func() answer { return p.call("POST", "/appointments", p.draft(2*time.Hour)) },
		func() answer { return p.call("POST", "/appointments/"+kept+"/cancel", object{"reason": "x"}) },
		func() answer { return p.call("POST", "/appointments/"+missed+"/noshow", nil) },
		func() answer {
			return p.call("POST", "/appointments/"+kept+"/reschedule", object{"start_at": p.at(3 * time.Hour)})
		},
		func() answer { return p.call("PUT", "/appointments/"+kept, object{"start_at": p.at(3 * time.Hour)}) },
	} {
		require.Equal(t, 500, change().status)
	}
	p.hub.FailPublishing.Store(false)
	for _, one := range p.list("/appointments") {
		require.Equal(t, "scheduled", one["status"])
		require.EqualValues(t, 1, one["version"])
	}
	require.Len(t, p.list("/appointments"), 2)
	require.Len(t, p.ok(200, "GET", "/appointments/"+kept, nil)["history"], 1)
	require.EqualValues(t, 0, p.ok(200, "GET", "/clients/"+p.client, nil)["no_show_count"])

	p.do(200, "cancel", kept, object{"reason": "ill"})
	p.do(200, "noshow", missed, nil)
	events := p.hub.Events(p.org)
	require.Len(t, events, 4)
	require.Equal(t, "appointment.created", events[0].Type)
	require.Equal(t, object{
		"appointment_id": kept, "client_phone": "+5511987654321", "service": "Cut", "professional": "Ana", "datetime": "2026-03-02T12:00:00Z",
		"end_at": "2026-03-02T12:30:00Z", "status": "scheduled", "source": "dashboard",
	}, events[0].Data)
	require.Equal(t, "appointment.cancelled", events[2].Type)
	require.Equal(t, object{"appointment_id": kept, "reason": "ill"}, events[2].Data)
	require.Equal(t, "appointment.noshow", events[3].Type)
	require.Equal(t, object{"appointment_id": missed, "client_phone": "+5511987654321"}, events[3].Data)
}

// Fifty at once for one time, and for times that overlap by a quarter of an hour.
func TestFiftyAtOnceBookOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	for round, apart := range []time.Duration{0, 15 * time.Minute} {
		results := make(chan answer, 50)
		var ready, done sync.WaitGroup
		ready.Add(1)
		for i := range 50 {
			done.Go(func() {
				ready.Wait()
				draft := p.draft(time.Duration(round)*24*time.Hour + time.Duration(i%2)*apart)
				got, err := p.try("POST", "/appointments", draft)
				if err != nil {
					got.text = err.Error()
				}
				results <- got
			})
		}
		ready.Done()
		done.Wait()
		made := 0
		for range 50 {
			switch got := <-results; got.status {
			case 201:
				made++
			default:
				require.Equal(t, 409, got.status, got.text)
				require.Equal(t, "slot_unavailable", got.body["code"])
			}
		}
		require.Equal(t, 1, made)
		require.Len(t, p.list(fmt.Sprintf("/appointments?date=2026-03-0%d", 2+round)), 1)
	}
}

func TestGroupsFillUp(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/services/"+p.service, object{"capacity": 3})
	first := p.book(0)
	p.book(0)
	require.EqualValues(t, 1, p.day("&date=2026-03-02")["slots"].([]any)[0].(object)["remaining"])
	p.book(0)
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(0))
	p.do(200, "cancel", first, nil)
	p.book(0)
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(0))
}

func TestClients(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	joao := s.ok(201, "POST", "/clients", object{
		"name": "João da Silva", "phone": "(11) 98765-4321", "email": "joao@example.com", "cpf": "529.982.247-25", "birth_date": "1990-05-17",
		"notes": "n", "tags": []string{"vip"}, "total_spent": 99, "org_id": uuid.NewString(),
	})
	require.Equal(t, "(11) 98765-4321", joao["phone"], "as it was sent")
	require.Equal(t, "529.982.247-25", joao["cpf"])
	require.Equal(t, "1990-05-17", joao["birth_date"])
	require.EqualValues(t, 0, joao["total_spent"])
	require.Empty(t, joao["warnings"])
	maria := s.ok(201, "POST", "/clients", object{"name": "Maria 100%", "phone": "+55 11 98765-4321", "cpf": "11111111111"})
	require.Equal(t, []any{"cpf_check_digit"}, maria["warnings"])
	require.Equal(t, []any{joao["id"]}, maria["possible_duplicate_ids"])
	find := func(term string) []string {
		var found []object
		for _, one := range s.ok(200, "GET", "/clients?search="+term, nil)["items"].([]any) {
			found = append(found, one.(object))
		}
		return names(found)
	}
	for term, want := range map[string][]string{
		"joao": {"João da Silva"}, "JO%C3%83O": {"João da Silva"}, "silva": {"João da Silva"}, "98765": {"João da Silva", "Maria 100%"},
		"joao@ex": {"João da Silva"}, "52998224725": {"João da Silva"}, "529.982.247-25": {"João da Silva"}, "": {"João da Silva", "Maria 100%"},
		"0%25": {"Maria 100%"}, "%25a%25": nil, "nobody": nil,
	} {
		require.Equal(t, want, find(term), term)
	}
	page := s.ok(200, "GET", "/clients?per_page=1&page=2", nil)
	require.EqualValues(t, 2, page["total"])
	require.EqualValues(t, 2, page["pages"])
	require.Len(t, page["items"], 1)
	s.refused(422, "validation_failed", "GET", "/clients?per_page=101", nil)
	s.refused(422, "validation_failed", "GET", "/clients?page=0", nil)
	path := "/clients/" + joao["id"].(string)
	s.ok(200, "PUT", path, object{"email": nil, "cpf": nil})
	joao = s.ok(200, "GET", path, nil)
	require.Nil(t, joao["email"])
	require.Nil(t, joao["cpf"])
	require.Equal(t, "João da Silva", joao["name"])
	for location, body := range map[string]object{
		"body.name": {"name": ""}, "body.phone": {"phone": "123"}, "body.cpf": {"cpf": "123"}, "body.birth_date": {"birth_date": "2030-01-01"}, "body.email": {"email": "x"},
	} {
		s.invalid(location, "PUT", path, body)
	}
	s.refused(404, "not_found", "GET", "/clients/"+uuid.NewString(), nil)
	require.Equal(t, 400, s.call("GET", "/clients?search=%00", nil).status, "never a 5xx")
}
