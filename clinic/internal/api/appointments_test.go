package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestAppointments(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient("+5511987654321")
	path := "/patients/" + id + "/appointments"
	at := func(d time.Duration) string {
		return time.Now().Add(d).UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	past := clinic.OK(201, "POST", path, object{"datetime": at(-48 * time.Hour), "service": "Cleaning", "professional": "Dra. Lima", "status": "completed"})
	clinic.OK(201, "POST", path, object{"datetime": at(-24 * time.Hour), "service": "Cleaning", "status": "no_show"})
	next := clinic.AddStaff().OK(201, "POST", path, object{"datetime": at(24 * time.Hour), "service": "Check", "professional": "Dr. Reis"})
	clinic.OK(201, "POST", path, object{"datetime": at(12 * time.Hour), "status": "cancelled", "reason": "travelling"})
	require.Equal(t, "scheduled", next["status"])
	patient := clinic.Get("/patients/" + id)
	require.Equal(t, past["datetime"], patient["last_appointment"])
	require.Equal(t, next["datetime"], patient["next_appointment"])

	key := clinic.NewKey("appointment.read")
	require.Len(t, key.Get("/integrations/search/appointments?patient_id=" + id)["appointments"], 4)
	found := key.Get("/integrations/search/appointments?status=scheduled&patient_id=" + id)["appointments"].([]any)
	require.Len(t, found, 1)
	appointment := found[0].(object)
	require.True(t, strings.HasSuffix(appointment["url"].(string), next["id"].(string)))
	delete(appointment, "url")
	require.Equal(t, object{"id": next["id"], "datetime": next["datetime"], "service": "Check", "professional": "Dr. Reis", "status": "scheduled"}, appointment)
	key.Refused(422, "validation_failed", "GET", "/integrations/search/appointments?status=late&patient_id="+id, nil)
	clinic.NewKey("record.read").Refused(403, "missing_scope", "GET", "/integrations/search/appointments?patient_id="+id, nil)

	updated := clinic.OK(200, "PUT", "/appointments/"+next["id"].(string), object{"status": "confirmed"})
	require.Equal(t, "confirmed", updated["status"])
	require.Equal(t, next["datetime"], updated["datetime"])
	for location, bad := range map[string]object{
		"body.datetime": {"service": "x"}, "body.status": {"datetime": at(0), "status": "late"}, "body.service": {"datetime": at(0), "service": strings.Repeat("x", 201)},
	} {
		clinic.Invalid(location, "POST", path, bad)
	}
	clinic.Invalid("body.datetime", "POST", path, object{"datetime": "2026-03-02"})

	// Without an offset a time counts in the clinic's zone.
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "America/Manaus"})
	local := clinic.OK(201, "POST", path, object{"datetime": "2026-03-02T09:00:00"})
	require.Equal(t, "2026-03-02T13:00:00Z", local["datetime"])
	require.Equal(t, "2026-03-02T14:30:00Z", clinic.OK(200, "PUT", "/appointments/"+local["id"].(string), object{"datetime": "2026-03-02T10:30"})["datetime"])
	require.Len(t, clinic.Items(path+"?status=no_show"), 1)
}
