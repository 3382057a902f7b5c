package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Every list begins with the newest.
func TestListsBeginWithTheNewest(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	item, key := "/patients/"+id, clinic.NewKey()
	for _, day := range []string{"2026-03-02", "2026-03-04", "2026-03-01", "2026-03-03"} {
		clinic.OK(201, "POST", item+"/records", object{"date": day, "type": "x"})
		clinic.OK(201, "POST", item+"/appointments", object{"datetime": day + "T12:00:00Z"})
		clinic.OK(201, "POST", item+"/payments", object{"amount": 1, "due_date": day})
		clinic.OK(201, "POST", item+"/interactions", object{"interaction_type": "call", "summary": "x", "occurred_at": day + "T12:00:00Z"})
	}
	days := func(list []any, field string) (found []string) {
		for _, item := range list {
			found = append(found, item.(object)[field].(string)[:len("2026-03-02")])
		}
		return found
	}
	newest := []string{"2026-03-04", "2026-03-03", "2026-03-02", "2026-03-01"}
	for path, field := range map[string]string{"/records": "date", "/appointments": "datetime", "/payments": "due_date", "/interactions": "occurred_at"} {
		require.Equal(t, newest, days(clinic.Get(item + path)["items"].([]any), field), path)
		require.Equal(t, newest[2:], days(clinic.Get(item + path + "?per_page=2&page=2")["items"].([]any), field), path)
	}
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/appointments?limit=3&patient_id=" + id)["appointments"].([]any), "datetime"))
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/records?limit=3&patient_id=" + id)["records"].([]any), "date"))
}
