package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Diagnosis codes are masked in every field that other products see.
func TestDiagnosesStayInTheClinic(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging := clinic.ConnectPeer("messaging")
	id := clinic.AddPatient(clinictest.Phone)
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "F32.1 follow-up", "professional": "Dr. Rui F32.1", "summary": "F32.1", "url": "https://x.example/F32.1"})
	plain := clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-03", "type": "x", "url": "https://x.example/1b9d6bcd-bbfd-e123-9b5d-ab8dfbbd4bed"})
	clinic.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2026-03-02T09:00:00Z", "service": "Session F32.1", "professional": "Dr. Rui F32.1", "status": "completed"})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-03-02", "status": "paid", "description": "F32.1", "method": "plan F32.1"})
	require.Equal(t, "Session F32.1", clinic.Items("/patients/" + id + "/appointments")[0]["service"], "its own users read what they wrote")
	require.Equal(t, "https://x.example/F32.1", clinic.Items("/patients/" + id + "/records")[1]["url"])
	require.Eventually(t, func() bool {
		return len(messaging.Received("payment.received")) == 1 && len(messaging.Received("record.created")) == 2
	}, clinictest.Timeout, clinictest.Tick)
	for _, event := range messaging.Events {
		require.NotContains(t, clinictest.JSON(t, event.Data), "F32", event.Type)
	}
	key := clinic.NewKey()
	for _, path := range []string{
		"/integrations/search/records?patient_id=" + id, "/integrations/search/appointments?patient_id=" + id, "/fhir/Appointment", "/fhir/Encounter", "/fhir/DocumentReference",
	} {
		got := key.Call("GET", path, nil)
		require.Equal(t, 200, got.Status, got.Text)
		require.NotContains(t, got.Text, "F32", path)
		require.Contains(t, got.Text, "***", path)
	}
	records := key.Get("/integrations/search/records?patient_id=" + id)["records"].([]any)
	require.Equal(t, plain["url"], records[0].(object)["url"])
	require.Contains(t, records[1].(object)["url"], "/patients/records/"+records[1].(object)["id"].(string), "the page that says nothing")
}
