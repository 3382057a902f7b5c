package erasure_test

import (
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// peers is where the products stand that were asked to forget.
func peers(deletion object) map[string]string {
	list := map[string]string{}
	for _, peer := range deletion["peers"].([]any) {
		list[peer.(object)["product"].(string)] = peer.(object)["status"].(string)
	}
	return list
}

func TestDeletionRequest(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Canario", "phone": "+5511977776666", "email": "zuleica@example.com", "cpf": clinictest.CPF, "birth_date": "1990-05-17"})["id"].(string)
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "content": "Story", "summary": "Zuleica is fine"})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 1), "description": "Zuleica"})
	clinic.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2027-01-04T12:00:00Z", "reason": "Zuleica travels"})
	messaging.Send("accepted", "message.received", object{"phone": "+5511977776666", "name": "Zuleica", "body": "I am Zuleica Canario", "ticket_id": 1})
	messaging.Send("ignored", "message.received", object{"phone": "+5521955554444", "name": "Zuleica Canario", "body": "From another phone", "ticket_id": 2})
	messaging.Send("ignored", "contact.created", object{"phone": "+5521933332222", "name": "Somebody"})
	clinic.OK(200, "POST", "/integrations/inbox/"+clinic.Items("/integrations/inbox")[1]["id"].(string)+"/link", object{"patient_id": id})
	clinic.AddStaff().Refused(403, "admin_only", "POST", "/patients/"+id+"/deletion-request", nil)

	scheduling.SetStatus(500)
	request := clinic.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	path := "/deletion-requests/" + request["id"].(string)
	require.Equal(t, "waiting", request["status"])
	require.Len(t, request["peers"], 2)
	require.Eventually(t, func() bool {
		return peers(clinic.Get(path))["messaging"] == "acknowledged"
	}, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "pending"}, peers(clinic.Get(path)))
	require.Equal(t, "waiting", clinic.Get(path)["status"])
	require.Equal(t, "+5511977776666", messaging.Received("patient.deleted")[0].Data["phone"])

	// Here it was forgotten at once.
	gone := clinic.Get("/patients/" + id)
	require.Equal(t, "anonymized", gone["status"])
	for _, field := range []string{"phone", "email", "cpf", "birth_date"} {
		require.Nil(t, gone[field], field)
	}
	require.NotContains(t, strings.ToLower(clinic.Snapshot()), "zuleica")
	for _, trace := range []string{"977776666", "955554444"} {
		require.NotContains(t, clinic.Snapshot(), trace)
	}
	opened := clinic.Call("GET", "/patients/"+id+"/records", nil, "X-Access-Reason", "A court asks for it").Body["items"].([]any)[0].(object)
	require.Equal(t, "Story", opened["content"], "the law has it kept")
	require.Equal(t, true, opened["locked"])
	require.Len(t, clinic.Items("/integrations/inbox"), 1, "others' news stay")

	// Nothing is added any more, nobody finds the patient, and asking again is the same request.
	for path, body := range map[string]object{
		"/records": {"date": "2026-03-02", "type": "x"}, "/appointments": {"datetime": "2027-01-04T12:00:00Z"},
		"/payments": {"amount": 1, "due_date": "2026-03-02"}, "/interactions": {"interaction_type": "call", "summary": "x"},
	} {
		clinic.Refused(409, "patient_anonymized", "POST", "/patients/"+id+path, body)
	}
	clinic.Refused(409, "patient_anonymized", "PUT", "/patients/"+id, object{"name": "Back"})
	key := clinic.NewKey()
	require.Equal(t, false, key.Get("/integrations/search/patients?phone=%2B5511977776666")["found"])
	key.Refused(404, "not_found", "GET", "/integrations/search/records?patient_id="+id, nil)
	require.Equal(t, request["id"], clinic.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)["id"])
	require.Len(t, messaging.Received("patient.deleted"), 1)
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 1, "resolution": "done"})

	scheduling.SetStatus(0) // it is tried again
	require.Eventually(t, func() bool {
		require.NoError(t, clinic.Job("deletions").Run(t.Context(), nil))
		return clinic.QueryInt(`select count(*) from clinic.deletion_requests where clinic_id = $1 and status = 'completed'`) == 1
	}, 2*clinictest.Timeout, 10*clinictest.Tick)
	finished := clinic.Get(path)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(finished))
	require.Equal(t, "completed", finished["status"])
	require.NotNil(t, finished["completed_at"])

	// And then nowhere in the database: the hub erased what its log had.
	for _, trace := range []string{"977776666", "zuleica@example.com"} {
		require.Eventually(t, func() bool { return len(hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, trace)) == 0 }, 2*clinictest.Timeout, 25*clinictest.Tick, trace)
	}
}

