package clinic_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// peers is where the products stand that were asked to forget.
func peers(deletion object) map[string]string {
	list := map[string]string{}
	for _, one := range deletion["peers"].([]any) {
		list[one.(object)["product"].(string)] = one.(object)["status"].(string)
	}
	return list
}

func TestDeletionRequest(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	id := p.ok(201, "POST", "/patients", object{"name": "Zuleica Canario", "phone": "+5511977776666", "email": "zuleica@example.com", "cpf": cpf, "birth_date": "1990-05-17"})["id"].(string)
	p.ok(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "content": "Story", "summary": "Zuleica is fine"})
	p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": inDays(t, 1), "description": "Zuleica"})
	p.ok(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2027-01-04T12:00:00Z", "reason": "Zuleica travels"})
	m.send("accepted", "message.received", object{"phone": "+5511977776666", "name": "Zuleica", "body": "I am Zuleica Canario", "ticket_id": 1})
	m.send("ignored", "message.received", object{"phone": "+5521955554444", "name": "Zuleica Canario", "body": "From another phone", "ticket_id": 2})
	m.send("ignored", "contact.created", object{"phone": "+5521933332222", "name": "Somebody"})
	p.ok(200, "POST", "/integrations/inbox/"+p.items("/integrations/inbox")[1]["id"].(string)+"/link", object{"patient_id": id})
	p.staff().refused(403, "admin_only", "POST", "/patients/"+id+"/deletion-request", nil)

	s.answer(500)
	done := p.ok(202, "POST", "/patients/"+id+"/deletion-request", nil)
	path := "/deletion-requests/" + done["id"].(string)
	require.Equal(t, "waiting", done["status"])
	require.Len(t, done["peers"], 2)
	require.Eventually(t, func() bool {
		return peers(p.get(path))["messaging"] == "acknowledged"
	}, soon, tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "pending"}, peers(p.get(path)))
	require.Equal(t, "waiting", p.get(path)["status"])
	require.Equal(t, "+5511977776666", m.arrived("patient.deleted")[0].data["phone"])

	// Here it was forgotten at once.
	gone := p.get("/patients/" + id)
	require.Equal(t, "anonymized", gone["status"])
	for _, field := range []string{"phone", "email", "cpf", "birth_date"} {
		require.Nil(t, gone[field], field)
	}
	require.NotContains(t, strings.ToLower(p.snapshot()), "zuleica")
	for _, trace := range []string{"977776666", "955554444"} {
		require.NotContains(t, p.snapshot(), trace)
	}
	records := p.items("/patients/" + id + "/records")
	require.Equal(t, "Story", records[0]["content"], "the law has it kept")
	require.Equal(t, true, records[0]["locked"])
	require.Len(t, p.items("/integrations/inbox"), 1, "others' news stay")

	// Nothing is added any more, nobody finds the patient, and asking again is the same request.
	for path, body := range map[string]object{
		"/records": {"date": "2026-03-02", "type": "x"}, "/appointments": {"datetime": "2027-01-04T12:00:00Z"},
		"/payments": {"amount": 1, "due_date": "2026-03-02"}, "/interactions": {"interaction_type": "call", "summary": "x"},
	} {
		p.refused(409, "patient_anonymized", "POST", "/patients/"+id+path, body)
	}
	p.refused(409, "patient_anonymized", "PUT", "/patients/"+id, object{"name": "Back"})
	key := p.key()
	require.Equal(t, false, key.get("/integrations/search/patients?phone=%2B5511977776666")["found"])
	key.refused(404, "not_found", "GET", "/integrations/search/records?patient_id="+id, nil)
	require.Equal(t, done["id"], p.ok(202, "POST", "/patients/"+id+"/deletion-request", nil)["id"])
	require.Len(t, m.arrived("patient.deleted"), 1)
	m.send("ignored", "ticket.closed", object{"ticket_id": 1, "resolution": "done"})

	s.answer(0) // it is tried again
	require.Eventually(t, func() bool {
		require.NoError(t, p.job("deletions").Run(t.Context(), nil))
		return p.count(`select count(*) from clinic.deletion_requests where clinic_id = $1 and status = 'completed'`) == 1
	}, 2*soon, 10*tick)
	finished := p.get(path)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(finished))
	require.Equal(t, "completed", finished["status"])
	require.NotNil(t, finished["completed_at"])

	// And then nowhere in the database: the hub erased what its log had.
	for _, trace := range []string{"977776666", "zuleica@example.com"} {
		require.Eventually(t, func() bool { return len(hubtest.FindInDatabase(t, p.hub.DatabaseURL, trace)) == 0 }, 2*soon, 25*tick, trace)
	}
}

func TestDeletionWithoutPeers(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	left := p.connect("messaging")
	for _, one := range p.call("GET", "/integrations/", nil).list {
		p.ok(200, "DELETE", "/integrations/"+one["id"].(string), nil)
	}
	done := p.ok(202, "POST", "/patients/"+p.patient(phone)+"/deletion-request", nil)
	require.Equal(t, "completed", done["status"])
	require.Empty(t, done["peers"])
	require.Empty(t, left.arrived("patient.deleted"))
}

