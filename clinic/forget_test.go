package clinic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// nowhere requires that something comes to be in no table of any schema.
func (p *practice) nowhere(traces ...string) {
	p.t.Helper()
	for _, trace := range traces {
		var found []string
		require.Eventually(p.t, func() bool {
			found = hubtest.FindInDatabase(p.t, p.hub.DatabaseURL, trace)
			return len(found) == 0
		}, 2*soon, 25*tick, "%s is in %v", trace, &found)
	}
}

// deleted asks to forget a patient and gives the path of the request.
func (p *practice) deleted(patient string) string {
	p.t.Helper()
	return "/deletion-requests/" + p.ok(202, "POST", "/patients/"+patient+"/deletion-request", nil)["id"].(string)
}

// follows runs the job until a request has a status.
func (p *practice) follows(path, status string) object {
	p.t.Helper()
	var got object
	require.Eventually(p.t, func() bool {
		require.NoError(p.t, p.job("deletions").Run(p.t.Context(), nil))
		got = p.get(path)
		return got["status"] == status
	}, 2*soon, 10*tick, "%v", &got)
	return got
}

// hurry has the hub look now at what it looks at less and less often.
func (p *practice) hurry() {
	p.t.Helper()
	_, err := p.hub.Host.Pool.Exec(p.t.Context(), "update hub.erasures set due_at = now() where finished_at is null")
	require.NoError(p.t, err)
}

// payloads counts what the log has with a text in it.
func (p *practice) payloads(with string) int {
	p.t.Helper()
	return p.count(`select count(*) from hub.events where tenant_id = $1 and strpos(convert_from(body, 'UTF8'), $2) > 0`, with)
}

// Whatever a patient went by, when and with whom: afterwards it is in no table. Payloads
// that name nobody at all, but are about their ticket or appointment, have words of theirs.
func TestForgottenEverywhere(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	const first, second, linked = "+5511977771111", "+5511977772222", "+5521966663333"
	id := p.ok(201, "POST", "/patients", object{"name": "Zuleica Canario", "phone": first, "email": "zuleica@example.com", "cpf": cpf})["id"].(string)
	m.send("accepted", "message.received", object{"phone": first, "name": "Zuleica", "body": "From my first number", "ticket_id": 1})
	p.ok(200, "PUT", "/patients/"+id, object{"phone": second, "email": "canario@example.com"})
	p.ok(200, "PUT", "/patients/"+id, object{"name": "Zuleica Lima", "email": nil})
	p.ok(200, "PUT", "/patients/"+id, object{"name": "Zuleica Canario"})
	p.ok(200, "PUT", "/patients/"+id, object{"name": "Zuleica Lima"})
	require.Equal(t, 5, p.count(`select count(*) from clinic.earlier_contacts where clinic_id = $1`), "each once")
	m.send("ignored", "message.received", object{"phone": first, "name": "Zuleica Canario", "body": "Still my first number", "ticket_id": 2})
	m.send("ignored", "contact.created", object{"phone": linked, "name": "Zuleica at work", "email": "office@zuleica.example"})
	p.ok(200, "POST", "/integrations/inbox/"+p.items("/integrations/inbox")[0]["id"].(string)+"/link", object{"patient_id": id})
	m.send("accepted", "message.received", object{"phone": linked, "name": "Zuleica Canario", "body": "From work", "ticket_id": 3})
	m.send("accepted", "ticket.closed", object{"ticket_id": 1, "resolution": "Zuleica asked for Dr. Lima"})
	s.send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": "1177772222", "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	s.send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "Zuleica Canario travels"})
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-2", "reason": "Somebody else travels"})
	m.send("ignored", "message.received", object{"phone": "+5521955554444", "name": "Bia", "body": "Others stay", "ticket_id": 9})

	traces := []string{"zuleica", "canario", "977771111", "77771111", "977772222", "77772222", "966663333", "66663333"}
	for _, trace := range traces[2:] {
		if len(trace) == 9 && trace != "966663333" {
			require.NotEmpty(t, hubtest.FindInDatabase(t, p.hub.DatabaseURL, trace), trace)
		}
	}
	sealed := func(table string) {
		t.Helper()
		for _, trace := range append(traces, "office@", "zuleica@") {
			for _, place := range hubtest.FindInDatabase(t, p.hub.DatabaseURL, trace) {
				require.False(t, strings.HasPrefix(place, table), "%s is in %s while that waits", trace, place)
			}
		}
	}
	sealed("clinic.earlier_contacts.")
	s.answer(500)
	path := p.deleted(id)
	require.Eventually(t, func() bool { return len(m.arrived("patient.deleted")) == 1 }, soon, tick)
	require.Equal(t, 1, p.count(`select count(*) from hub.erasure_traces where tenant_id = $1 and length(traces) > 50`), "what is to be erased waits for the other")
	sealed("hub.erasure_traces.")
	told := m.arrived("patient.deleted")[0].data
	delete(told, "deletion_request_id")
	delete(told, "requested_at")
	require.ElementsMatch(t, []any{first, "+552166663333"}, told["phones"], "by which alone some may know her")
	delete(told, "phones")
	require.Equal(t, object{"patient_id": id, "name": "Zuleica Lima", "phone": second, "email": nil, "phone_shared": false, "email_shared": false}, told, "earlier addresses and names are nobody's affair")
	m.send("ignored", "ticket.closed", object{"ticket_id": 3, "resolution": "done"})
	m.send("ignored", "message.sent", object{"phone": "", "body": "Bye", "ticket_id": 3})
	require.Len(t, p.items("/integrations/inbox"), 2, "of whom was forgotten nothing waits")
	s.answer(0)
	done := p.follows(path, "completed")
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(done))
	p.hurry()
	p.nowhere(traces...)
	require.Equal(t, 1, p.payloads("Somebody else travels"))
	require.Equal(t, 1, p.payloads("Others stay"))
	require.Equal(t, 0, p.count(`select count(*) from clinic.earlier_contacts where clinic_id = $1`))
	require.Eventually(t, func() bool { return p.count(`select count(*) from hub.erasure_traces where tenant_id = $1`) == 0 }, soon, tick)
}

