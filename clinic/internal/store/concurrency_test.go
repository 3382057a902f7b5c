package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	post := func(path string, body any) func() answer {
		return func() answer { return clinic.Call("POST", path, body) }
	}
	count := func(after int, kind string) (n int) {
		for _, eventType := range clinic.EventTypes(after) {
			if eventType == kind {
				n++
			}
		}
		return n
	}

	responses := moduletest.Concurrently(moduletest.Repeat(8, post("/patients", object{"name": "Ana", "cpf": clinictest.CPF}))...)
	require.Equal(t, map[int]int{201: 1, 409: 7}, moduletest.CountStatuses(responses), "one has the tax id")
	require.Equal(t, 1, count(0, "patient.created"))

	id := clinic.AddPatient(clinictest.Phone)
	owed := clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 5, "due_date": clinictest.DateIn(t, 5)})["id"].(string)
	responses = moduletest.Concurrently(append(moduletest.Repeat(6, post("/payments/"+owed+"/pay", object{"method": "pix"})), moduletest.Repeat(2, post("/payments/"+owed+"/cancel", nil))...)...)
	require.Equal(t, 8, moduletest.CountStatuses(responses)[200]+moduletest.CountStatuses(responses)[409], "%v", responses)
	if clinic.Items("/patients/" + id + "/payments")[0]["status"] == "paid" {
		require.Equal(t, 1, count(0, "payment.received"))
	} else {
		require.Zero(t, count(0, "payment.received"))
	}

	for range 30 {
		clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, -3)})
	}
	responses = moduletest.Concurrently(moduletest.Repeat(4, post("/payments/run-overdue", nil))...)
	found := 0
	for _, response := range responses {
		require.Equal(t, 200, response.Status, response.Text)
		found += int(response.Body["overdue"].(float64))
	}
	require.Equal(t, 30, found)
	require.Equal(t, 30, count(0, "payment.overdue"), "each once")

	for n := range 5 {
		messaging.Send("ignored", "message.received", object{"phone": fmt.Sprintf("+552199990000%d", n), "body": "Hi", "ticket_id": n + 100})
		entry := "/integrations/inbox/" + clinic.Items("/integrations/inbox")[0]["id"].(string)
		responses = moduletest.Concurrently(post(entry+"/link", object{"patient_id": id}), post(entry+"/dismiss", nil))
		require.Equal(t, map[int]int{200: 1, 409: 1}, moduletest.CountStatuses(responses), "%v", responses)
	}

	responses = moduletest.Concurrently(moduletest.Repeat(8, post("/patients/"+id+"/deletion-request", nil))...)
	require.Equal(t, map[int]int{202: 8}, moduletest.CountStatuses(responses), "%v", responses)
	for _, response := range responses {
		require.Equal(t, responses[0].Body["id"], response.Body["id"])
	}
	require.Equal(t, 1, count(0, "patient.deleted"))
}