// A product that did not ask to hear of deletions has to be told by people.
func TestDeletionUnheard(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	again := p.as("").call("POST", "/integrations/webhook/register", object{
		"registration_id": "0190b5a2-0000-7000-8000-000000000001", "product": "messaging", "environment": "live", "webhook_url": m.URL + "/hook",
		"webhook_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "api_key": "xyz_live_key", "events": []string{"payment.received"}, "features": []string{},
	}, "X-Integration-Key", m.key)
	require.Equal(t, 200, again.status, again.text)
	done := p.ok(202, "POST", "/patients/"+p.patient(phone)+"/deletion-request", nil)
	require.Equal(t, map[string]string{"messaging": "failed"}, peers(done))
	require.Equal(t, "needs_attention", done["status"])
	require.Nil(t, done["completed_at"])

	path := "/deletion-requests/" + done["id"].(string)
	p.staff().refused(403, "admin_only", "POST", path+"/peers/messaging/acknowledge", nil)
	p.another().refused(404, "not_found", "POST", path+"/peers/messaging/acknowledge", nil)
	p.refused(404, "not_found", "POST", path+"/peers/scheduling/acknowledge", nil)
	p.invalid("body.note", "POST", path+"/peers/messaging/acknowledge", object{"note": strings.Repeat("x", 501)})
	for range 2 { // the first one stands
		told := p.ok(200, "POST", path+"/peers/messaging/acknowledge", object{"note": "by letter to 123.456.789-09"})
		require.Equal(t, "completed", told["status"])
		peer := told["peers"].([]any)[0].(object)
		require.Equal(t, "acknowledged", peer["status"])
		require.Equal(t, "by letter to ***.***.***-09", peer["note"])
		require.NotNil(t, peer["acknowledged_by"])
	}
	require.NotNil(t, p.get(path)["completed_at"])
	require.Equal(t, 2, p.count(`select count(*) from hub.audit where tenant_id = $1 and action = 'deletions.acknowledge' and status = 200`))
}

// What nobody else must see is in no log, no URL and in no answer but where it belongs;
// in the database it is encrypted.
func TestCanaries(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	const digits, written, content = "70948140038", "709.481.400-38", "canary-content-4711"
	id := p.ok(201, "POST", "/patients", object{"name": "Ana", "phone": phone, "cpf": written})["id"].(string)
	p.ok(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "x", "content": content + " " + written, "summary": "about " + digits})
	p.refused(409, "cpf_taken", "POST", "/patients", object{"name": "B", "cpf": digits})
	p.invalid("body.cpf", "PUT", "/patients/"+id, object{"cpf": "709.481.400-39"})
	m.send("accepted", "message.received", object{"phone": phone, "name": "Ana", "body": "My CPF: " + written, "ticket_id": 1})
	m.send("ignored", "message.received", object{"phone": "+5511900009999", "name": "Bia", "body": "My CPF: " + written, "ticket_id": 2})
	p.ok(200, "PUT", "/clinic", object{"reveal_cpf": true})
	require.Equal(t, written, p.get("/patients/" + id + "?reveal=cpf")["cpf"])
	require.Eventually(t, func() bool { return len(m.arrived("record.created")) == 1 && len(m.arrived("patient.created")) == 1 }, soon, tick)
	for _, one := range m.got {
		for _, secret := range []string{digits, written, content} {
			require.NotContains(t, text(t, one.data), secret, one.kind)
		}
	}
	for _, path := range []string{
		"/patients", "/patients/" + id, "/patients/" + id + "/interactions", "/integrations/inbox", "/integrations/webhook-logs",
	} {
		got := p.call("GET", path, nil)
		require.Equal(t, 200, got.status, got.text)
		require.NotContains(t, got.text, digits, path)
		require.NotContains(t, got.text, written, path)
	}
	for _, secret := range []string{digits, written, content, p.token, m.secret, m.key} {
		require.NotContains(t, p.hub.Log(), secret)
		require.NotContains(t, p.snapshot(), secret)
	}
	p.hub.FailPublishing.Store(true)
	require.Equal(t, 500, p.call("POST", "/patients", object{"name": "Canary", "phone": phone, "cpf": "529.982.247-25"}).status)
	require.Contains(t, p.hub.Log(), "publishing is broken by the test", "failures are logged")
	for _, secret := range []string{"529.982.247-25", "52998224725", "Canary"} {
		require.NotContains(t, p.hub.Log(), secret)
	}
	require.NotContains(t, p.hub.Log(), phone)
	p.call("GET", "/fhir/Patient?name=Canary&phone="+url.QueryEscape(phone), nil)
	p.call("GET", "/nowhere/"+digits+"/Canary", nil)
	res, err := http.Get(p.hub.URL + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	measured := string(raw)
	require.Contains(t, measured, `"clinic"`, "what the clinic does is measured")
	for _, secret := range []string{digits, written, content, p.token, m.secret, m.key, phone, phone[1:], phone[3:], "Canary", "Ana", id, p.email, p.id.String()} {
		require.NotContains(t, measured, secret)
	}
}