func TestDeletionWithoutPeers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	left := clinic.ConnectPeer("messaging")
	for _, item := range clinic.Call("GET", "/integrations/", nil).List {
		clinic.OK(200, "DELETE", "/integrations/"+item["id"].(string), nil)
	}
	request := clinic.OK(202, "POST", "/patients/"+clinic.AddPatient(clinictest.Phone)+"/deletion-request", nil)
	require.Equal(t, "completed", request["status"])
	require.Empty(t, request["peers"])
	require.Empty(t, left.Received("patient.deleted"))
}

// A product that does not subscribe to deletions has to be informed by a user.
func TestDeletionWithoutSubscription(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	again := clinic.As("").Call("POST", "/integrations/webhook/register", object{
		"registration_id": "0190b5a2-0000-7000-8000-000000000001", "product": "messaging", "environment": "live", "webhook_url": messaging.URL + "/hook",
		"webhook_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "api_key": "xyz_live_key", "events": []string{"payment.received"}, "features": []string{},
	}, "X-Integration-Key", messaging.Key)
	require.Equal(t, 200, again.Status, again.Text)
	request := clinic.OK(202, "POST", "/patients/"+clinic.AddPatient(clinictest.Phone)+"/deletion-request", nil)
	require.Equal(t, map[string]string{"messaging": "failed"}, peers(request))
	require.Equal(t, "needs_attention", request["status"])
	require.Nil(t, request["completed_at"])

	path := "/deletion-requests/" + request["id"].(string)
	clinic.AddStaff().Refused(403, "admin_only", "POST", path+"/peers/messaging/acknowledge", nil)
	clinic.AnotherClinic().Refused(404, "not_found", "POST", path+"/peers/messaging/acknowledge", nil)
	clinic.Refused(404, "not_found", "POST", path+"/peers/scheduling/acknowledge", nil)
	clinic.Invalid("body.note", "POST", path+"/peers/messaging/acknowledge", object{"note": strings.Repeat("x", 501)})
	for range 2 { // the first one stands
		acknowledged := clinic.OK(200, "POST", path+"/peers/messaging/acknowledge", object{"note": "by letter to 123.456.789-09"})
		require.Equal(t, "completed", acknowledged["status"])
		peer := acknowledged["peers"].([]any)[0].(object)
		require.Equal(t, "acknowledged", peer["status"])
		require.Equal(t, "by letter to ***.***.***-09", peer["note"])
		require.NotNil(t, peer["acknowledged_by"])
	}
	require.NotNil(t, clinic.Get(path)["completed_at"])
	require.Equal(t, 2, clinic.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'deletions.acknowledge' and status = 200`))
}

// Secrets and personal data are in no log, no URL and no response but their own. In the
// database they are encrypted.
func TestSecretsStayEncrypted(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	const digits, written, content = "70948140038", "709.481.400-38", "canary-content-4711"
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "phone": clinictest.Phone, "cpf": written})["id"].(string)
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "x", "content": content + " " + written, "summary": "about " + digits})
	clinic.Refused(409, "cpf_taken", "POST", "/patients", object{"name": "B", "cpf": digits})
	clinic.Invalid("body.cpf", "PUT", "/patients/"+id, object{"cpf": "709.481.400-39"})
	messaging.Send("accepted", "message.received", object{"phone": clinictest.Phone, "name": "Ana", "body": "My CPF: " + written, "ticket_id": 1})
	messaging.Send("ignored", "message.received", object{"phone": "+5511900009999", "name": "Bia", "body": "My CPF: " + written, "ticket_id": 2})
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	require.Equal(t, written, clinic.Get("/patients/" + id + "?reveal=cpf")["cpf"])
	require.Eventually(t, func() bool {
		return len(messaging.Received("record.created")) == 1 && len(messaging.Received("patient.created")) == 1
	}, clinictest.Timeout, clinictest.Tick)
	for _, event := range messaging.Events {
		for _, secret := range []string{digits, written, content} {
			require.NotContains(t, clinictest.JSON(t, event.Data), secret, event.Type)
		}
	}
	for _, path := range []string{
		"/patients", "/patients/" + id, "/patients/" + id + "/interactions", "/integrations/inbox", "/integrations/webhook-logs",
	} {
		got := clinic.Call("GET", path, nil)
		require.Equal(t, 200, got.Status, got.Text)
		require.NotContains(t, got.Text, digits, path)
		require.NotContains(t, got.Text, written, path)
	}
	for _, secret := range []string{digits, written, content, clinic.Token, messaging.Secret, messaging.Key} {
		require.NotContains(t, clinic.Hub.Log(), secret)
		require.NotContains(t, clinic.Snapshot(), secret)
	}
	clinic.Hub.FailPublishing.Store(true)
	require.Equal(t, 500, clinic.Call("POST", "/patients", object{"name": "Canary", "phone": clinictest.Phone, "cpf": "529.982.247-25"}).Status)
	require.Contains(t, clinic.Hub.Log(), "publishing is broken by the test", "failures are logged")
	for _, secret := range []string{"529.982.247-25", "52998224725", "Canary"} {
		require.NotContains(t, clinic.Hub.Log(), secret)
	}
	require.NotContains(t, clinic.Hub.Log(), clinictest.Phone)
	clinic.Call("GET", "/fhir/Patient?name=Canary&phone="+url.QueryEscape(clinictest.Phone), nil)
	clinic.Call("GET", "/nowhere/"+digits+"/Canary", nil)
	res, err := hubtest.HTTPClient.Get(clinic.Hub.URL + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	measured := string(raw)
	require.Contains(t, measured, `"clinic"`, "what the clinic does is measured")
	for _, secret := range []string{digits, written, content, clinic.Token, messaging.Secret, messaging.Key, clinictest.Phone, clinictest.Phone[1:], clinictest.Phone[3:], "Canary", "Ana", id, clinic.Email, clinic.ID.String()} {
		require.NotContains(t, measured, secret)
	}
}

// The list shows an acknowledgement as soon as the peer has accepted the event, with the time when
// it did, and each filter has the request by then.
func TestListOfDeletionRequestsIsUpToDate(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	messaging.SetStatus(503)
	request := clinic.OK(202, "POST", "/patients/"+clinic.AddPatient(clinictest.Phone)+"/deletion-request", nil)
	require.Len(t, clinic.Items("/deletion-requests?status=waiting"), 1)
	messaging.SetStatus(0)
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, 2*clinictest.Timeout, clinictest.Tick)
	var acceptedAt time.Time
	require.Eventually(t, func() bool {
		// An hour from now, which is not when anyone looks.
		err := clinic.Hub.Host.Pool.QueryRow(t.Context(), `
			update hub.deliveries set finished_at = finished_at + interval '1 hour' where tenant_id = $1 and event_type = 'patient.deleted' and status = 1 returning finished_at`, clinic.ID).Scan(&acceptedAt)
		return err == nil
	}, clinictest.Timeout, clinictest.Tick)
	completed := clinic.Items("/deletion-requests?status=completed")
	require.Len(t, completed, 1, "nobody looked at it, and no job ran")
	require.Equal(t, request["id"], completed[0]["id"])
	require.Empty(t, clinic.Items("/deletion-requests?status=waiting"))
	require.Equal(t, acceptedAt.UTC().Format(time.RFC3339), shortTime(t, completed[0]["completed_at"]))
	require.Equal(t, acceptedAt.UTC().Format(time.RFC3339), shortTime(t, completed[0]["peers"].([]any)[0].(object)["acknowledged_at"]))
	require.Equal(t, completed, clinic.Items("/deletion-requests"))
	require.Equal(t, completed[0], clinic.Get("/deletion-requests/"+request["id"].(string)))
}

// shortTime is a time of a response in whole seconds.
func shortTime(t *testing.T, value any) string {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, value.(string))
	require.NoError(t, err)
	return at.UTC().Format(time.RFC3339)
}
