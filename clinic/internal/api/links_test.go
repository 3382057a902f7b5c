package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// The links in connected products open pages that show no data.
func TestLinksToRecordsAndAppointmentsOpen(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient("+5511987654321")
	key := clinic.NewKey()
	record := clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "summary": "Back in a week"})
	clinic.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2030-03-02T12:00:00Z", "service": "Cleaning"})
	found := key.Get("/integrations/search/records?patient_id=" + id)["records"].([]any)[0].(object)
	require.Equal(t, record["url"], found["url"])
	created := key.Get("/integrations/search/appointments?patient_id=" + id)["appointments"].([]any)[0].(object)
	for _, link := range []string{found["url"].(string), created["url"].(string)} {
		page := clinic.OpenLink(link + "?lang=en")
		require.Contains(t, page, "finds it in the application")
		require.NotContains(t, page, "Back in a week")
		require.NotContains(t, page, "Cleaning")
	}
}
