package clinic_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
)

// CPF is valid; design and documents use it.
const CPF = "123.456.789-09"

// AddPatient makes one with a phone number and gives the id.
func (p *Clinic) AddPatient(phone string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone})["id"].(string)
}

func TestPatients(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	made := p.AddStaff().OK(201, "POST", "/patients", object{
		"name": " Ana Souza ", "phone": "(11) 98765-4321", "email": "ana@example.com", "cpf": CPF, "birth_date": "1990-05-17",
		"clinic_id": "0190b5a2-0000-7000-8000-000000000000", "balance_due": 7, "status": "active",
	})
	id := made["id"].(string)
	require.Equal(t, "Ana Souza", made["name"])
	require.Equal(t, "+5511987654321", made["phone"])
	require.Equal(t, "***.***.***-09", made["cpf"])
	require.Equal(t, "1990-05-17", made["birth_date"])
	require.EqualValues(t, 0, made["balance_due"])
	require.Nil(t, made["last_appointment"])
	require.Equal(t, made, p.Get("/patients/"+id))

	// A part of the fields; null empties.
	done := p.OK(200, "PUT", "/patients/"+id, object{"email": nil, "name": "Ana Lima"})
	require.Equal(t, "Ana Lima", done["name"])
	require.Nil(t, done["email"])
	require.Equal(t, made["phone"], done["phone"])
	require.Equal(t, made["cpf"], done["cpf"])

	other := p.OK(201, "POST", "/patients", object{"name": "Édson Lima"})["id"].(string)
	names := func(page object) (list []string) {
		for _, one := range moduletest.Items(page) {
			list = append(list, one["name"].(string))
		}
		return list
	}
	require.Equal(t, []string{"Ana Lima", "Édson Lima"}, names(p.Get("/patients")))
	require.Equal(t, []string{"Édson Lima"}, names(p.SearchPatients("EDSON")))
	require.Equal(t, []string{"Ana Lima"}, names(p.SearchPatients("98765-4321")))
	require.Empty(t, names(p.SearchPatients("%")))
	page := p.Get("/patients?per_page=1&page=2")
	require.EqualValues(t, 2, page["total"])
	require.Equal(t, "Édson Lima", page["items"].([]any)[0].(object)["name"])

	// Nobody is deleted: the law has the records kept.
	p.OK(204, "DELETE", "/patients/"+other, nil)
	require.Equal(t, "inactive", p.Get("/patients/" + other)["status"])
	require.Equal(t, []string{"Édson Lima"}, names(p.Get("/patients?status=inactive")))

	// Front desks put patients away and bring them back, by either way.
	desk := p.AddStaff()
	desk.OK(204, "DELETE", "/patients/"+id, nil)
	require.Equal(t, "active", desk.OK(200, "PUT", "/patients/"+id, object{"status": "active"})["status"])
	require.Equal(t, "inactive", desk.OK(200, "PUT", "/patients/"+id, object{"status": "inactive"})["status"])
	require.Equal(t, "active", desk.OK(200, "PUT", "/patients/"+other, object{"status": "active"})["status"])
}

func TestBadPatients(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	for location, bad := range map[string][]object{
		"body.name":       {{"name": ""}, {"name": " "}, {"name": strings.Repeat("x", 121)}, {}},
		"body.phone":      {{"name": "A", "phone": "123"}, {"name": "A", "phone": "0800-FLOWERS"}, {"name": "A", "phone": "+1234567890123456"}},
		"body.email":      {{"name": "A", "email": "nobody"}, {"name": "A", "email": "A <a@example.com>"}},
		"body.cpf":        {{"name": "A", "cpf": "123.456.789-08"}, {"name": "A", "cpf": "111.111.111-11"}, {"name": "A", "cpf": "1234567890"}, {"name": "A", "cpf": "x"}},
		"body.birth_date": {{"name": "A", "birth_date": "17/05/1990"}, {"name": "A", "birth_date": "2999-01-01"}, {"name": "A", "birth_date": "1990-02-30"}},
		"body.status":     {{"name": "A", "status": "anonymized"}, {"name": "A", "status": "x"}},
	} {
		for _, body := range bad {
			p.Invalid(location, "POST", "/patients", body)
		}
	}
	require.Empty(t, p.Items("/patients"))
	require.Empty(t, p.Events())

	// One CPF, one patient; another clinic may have the same person.
	p.OK(201, "POST", "/patients", object{"name": "A", "cpf": "12345678909"})
	p.Refused(409, "cpf_taken", "POST", "/patients", object{"name": "B", "cpf": CPF})
	other := p.OK(201, "POST", "/patients", object{"name": "B"})["id"].(string)
	p.Refused(409, "cpf_taken", "PUT", "/patients/"+other, object{"cpf": CPF})
	p.AnotherClinic().OK(201, "POST", "/patients", object{"name": "A", "cpf": CPF})
}

