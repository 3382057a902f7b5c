package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// documentedEvent is an event as the document has it, with what is read beside.
type documentedEvent struct {
	kind, product string
	data          object
	texts, ids    []string // members of its data that are read
	hints         []string // that are read where they are texts
}

// documentedEvents are the nine events, about a number that is nobody's.
func documentedEvents() []documentedEvent {
	const stranger, when = "+5521999998888", "2027-01-04T12:00:00Z"
	return []documentedEvent{
		{"message.received", "messaging", object{"phone": stranger, "name": "Rui", "body": "Hello", "ticket_id": "t-1"}, []string{"phone", "name", "body"}, []string{"ticket_id"}, []string{"email"}},
		{"message.sent", "messaging", object{"phone": stranger, "body": "Hello", "ticket_id": "t-2"}, []string{"phone", "body"}, []string{"ticket_id"}, []string{"name", "email"}},
		{"ticket.created", "messaging", object{"phone": stranger, "name": "Rui", "ticket_id": "t-3", "queue": "Sales"}, []string{"phone", "name", "queue"}, []string{"ticket_id"}, []string{"email"}},
		{"ticket.closed", "messaging", object{"ticket_id": "t-4", "resolution": "done"}, []string{"resolution"}, []string{"ticket_id"}, []string{"phone", "name", "email"}},
		{"contact.created", "messaging", object{"phone": stranger, "name": "Rui", "email": "rui@example.com"}, []string{"phone", "name", "email"}, nil, nil},
		{
			"appointment.created", "scheduling", object{"client_phone": stranger, "service": "Check", "professional": "Dr. Lima", "datetime": when, "appointment_id": "a-1", "status": "scheduled"},
			[]string{"client_phone", "service", "professional", "datetime", "status"}, []string{"appointment_id"}, []string{"client_name", "phone", "name", "email"},
		},
		{
			"appointment.cancelled", "scheduling", object{"appointment_id": "a-2", "reason": "ill", "datetime": when},
			[]string{"reason", "datetime"}, []string{"appointment_id"}, []string{"client_phone", "client_name", "phone", "name", "email"},
		},
		{
			"appointment.reminded", "scheduling", object{"appointment_id": "a-3", "client_phone": stranger, "datetime": when},
			[]string{"client_phone", "datetime"}, []string{"appointment_id"}, []string{"client_name", "phone", "name", "email"},
		},
		{
			"appointment.noshow", "scheduling", object{"appointment_id": "a-4", "client_phone": stranger, "datetime": when},
			[]string{"client_phone", "datetime"}, []string{"appointment_id"}, []string{"client_name", "phone", "name", "email"},
		},
	}
}

// Each member of each event: absent, null, of another type; and members of other events.
func TestMembersOfEvents(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	peers := map[string]*clinictest.Peer{"messaging": clinic.ConnectPeer("messaging"), "scheduling": clinic.ConnectPeer("scheduling")}
	waiting := func() int { return clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1`) }
	var example documentedEvent
	deliver := func(member string, value any) answer {
		data := object{}
		for name, is := range example.data {
			data[name] = is
		}
		data[member] = value
		if value == nil {
			delete(data, member)
		}
		if value == "null" {
			data[member] = nil
		}
		return peers[example.product].Deliver(hub.NewEventID(), example.kind, data)
	}
	waits := func(member string, value any) {
		t.Helper()
		before := waiting()
		got := deliver(member, value)
		require.Equal(t, 200, got.Status, "%s %s %v: %s", example.kind, member, value, got.Text)
		require.Equal(t, "ignored", got.Body["status"])
		require.Equal(t, before+1, waiting(), "%s %s %v", example.kind, member, value)
	}
	refused := func(member string, value any) {
		t.Helper()
		before := waiting()
		got := deliver(member, value)
		require.Equal(t, 400, got.Status, "%s %s %v: %s", example.kind, member, value, got.Text)
		require.Equal(t, "malformed", got.Body["code"])
		require.Equal(t, "body.data."+member, got.Body["errors"].([]any)[0].(object)["location"], "%s %v", example.kind, value)
		require.Equal(t, before, waiting())
	}
	wrong := []any{5, 1.5, true, []string{"x"}, object{"x": "y"}}
	known := []string{"phone", "client_phone", "name", "client_name", "email", "body", "queue", "resolution", "reason", "service", "professional", "datetime", "status", "ticket_id", "appointment_id"}
	for _, example = range documentedEvents() {
		read := strings.Join(append(append(append([]string{""}, example.texts...), example.ids...), example.hints...), " ") + " "
		for _, member := range known {
			if !strings.Contains(read, " "+member+" ") {
				for _, value := range wrong {
					waits(member, value)
				}
			}
		}
		waits("payload_version", object{"major": 2})
		for _, member := range example.hints {
			for _, value := range append(wrong, nil, "null") {
				waits(member, value)
			}
		}
		for _, member := range example.texts {
			for _, value := range wrong {
				refused(member, value)
			}
			if example.kind == "appointment.created" && member == "datetime" {
				refused(member, nil)
				refused(member, "null")
				continue
			}
			waits(member, nil)
			waits(member, "null")
		}
		if example.kind == "appointment.created" {
			for _, value := range []any{"banana", "Scheduled", " "} {
				refused("status", value)
			}
			for _, value := range []any{"", "confirmed", "completed"} {
				waits("status", value)
			}
		}
		for _, member := range example.ids {
			for _, value := range []any{1.5, true, []string{"x"}, object{"x": "y"}, strings.Repeat("é", 201)} {
				refused(member, value)
			}
			for _, value := range []any{nil, "null", 42, " ", strings.Repeat("é", 200)} {
				waits(member, value)
			}
		}
	}
	for _, example = range documentedEvents() {
		got := peers[example.product].Post([]byte(strings.Replace(string(peers[example.product].Envelope(hub.NewEventID(), example.kind, nil, clinic.Hub.Host.Now())), `"data":null`, `"data":[]`, 1)))
		require.GreaterOrEqual(t, got.Status, 400, "%s: %s", example.kind, got.Text)
		require.Less(t, got.Status, 500)
	}
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and external_id like '%.%'`), "no id is a decimal")
}

