package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Every list begins with the newest.
func TestListsBeginWithTheNewest(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	one, key := "/patients/"+id, p.NewKey()
	for _, day := range []string{"2026-03-02", "2026-03-04", "2026-03-01", "2026-03-03"} {
		p.OK(201, "POST", one+"/records", object{"date": day, "type": "x"})
		p.OK(201, "POST", one+"/appointments", object{"datetime": day + "T12:00:00Z"})
		p.OK(201, "POST", one+"/payments", object{"amount": 1, "due_date": day})
		p.OK(201, "POST", one+"/interactions", object{"interaction_type": "call", "summary": "x", "occurred_at": day + "T12:00:00Z"})
	}
	days := func(list []any, field string) (found []string) {
		for _, one := range list {
			found = append(found, one.(object)[field].(string)[:len("2026-03-02")])
		}
		return found
	}
	newest := []string{"2026-03-04", "2026-03-03", "2026-03-02", "2026-03-01"}
	for path, field := range map[string]string{"/records": "date", "/appointments": "datetime", "/payments": "due_date", "/interactions": "occurred_at"} {
		require.Equal(t, newest, days(p.Get(one + path)["items"].([]any), field), path)
		require.Equal(t, newest[2:], days(p.Get(one + path + "?per_page=2&page=2")["items"].([]any), field), path)
	}
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/appointments?limit=3&patient_id=" + id)["appointments"].([]any), "datetime"))
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/records?limit=3&patient_id=" + id)["records"].([]any), "date"))
}