func TestTestDataIsApart(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	sandbox := p.InEnvironment("test")
	live := p.OK(201, "POST", "/patients", object{"name": "Ana", "phone": "+5511987654321", "cpf": CPF})["id"].(string)
	test := sandbox.OK(201, "POST", "/patients", object{"name": "Test", "phone": "+5511987654321", "cpf": CPF})["id"].(string)
	sandbox.Refused(404, "not_found", "GET", "/patients/"+live, nil)
	p.Refused(404, "not_found", "GET", "/patients/"+test, nil)
	require.Len(t, sandbox.Items("/patients"), 1)
	liveKey, testKey := p.NewKey(), sandbox.NewKey()
	require.Contains(t, testKey.Token, "cli_test_")
	testKey.Headers = nil
	require.Equal(t, live, liveKey.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	require.Equal(t, test, testKey.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	for _, path := range []string{"records", "appointments"} {
		testKey.Refused(404, "not_found", "GET", "/integrations/search/"+path+"?patient_id="+live, nil)
	}
	environments := map[string]hub.Environment{}
	for _, e := range p.Events() {
		environments[e.Data["name"].(string)] = e.Environment
	}
	require.Equal(t, map[string]hub.Environment{"Ana": "live", "Test": "test"}, environments)
	p.InEnvironment("both").Invalid("header.X-Environment", "GET", "/patients", nil)
}

func TestRevealedCPF(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	staff := p.AddStaff()
	id := p.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": CPF})["id"].(string)
	path := "/patients/" + id + "?reveal=cpf"
	shown := func() int {
		return p.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.reveal-cpf'`)
	}
	p.Refused(403, "reveal_forbidden", "GET", path, nil) // off by default
	p.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	staff.Refused(403, "reveal_forbidden", "GET", path, nil)
	require.Zero(t, shown())
	require.Equal(t, CPF, p.Get(path)["cpf"])
	require.Equal(t, 1, shown())
	require.Equal(t, 1, p.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.reveal-cpf' and resource_id = $2 and ip is not null`, id))
	require.Equal(t, "***.***.***-09", p.Get("/patients/" + id)["cpf"])
	p.NewKey("patient.search").Refused(401, "unauthorized", "GET", path, nil)
	require.Equal(t, 1, shown())
}

func TestRecords(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient("+5511987654321")
	path := "/patients/" + id + "/records"
	made := p.AddStaff().OK(201, "POST", path, object{
		"date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "content": "Long story, F32.1", "summary": "Back in a week",
		"url": "https://clinic.example.com/r/7",
	})
	require.Equal(t, "N", made["sensitivity"])
	require.Equal(t, "Long story, F32.1", made["content"])
	require.Equal(t, "https://clinic.example.com/r/7", made["url"])
	p.OK(201, "POST", path, object{"date": "2026-03-04", "type": "psychiatry", "professional": "Dr. Rui", "url": "https://files.example/psychiatry/1", "summary": "secret R", "sensitivity": "R"})
	p.OK(201, "POST", path, object{"date": "2026-03-03", "type": "hiv", "summary": "secret V", "sensitivity": "V"})
	list := p.Items(path)
	require.Len(t, list, 3)
	require.Equal(t, made, list[2])
	require.Equal(t, 0, p.QueryInt(`select count(*) from clinic.records where clinic_id = $1 and position('story' in encode(content_enc, 'escape')) > 0`))

	key := p.NewKey("record.read")
	got := key.Get("/integrations/search/records?patient_id=" + id)["records"].([]any)
	require.Len(t, got, 2, "what is very restricted is not there")
	restricted, normal := got[0].(object), got[1].(object)
	require.Equal(t, "restricted", restricted["type"])
	require.Equal(t, "***", restricted["summary"])
	require.Equal(t, "***", restricted["professional"])
	require.Empty(t, restricted["url"])
	require.Equal(t, object{
		"id": made["id"], "date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "summary": "Back in a week", "url": "https://clinic.example.com/r/7",
	}, normal)
	require.Len(t, key.Get("/integrations/search/records?limit=1&patient_id=" + id)["records"], 1)
	for _, limit := range []string{"0", "101", "x", "-1"} {
		require.Equal(t, 422, key.Call("GET", "/integrations/search/records?patient_id="+id+"&limit="+limit, nil).Status)
	}
	p.NewKey("patient.search").Refused(403, "missing_scope", "GET", "/integrations/search/records?patient_id="+id, nil)

	for location, bad := range map[string]object{
		"body.date":    {"date": "2026-13-01", "type": "x"},
		"body.type":    {"date": "2026-03-02", "type": ""},
		"body.url":     {"date": "2026-03-02", "type": "x", "url": "javascript:alert(1)"},
		"body.summary": {"date": "2026-03-02", "type": "x", "summary": strings.Repeat("x", 501)},
	} {
		p.Invalid(location, "POST", path, bad)
	}
	p.Invalid("body.sensitivity", "POST", path, object{"date": "2026-03-02", "type": "x", "sensitivity": "Z"})
	for _, space := range []string{" ", "\u00a0", "\u2028"} { // FHIR has no addresses with one
		p.Invalid("body.url", "POST", path, object{"date": "2026-03-02", "type": "x", "url": "https://clinic.example.com/my" + space + "file"})
	}
}

func TestFreeTextIsScrubbed(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient("+5511987654321")
	const text = "CPF 123.456.789-09, diagnosis F32.1 and J45"
	const scrubbed = "CPF ***.***.***-09, diagnosis *** and ***"
	require.Equal(t, scrubbed, p.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "x", "summary": text})["summary"])
	require.Equal(t, scrubbed, p.OK(201, "POST", "/patients/"+id+"/interactions", object{"interaction_type": "call", "summary": text})["summary"])
	require.Equal(t, scrubbed, p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "description": text, "due_date": "2026-03-02", "status": "paid"})["description"])
	for _, e := range p.Events() {
		for _, field := range []string{"summary", "description"} {
			if said, ok := e.Data[field]; ok {
				require.Equal(t, scrubbed, said, e.Type)
			}
		}
	}
}