// The time of an appointment has to be an instant that JSON can represent.
func TestTimesOfEvents(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	for _, kind := range []string{"appointment.created", "appointment.cancelled", "appointment.reminded", "appointment.noshow"} {
		for n, when := range []string{"soon", " ", "2027-01-04", "2027-01-04T12", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+14:00", "1899-12-31T23:59:59Z", "9999-01-01T00:00:00Z"} {
			got := scheduling.Deliver(hub.NewEventID(), kind, object{"appointment_id": fmt.Sprint("b-", n), "client_phone": clinictest.Phone, "datetime": when})
			require.Equal(t, 400, got.Status, "%s %s: %s", kind, when, got.Text)
			require.Equal(t, "body.data.datetime", got.Body["errors"].([]any)[0].(object)["location"])
		}
	}
	require.Empty(t, clinic.Items("/patients/"+id+"/appointments"))
	require.Empty(t, clinic.Items("/integrations/inbox"))
	for n, when := range []string{"1900-01-01T00:00:00+14:00", "9998-12-31T23:59:59-14:00", "2027-01-04T12:00Z"} {
		scheduling.Send("accepted", "appointment.created", object{"appointment_id": fmt.Sprint("c-", n), "client_phone": clinictest.Phone, "datetime": when})
	}
	require.Len(t, clinic.Items("/patients/"+id+"/appointments"), 3)
}

