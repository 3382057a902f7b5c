package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestRecords(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient("+5511987654321")
	path := "/patients/" + id + "/records"
	created := clinic.AddStaff().OK(201, "POST", path, object{
		"date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "content": "Long story, F32.1", "summary": "Back in a week",
		"url": "https://clinic.example.com/r/7",
	})
	require.Equal(t, "N", created["sensitivity"])
	require.Equal(t, "Long story, F32.1", created["content"])
	require.Equal(t, "https://clinic.example.com/r/7", created["url"])
	clinic.OK(201, "POST", path, object{"date": "2026-03-04", "type": "psychiatry", "professional": "Dr. Rui", "url": "https://files.example/psychiatry/1", "summary": "secret R", "sensitivity": "R"})
	clinic.OK(201, "POST", path, object{"date": "2026-03-03", "type": "hiv", "summary": "secret V", "sensitivity": "V"})
	list := clinic.Items(path)
	require.Len(t, list, 3)
	require.Equal(t, created, list[2])
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.records where clinic_id = $1 and position('story' in encode(content_enc, 'escape')) > 0`))

	key := clinic.NewKey("record.read")
	got := key.Get("/integrations/search/records?patient_id=" + id)["records"].([]any)
	require.Len(t, got, 2, "what is very restricted is not there")
	restricted, normal := got[0].(object), got[1].(object)
	require.Equal(t, "restricted", restricted["type"])
	require.Equal(t, "***", restricted["summary"])
	require.Equal(t, "***", restricted["professional"])
	require.Empty(t, restricted["url"])
	require.Equal(t, object{
		"id": created["id"], "date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "summary": "Back in a week", "url": "https://clinic.example.com/r/7",
	}, normal)
	require.Len(t, key.Get("/integrations/search/records?limit=1&patient_id=" + id)["records"], 1)
	for _, limit := range []string{"0", "101", "x", "-1"} {
		require.Equal(t, 422, key.Call("GET", "/integrations/search/records?patient_id="+id+"&limit="+limit, nil).Status)
	}
	clinic.NewKey("patient.search").Refused(403, "missing_scope", "GET", "/integrations/search/records?patient_id="+id, nil)

	for location, bad := range map[string]object{
		"body.date":    {"date": "2026-13-01", "type": "x"},
		"body.type":    {"date": "2026-03-02", "type": ""},
		"body.url":     {"date": "2026-03-02", "type": "x", "url": "javascript:alert(1)"},
		"body.summary": {"date": "2026-03-02", "type": "x", "summary": strings.Repeat("x", 501)},
	} {
		clinic.Invalid(location, "POST", path, bad)
	}
	clinic.Invalid("body.sensitivity", "POST", path, object{"date": "2026-03-02", "type": "x", "sensitivity": "Z"})
	for _, space := range []string{" ", "\u00a0", "\u2028"} { // FHIR has no addresses with one
		clinic.Invalid("body.url", "POST", path, object{"date": "2026-03-02", "type": "x", "url": "https://clinic.example.com/my" + space + "file"})
	}
}

func TestFreeTextIsScrubbed(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient("+5511987654321")
	const text = "CPF 123.456.789-09, diagnosis F32.1 and J45"
	const scrubbed = "CPF ***.***.***-09, diagnosis *** and ***"
	require.Equal(t, scrubbed, clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "x", "summary": text})["summary"])
	require.Equal(t, scrubbed, clinic.OK(201, "POST", "/patients/"+id+"/interactions", object{"interaction_type": "call", "summary": text})["summary"])
	require.Equal(t, scrubbed, clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "description": text, "due_date": "2026-03-02", "status": "paid"})["description"])
	for _, e := range clinic.Events() {
		for _, field := range []string{"summary", "description"} {
			if said, ok := e.Data[field]; ok {
				require.Equal(t, scrubbed, said, e.Type)
			}
		}
	}
}