// Families share numbers: when one asks to be forgotten the others' news stay, and what
// waits to be sent about them is sent.
func TestForgettingOneOfAFamily(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	ana := p.ok(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone, "email": "ana.souza@example.com"})["id"].(string)
	s.answer(500)
	bia := p.ok(201, "POST", "/patients", object{"name": "Bia Souza", "phone": "+551187654321"})["id"].(string)
	m.send("accepted", "message.received", object{"phone": phone, "name": "ANA SOUZA", "body": "Ana speaking", "ticket_id": 1})
	m.send("accepted", "message.received", object{"phone": phone, "name": "Bia Souza", "body": "Bia speaking", "ticket_id": 2})
	m.send("accepted", "message.sent", object{"phone": phone, "body": "To either", "ticket_id": 3})
	m.send("accepted", "contact.created", object{"phone": phone, "name": "A", "email": "Ana.Souza@example.com"})
	m.send("accepted", "ticket.closed", object{"ticket_id": 1, "resolution": "Hers is closed"})
	require.ElementsMatch(t, []string{"message_received: Bia speaking"}, p.history(bia), "the name says whose it is")
	for name, reason := range map[string]string{"Ana Souza": "Ana waits", "Bia Souza": "Bia waits", "": "Either waits"} {
		s.send("ignored", "appointment.noshow", object{"appointment_id": reason, "client_phone": phone, "client_name": name})
	}

	path := p.deleted(ana)
	require.Eventually(t, func() bool { return len(m.arrived("patient.deleted")) == 1 }, soon, tick)
	require.Equal(t, true, m.arrived("patient.deleted")[0].data["phone_shared"])
	left := p.items("/integrations/inbox")
	require.Len(t, left, 2)
	for _, one := range left {
		require.NotEqual(t, "Ana Souza", one["name"])
	}
	require.Eventually(t, func() bool { return p.payloads("Ana speaking") == 0 }, 2*soon, tick)
	for _, gone := range []string{"Ana waits", "Hers is closed", "Ana.Souza@example.com"} {
		require.Equal(t, 0, p.payloads(gone), gone)
	}
	for _, kept := range []string{"Bia speaking", "To either", "Bia waits", "Either waits"} {
		require.Equal(t, 1, p.payloads(kept), kept)
	}
	require.Equal(t, bia, p.key().get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	s.answer(0)
	p.follows(path, "completed")
	var names []any
	for _, one := range s.arrived("patient.created") {
		names = append(names, one.data["name"])
	}
	require.Contains(t, names, "Bia Souza", "what waited about her is sent")
	p.hurry()
	p.nowhere("ana souza", "ana.souza@example.com", "Ana speaking")
}