func TestAppointments(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient("+5511987654321")
	path := "/patients/" + id + "/appointments"
	at := func(d time.Duration) string {
		return time.Now().Add(d).UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	past := p.OK(201, "POST", path, object{"datetime": at(-48 * time.Hour), "service": "Cleaning", "professional": "Dra. Lima", "status": "completed"})
	p.OK(201, "POST", path, object{"datetime": at(-24 * time.Hour), "service": "Cleaning", "status": "no_show"})
	next := p.AddStaff().OK(201, "POST", path, object{"datetime": at(24 * time.Hour), "service": "Check", "professional": "Dr. Reis"})
	p.OK(201, "POST", path, object{"datetime": at(12 * time.Hour), "status": "cancelled", "reason": "travelling"})
	require.Equal(t, "scheduled", next["status"])
	patient := p.Get("/patients/" + id)
	require.Equal(t, past["datetime"], patient["last_appointment"])
	require.Equal(t, next["datetime"], patient["next_appointment"])

	key := p.NewKey("appointment.read")
	require.Len(t, key.Get("/integrations/search/appointments?patient_id=" + id)["appointments"], 4)
	found := key.Get("/integrations/search/appointments?status=scheduled&patient_id=" + id)["appointments"].([]any)
	require.Len(t, found, 1)
	one := found[0].(object)
	require.True(t, strings.HasSuffix(one["url"].(string), next["id"].(string)))
	delete(one, "url")
	require.Equal(t, object{"id": next["id"], "datetime": next["datetime"], "service": "Check", "professional": "Dr. Reis", "status": "scheduled"}, one)
	key.Refused(422, "validation_failed", "GET", "/integrations/search/appointments?status=late&patient_id="+id, nil)
	p.NewKey("record.read").Refused(403, "missing_scope", "GET", "/integrations/search/appointments?patient_id="+id, nil)

	done := p.OK(200, "PUT", "/appointments/"+next["id"].(string), object{"status": "confirmed"})
	require.Equal(t, "confirmed", done["status"])
	require.Equal(t, next["datetime"], done["datetime"])
	for location, bad := range map[string]object{
		"body.datetime": {"service": "x"}, "body.status": {"datetime": at(0), "status": "late"}, "body.service": {"datetime": at(0), "service": strings.Repeat("x", 201)},
	} {
		p.Invalid(location, "POST", path, bad)
	}
	p.Invalid("body.datetime", "POST", path, object{"datetime": "2026-03-02T09:00:00"})
	require.Len(t, p.Items(path+"?status=no_show"), 1)
}

func TestPatientSearch(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511987654321", "email": "ana@example.com", "cpf": CPF, "birth_date": "1990-05-17"})["id"].(string)
	landline := p.AddPatient("+551133334444")
	foreign := p.AddPatient("+12125551234")
	old := p.AddPatient("+552187651111") // a mobile that was written down without its ninth digit
	key := p.NewKey("patient.search")
	found := func(query string) any {
		got := key.Get("/integrations/search/patients?phone=" + query)
		if got["found"] == false {
			require.Nil(t, got["patient"])
			return nil
		}
		return got["patient"].(object)["id"]
	}
	for _, phone := range []string{
		"+5511987654321", "5511987654321", "11987654321", "1187654321", "+551187654321", "+55 (11) 98765-4321", "011987654321", " 5511987654321",
	} {
		require.Equal(t, id, found(url.QueryEscape(phone)), phone)
	}
	require.Equal(t, id, found("+5511987654321"), "a plus that nobody escaped is a space")
	require.Equal(t, landline, found("1133334444"))
	require.Nil(t, found("%2B5511933334444"), "a mobile is no landline with a nine")
	require.Equal(t, foreign, found("%2B12125551234"))
	require.Equal(t, foreign, found("+12125551234"))
	require.Equal(t, old, found("%2B5521987651111"))
	require.Nil(t, found("%2B5511900000000"))
	require.Nil(t, p.AnotherClinic().NewKey().Get("/integrations/search/patients?phone=%2B5511987654321")["patient"])

	got := key.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"]
	require.Equal(t, object{
		"id": id, "name": "Ana Souza", "phone": "+5511987654321", "email": "ana@example.com", "cpf": "***.***.***-09", "birth_date": "1990-05-17",
		"last_appointment": nil, "next_appointment": nil, "balance_due": 0.0, "status": "active",
	}, got)
	for _, bad := range []string{"", "?phone=", "?phone=123", "?phone=abc", "?phone=%2B1234567890123456"} {
		require.Equal(t, 422, key.Call("GET", "/integrations/search/patients"+bad, nil).Status, bad)
	}
	p.NewKey("record.read").Refused(403, "missing_scope", "GET", "/integrations/search/patients?phone=11987654321", nil)
	p.Refused(401, "invalid_key", "GET", "/integrations/search/patients?phone=11987654321", nil)
	matches, err := p.Hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+5511987654321")
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, m := range matches {
		ids[m.TenantID.String()+" "+m.Kind+" "+m.ID] = true
	}
	require.True(t, ids[p.ID.String()+" patient "+id])
}