// A stored time that JSON cannot represent does not hide other data.
func TestStoredTimesOutOfRange(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	insert := func(at string) error {
		_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status) values ($1, 'live', gen_random_uuid(), $2, $3::text::timestamptz, 'completed')`, clinic.ID, id, at)
		return err
	}
	outside := []string{"10000-01-01 00:00:59Z", "20000-01-01 00:00:00Z", "0002-01-01 00:00:00Z BC", "4000-01-01 00:00:00Z BC"}
	for _, at := range append(outside, "9999-01-02 00:00:00Z", "1899-12-30 23:59:59Z", "infinity", "-infinity") {
		require.ErrorContains(t, insert(at), "appointments_starts_at", at)
	}
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `alter table clinic.appointments drop constraint appointments_starts_at`)
	require.NoError(t, err)
	for _, at := range outside {
		require.NoError(t, insert(at))
	}
	key := clinic.NewKey()
	require.Len(t, clinic.Items("/patients/"+id+"/appointments"), 4)
	require.Len(t, key.Get("/integrations/search/appointments?patient_id=" + id)["appointments"], 4)
	require.Len(t, clinic.Get("/patients/" + id + "/export")["appointments"], 4)
	require.Equal(t, true, key.Get("/integrations/search/patients?phone=%2B5511987654321")["found"])
	for _, path := range []string{"/patients", "/patients/" + id, "/patients/" + id + "/export?format=fhir", "/fhir/Appointment", "/fhir/Encounter", "/fhir/Patient/" + id + "/$everything"} {
		require.Contains(t, clinic.Call("GET", path, nil).Text, id, path)
	}
	require.Equal(t, 4, strings.Count(clinic.Call("GET", "/patients/"+id+"/export?format=csv", nil).Text, "\nappointment,"))
}

// The documented products send their own events only. Unknown products may send any.
func TestSendersOfEvents(t *testing.T) {
	t.Parallel()
	p := clinictest.RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Connectors: []hub.Connector{clinictest.AnyPeer("messaging"), clinictest.AnyPeer("scheduling"), clinictest.AnyPeer("crm")}}))
	id := p.AddPatient(clinictest.Phone)
	other := map[string]*clinictest.Peer{"messaging": p.ConnectPeer("scheduling"), "scheduling": p.ConnectPeer("messaging")}
	crm := p.ConnectPeer("crm")
	theirs := documentedEvents()
	for _, event := range theirs {
		if event.data["appointment_id"] != nil {
			event.data["appointment_id"] = "a-1"
		}
		event.data["client_phone"], event.data["phone"] = clinictest.Phone, clinictest.Phone
		other[event.product].Send("ignored", event.kind, event.data)
	}
	require.Empty(t, p.History(id))
	require.Empty(t, p.Items("/patients/"+id+"/appointments"))
	require.Empty(t, p.Items("/integrations/inbox"))
	logged := p.Items("/integrations/webhook-logs?per_page=100")
	require.GreaterOrEqual(t, len(logged), len(theirs), "all of it is in the log")
	for _, event := range theirs {
		crm.Send("accepted", event.kind, event.data)
	}
	require.Len(t, p.History(id), len(theirs))
	require.Len(t, p.Items("/patients/"+id+"/appointments"), 1)
}

// Long texts of other products are truncated after masking, never refused.
func TestLongTextsOfEvents(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	const cpf, hidden = "529.982.247-25", "***.***.***-25"
	long := func(before string) string { return before + " " + strings.Repeat("é", 5000) }
	cut := func(before string, most int) string {
		return string([]rune(before + " " + strings.Repeat("é", 5000))[:most])
	}

	scheduling.Send("accepted", "appointment.created", object{
		"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": long("S " + cpf), "professional": long("P " + cpf), "datetime": "2027-01-04T12:00:00Z",
	})
	appointment := clinic.Items("/patients/" + id + "/appointments")[0]
	require.Equal(t, cut("S "+hidden, 200), appointment["service"])
	require.Equal(t, cut("P "+hidden, 120), appointment["professional"])
	require.Contains(t, clinic.History(id)[0], "appointment_created: "+cut("S "+hidden, 200)+", "+cut("P "+hidden, 120)+", 2027-01-04")
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": long("R " + cpf + " F32.1")})
	appointment = clinic.Items("/patients/" + id + "/appointments")[0]
	require.Equal(t, cut("R "+hidden+" ***", 500), appointment["reason"])
	require.Equal(t, "appointment_cancelled: "+cut("R "+hidden+" ***", 4000), clinic.History(id)[0])

	for kind, member := range map[string]string{"message.received": "body", "message.sent": "body", "ticket.created": "queue", "ticket.closed": "resolution"} {
		messaging.Send("accepted", kind, object{"phone": clinictest.Phone, "ticket_id": "t-1", member: long("M " + cpf + " F32.1")})
		require.Equal(t, strings.ReplaceAll(kind, ".", "_")+": "+cut("M "+hidden+" ***", 4000), clinic.History(id)[0])
	}

	messaging.Send("ignored", "contact.created", object{"phone": "+5521999998888", "name": long("N " + cpf), "email": long("x")})
	scheduling.Send("ignored", "appointment.reminded", object{"client_phone": "+5521999998888", "client_name": long("C " + cpf)})
	list := clinic.Items("/integrations/inbox")
	require.Equal(t, cut("C "+hidden, 120), list[0]["name"])
	require.Equal(t, cut("N "+hidden, 120), list[1]["name"])
	require.NotContains(t, clinic.Snapshot(), cpf)
}

// An entry that cannot be decrypted does not keep others from being linked.
func TestUnreadableInboxEntries(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	const stranger = "+5521999998888"
	scheduling.Send("ignored", "appointment.reminded", object{"client_phone": stranger, "appointment_id": "a-1"})
	scheduling.Send("ignored", "appointment.reminded", object{"client_phone": stranger, "appointment_id": "a-2"})
	list := clinic.Items("/integrations/inbox")
	entry := list[1]["id"].(string)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `update clinic.inbox set data_enc = $3 where clinic_id = $1 and id = $2`, clinic.ID, entry,
		clinic.Hub.Host.Sealer.Seal([]byte(`{"client_phone":"`+stranger+`","appointment_id":"a-1","datetime":"soon"}`), "inbox/"+entry))
	require.NoError(t, err)
	clinic.OK(200, "POST", "/integrations/inbox/"+list[0]["id"].(string)+"/link", object{"patient_id": id})
	require.Len(t, clinic.Items("/integrations/inbox"), 1)
	scheduling.Send("accepted", "appointment.created", object{"client_phone": clinictest.Phone, "appointment_id": "a-1", "datetime": "2027-01-04T12:00:00Z"})
	clinic.Refused(400, "malformed", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": id})
	clinic.OK(200, "POST", "/integrations/inbox/"+entry+"/dismiss", nil)
}