// An address of a family's is nobody's alone either.
func TestForgettingOneOfAnAddress(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	ana := p.ok(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511977771111", "email": "Souza@example.com"})["id"].(string)
	p.ok(201, "POST", "/patients", object{"name": "Bia Souza", "phone": "+5511977772222", "email": "souza@example.com"})
	m.send("accepted", "contact.created", object{"phone": "+5511977772222", "name": "Bia Souza", "email": "souza@example.com"})
	m.send("ignored", "contact.created", object{"phone": "+5511977773333", "name": "Ana Souza", "email": "souza@example.com"})
	path := p.deleted(ana)
	p.follows(path, "completed")
	told := m.arrived("patient.deleted")[0].data
	require.Equal(t, true, told["email_shared"])
	require.Equal(t, false, told["phone_shared"])
	p.hurry()
	p.nowhere("ana souza", "977771111")
	require.Equal(t, 2, p.payloads("977772222"))
}

// A product that did not take the event has not acknowledged: the event can be sent
// again for as long as the log has it, and people can note that they told it.
func TestDeletionThatAPeerMissed(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	fails := func(phone string) (path string) {
		t.Helper()
		id := p.ok(201, "POST", "/patients", object{"name": "Zuleica", "phone": phone})["id"].(string)
		s.answer(500)
		path = p.deleted(id)
		require.Eventually(t, func() bool { return peers(p.get(path))["messaging"] == "acknowledged" }, soon, tick)
		// As after fifteen days in the park.
		require.Eventually(t, func() bool {
			_, err := p.hub.Host.Pool.Exec(t.Context(), `update hub.deliveries set status = 3, reason = 'expired', next_attempt_at = null, finished_at = now()
				where event_type = 'patient.deleted' and (status = 2 or status = 0 and next_attempt_at is not null)`)
			require.NoError(t, err)
			return p.get(path)["status"] == "needs_attention"
		}, 6*soon, 10*tick)
		require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "failed"}, peers(p.get(path)))
		require.Nil(t, p.get(path)["completed_at"])
		require.Eventually(t, func() bool {
			return p.count(`select count(*) from hub.erasures where tenant_id = $1 and erased_at is null`) == 0
		}, 2*soon, tick)
		p.hurry()
		require.Never(t, func() bool { return p.payloads(phone) != 1 }, 3*time.Second, 10*tick, "it may be sent again")
		return path
	}
	path := fails("+5511977771111")
	s.answer(0)
	var failed string
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select id from hub.deliveries where event_type = 'patient.deleted' and status = 3`).Scan(&failed))
	p.hub.CallAPI("POST", "/api/v1/deliveries/"+failed+"/retry", nil, &object{})
	require.Eventually(t, func() bool { return len(s.arrived("patient.deleted")) == 1 }, soon, tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(p.follows(path, "completed")))
	p.hurry()
	p.nowhere("977771111")

	path = fails("+5511977772222")
	require.Equal(t, "completed", p.ok(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"})["status"])
	p.hurry()
	p.nowhere("977772222", "zuleica")
	require.Len(t, m.arrived("patient.deleted"), 2)
}

// Who is disconnected before acknowledging is told by people, or when connected again.
func TestDeletionByAPeerThatLeft(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	s := p.connect("scheduling")
	s.answer(500)
	path := p.deleted(p.patient(phone))
	require.Equal(t, "waiting", p.get(path)["status"])
	p.refused(409, "still_being_sent", "POST", path+"/peers/scheduling/acknowledge", nil)
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(p.get(path)), "it may hear of it yet")
	p.ok(200, "DELETE", "/integrations/"+p.call("GET", "/integrations/", nil).list[0]["id"].(string), nil)
	require.Equal(t, "needs_attention", p.get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(p.get(path)))
	require.Equal(t, "completed", p.ok(200, "POST", path+"/peers/scheduling/acknowledge", nil)["status"])
}

// The clinic writes to its users only: a patient who has the address of one, here or in
// another clinic, takes none of that along.
func TestForgettingLeavesUsersTheirMail(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	q := p.another()
	q.as("").ok(200, "POST", "/auth/forgot-password", object{"email": q.email})
	token := q.mailed(q.email)
	for _, one := range []*practice{p, q} {
		one.deleted(one.ok(201, "POST", "/patients", object{"name": "Bia", "email": q.email})["id"].(string))
	}
	require.Equal(t, token, q.mailed(q.email))
	require.Equal(t, 1, q.count(`select count(*) from hub.mails where tenant_id = $1`))
}

// Who has no phone is forgotten by the address and the name.
func TestForgettingWithoutPhone(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	id := p.ok(201, "POST", "/patients", object{"name": "Zuleica Canario", "email": "zuleica@example.com"})["id"].(string)
	m.send("ignored", "contact.created", object{"phone": "+5521955554444", "name": "Zuleica Canario", "email": "ZULEICA@example.com"})
	path := p.deleted(id)
	p.follows(path, "completed")
	told := m.arrived("patient.deleted")[0].data
	require.Nil(t, told["phone"])
	require.Equal(t, "zuleica@example.com", told["email"])
	p.hurry()
	p.nowhere("zuleica@example.com")
	p.nowhere("zuleica canario")
	require.Empty(t, p.items("/integrations/inbox"), "what waited with the address")
}

// The file that a clinic imports every night makes nobody anew who asked to be forgotten.
func TestForgottenAreNotImported(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	file := strings.Join([]string{
		"external_id;nome;telefone;email;cpf;nascimento",
		"1;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980",
		"2;Bia Lima;(11) 98765-1111;;;", ";Caio Reis;(11) 98765-2222;;;", ";Davi Sá;;;709.481.400-38;", "5;Eva Dias;(11) 98765-4321;;;",
	}, "\n")
	counts(t, p.imported("csv", file), 5, 0, 0, 0)
	for _, one := range p.items("/patients") {
		if one["name"] != "Eva Dias" {
			p.deleted(one["id"].(string))
		}
	}
	again := p.imported("csv", file)
	counts(t, again, 0, 0, 5, 0)
	require.Len(t, again["errors"], 4)
	require.Contains(t, again["errors"].([]any)[0].(object)["error"], "asked to be forgotten")
	require.Len(t, p.items("/patients"), 1)
	p.ok(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone, "cpf": "529.982.247-25"}) // she came back
	counts(t, p.imported("csv", strings.Join(strings.Split(file, "\n")[:2], "\n")), 0, 1, 0, 0)
	p.another().imported("csv", file)
	require.Equal(t, 0, p.count(`select count(*) from clinic.forgotten where clinic_id = $1 and env = 'test'`))
}

// Nor whom it has under an earlier name, number, address or tax id.
func TestForgottenAreNotImportedByWhatTheyWere(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	const head = "external_id;nome;telefone;email;cpf\n"
	for _, one := range []struct {
		line   string
		change object
	}{
		{";Ana Souza;(11) 97777-0001;;", object{"phone": "+5511988880001"}},
		{";Bia Lima;(11) 97777-0002;;", object{"name": "Beatriz Reis"}},
		{";Caio Sá;;caio@example.com;", nil},
		{";Davi Dias;;davi@example.com;", object{"email": "Dias@example.com", "name": "D. Dias"}},
		{";Fábio Luz;;;709.481.400-38", object{"cpf": "529.982.247-25", "name": "F. Luz"}},
	} {
		counts(t, p.imported("csv", head+one.line), 1, 0, 0, 0)
		id := p.items("/patients?status=active")[0]["id"].(string)
		if one.change != nil {
			p.ok(200, "PUT", "/patients/"+id, one.change)
		}
		p.deleted(id)
		again := p.imported("csv", head+one.line)
		counts(t, again, 0, 0, 1, 0)
		require.Len(t, again["errors"], 1, one.line)
		require.Equal(t, 0, p.count(`select count(*) from clinic.earlier_contacts where clinic_id = $1`))
	}
}

// What somebody owed who was forgotten is still settled, and no other product hears of it.
func TestPaymentsOfTheForgotten(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	var ids []string
	for range 3 {
		ids = append(ids, p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 5, "due_date": inDays(t, -2), "description": "Cleaning"})["id"].(string))
	}
	p.deleted(id)
	before := len(p.sent())
	require.EqualValues(t, 3, p.ok(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.Equal(t, "paid", p.ok(200, "POST", "/payments/"+ids[0]+"/pay", object{"method": "pix"})["status"])
	require.Equal(t, "cancelled", p.ok(200, "POST", "/payments/"+ids[1]+"/cancel", nil)["status"])
	statuses := map[any]int{}
	for _, one := range p.items("/patients/" + id + "/payments") {
		statuses[one["status"]]++
		require.Empty(t, one["description"])
	}
	require.Equal(t, map[any]int{"paid": 1, "cancelled": 1, "overdue": 1}, statuses)
	require.Empty(t, p.kinds(before))
	require.InDelta(t, 5, p.get("/patients/" + id)["balance_due"], 0)
}

// One request that cannot be followed keeps no other waiting.
func TestDeletionsAreFollowedOneByOne(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	m.answer(500)
	var paths []string
	for _, number := range []string{"+5511977771111", "+5511977772222", "+5511977773333"} {
		paths = append(paths, p.deleted(p.patient(number)))
	}
	_, err := p.hub.Host.Pool.Exec(t.Context(), `
		update clinic.deletion_requests set event_id = 'broken' where id = $1`, strings.TrimPrefix(paths[0], "/deletion-requests/"))
	require.NoError(t, err)
	// Nothing can be written about the first one.
	_, err = p.hub.Host.Pool.Exec(t.Context(), `
		create function clinic.refuse() returns trigger language plpgsql as $$ begin
			if new.event_id = 'broken' then raise 'broken by the test'; end if; return new; end $$`)
	require.NoError(t, err)
	_, err = p.hub.Host.Pool.Exec(t.Context(), `create trigger refuse before update on clinic.deletion_requests for each row execute function clinic.refuse()`)
	require.NoError(t, err)
	m.answer(0)
	require.Eventually(t, func() bool {
		require.ErrorContains(t, p.job("deletions").Run(t.Context(), nil), "broken by the test")
		return p.count(`select count(*) from clinic.deletion_requests where clinic_id = $1 and status = 'completed'`) == 2
	}, 2*soon, 10*tick)
}

// Following many requests asks the database as often as following one, where nothing is new.
func TestDeletionsAreFollowedTogether(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	m.answer(500)
	other := p.another()
	other.connect("messaging").answer(500)
	paths := []string{p.deleted(p.patient("+5511977770000"))}
	took := func() int64 {
		before := p.hub.QueryCount.Load()
		require.NoError(t, p.job("deletions").Run(t.Context(), nil))
		return p.hub.QueryCount.Load() - before
	}
	one := took()
	for i := range 8 {
		paths = append(paths, p.deleted(p.patient(fmt.Sprintf("+551197777%04d", i+1))))
		other.deleted(other.patient(fmt.Sprintf("+551197777%04d", i+1)))
	}
	require.Equal(t, one, took())
	m.answer(0)
	p.follows(paths[0], "completed")
	p.follows(paths[8], "completed")
}
