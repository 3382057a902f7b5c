package erasure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

// RequireNoTrace requires that something comes to be in no table of any schema.
func RequireNoTrace(clinic *clinictest.Clinic, traces ...string) {
	clinic.T.Helper()
	for _, trace := range traces {
		var found []string
		require.Eventually(clinic.T, func() bool {
			found = hubtest.FindInDatabase(clinic.T, clinic.Hub.DatabaseURL, trace)
			return len(found) == 0
		}, 2*clinictest.Timeout, 25*clinictest.Tick, "%s is in %v", trace, &found)
	}
}

// CountPayloads counts what the log has with a text in it.
func CountPayloads(clinic *clinictest.Clinic, with string) int {
	clinic.T.Helper()
	return clinic.QueryInt(`select count(*) from hub.events where tenant_id = $1 and strpos(convert_from(body, 'UTF8'), $2) > 0`, with)
}

// After an erasure no table has any present or earlier identifier of the patient. Payloads
// about the patient's ticket or appointment are erased too, even if they have no name.
func TestErasureLeavesNoTrace(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	const first, second, linked = "+5511977771111", "+5511977772222", "+5521966663333"
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Canario", "phone": first, "email": "zuleica@example.com", "cpf": clinictest.CPF})["id"].(string)
	messaging.Send("accepted", "message.received", object{"phone": first, "name": "Zuleica", "body": "From my first number", "ticket_id": 1})
	clinic.OK(200, "PUT", "/patients/"+id, object{"phone": second, "email": "canario@example.com"})
	clinic.OK(200, "PUT", "/patients/"+id, object{"name": "Zuleica Lima", "email": nil})
	clinic.OK(200, "PUT", "/patients/"+id, object{"name": "Zuleica Canario"})
	clinic.OK(200, "PUT", "/patients/"+id, object{"name": "Zuleica Lima"})
	require.Equal(t, 5, clinic.QueryInt(`select count(*) from clinic.earlier_contacts where clinic_id = $1`), "each once")
	messaging.Send("ignored", "message.received", object{"phone": first, "name": "Zuleica Canario", "body": "Still my first number", "ticket_id": 2})
	messaging.Send("ignored", "contact.created", object{"phone": linked, "name": "Zuleica at work", "email": "office@zuleica.example"})
	clinic.OK(200, "POST", "/integrations/inbox/"+clinic.Items("/integrations/inbox")[0]["id"].(string)+"/link", object{"patient_id": id})
	messaging.Send("accepted", "message.received", object{"phone": linked, "name": "Zuleica Canario", "body": "From work", "ticket_id": 3})
	messaging.Send("accepted", "ticket.closed", object{"ticket_id": 1, "resolution": "Zuleica asked for Dr. Lima"})
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": "1177772222", "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "Zuleica Canario travels"})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-2", "reason": "Somebody else travels"})
	messaging.Send("ignored", "message.received", object{"phone": "+5521955554444", "name": "Bia", "body": "Others stay", "ticket_id": 9})

	traces := []string{"zuleica", "canario", "977771111", "77771111", "977772222", "77772222", "966663333", "66663333"}
	for _, trace := range traces[2:] {
		if len(trace) == 9 && trace != "966663333" {
			require.NotEmpty(t, hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, trace), trace)
		}
	}
	sealed := func(table string) {
		t.Helper()
		for _, trace := range append(traces, "office@", "zuleica@") {
			for _, place := range hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, trace) {
				require.False(t, strings.HasPrefix(place, table), "%s is in %s while that waits", trace, place)
			}
		}
	}
	sealed("clinic.earlier_contacts.")
	scheduling.SetStatus(500)
	path := clinic.RequestDeletion(id)
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.erasure_traces where tenant_id = $1 and length(traces) > 50`), "what is to be erased waits for the other")
	sealed("hub.erasure_traces.")
	deletion := messaging.Received("patient.deleted")[0].Data
	delete(deletion, "deletion_request_id")
	delete(deletion, "requested_at")
	require.ElementsMatch(t, []any{first, "+552166663333"}, deletion["phones"], "by which alone some may know her")
	delete(deletion, "phones")
	require.Equal(t, []any{"Zuleica Canario"}, deletion["names"], "they say whose such a number was")
	delete(deletion, "names")
	require.Equal(t, object{"patient_id": id, "name": "Zuleica Lima", "phone": second, "email": nil, "phone_shared": false, "email_shared": false}, deletion, "earlier addresses are nobody's affair")
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 3, "resolution": "done"})
	messaging.Send("ignored", "message.sent", object{"phone": "", "body": "Bye", "ticket_id": 3})
	require.Len(t, clinic.Items("/integrations/inbox"), 2, "of whom was forgotten nothing waits")
	scheduling.SetStatus(0)
	request := clinic.WaitForDeletion(path, "completed")
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(request))
	clinic.HurryErasures()
	RequireNoTrace(clinic, traces...)
	require.Equal(t, 1, CountPayloads(clinic, "Somebody else travels"))
	require.Equal(t, 1, CountPayloads(clinic, "Others stay"))
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.earlier_contacts where clinic_id = $1`))
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.erasure_traces where tenant_id = $1`) == 0
	}, clinictest.Timeout, clinictest.Tick)
}

// Families share numbers. Erasing one patient leaves the events of the others, and what is
// waiting to be sent about them is sent.
func TestErasureWithSharedPhone(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	ana := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone, "email": "ana.souza@example.com"})["id"].(string)
	scheduling.SetStatus(500)
	bia := clinic.OK(201, "POST", "/patients", object{"name": "Bia Souza", "phone": "+551187654321"})["id"].(string)
	messaging.Send("accepted", "message.received", object{"phone": clinictest.Phone, "name": "ANA SOUZA", "body": "Ana speaking", "ticket_id": 1})
	messaging.Send("accepted", "message.received", object{"phone": clinictest.Phone, "name": "Bia Souza", "body": "Bia speaking", "ticket_id": 2})
	messaging.Send("accepted", "message.sent", object{"phone": clinictest.Phone, "body": "To either", "ticket_id": 3})
	messaging.Send("accepted", "contact.created", object{"phone": clinictest.Phone, "name": "A", "email": "Ana.Souza@example.com"})
	messaging.Send("accepted", "ticket.closed", object{"ticket_id": 1, "resolution": "Hers is closed"})
	require.ElementsMatch(t, []string{"message_received: Bia speaking"}, clinic.History(bia), "the name says whose it is")
	for name, reason := range map[string]string{"Ana Souza": "Ana waits", "Bia Souza": "Bia waits", "": "Either waits"} {
		scheduling.Send("ignored", "appointment.noshow", object{"appointment_id": reason, "client_phone": clinictest.Phone, "client_name": name})
	}

	path := clinic.RequestDeletion(ana)
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, true, messaging.Received("patient.deleted")[0].Data["phone_shared"])
	left := clinic.Items("/integrations/inbox")
	require.Len(t, left, 2)
	for _, entry := range left {
		require.NotEqual(t, "Ana Souza", entry["name"])
	}
	require.Eventually(t, func() bool { return CountPayloads(clinic, "Ana speaking") == 0 }, 2*clinictest.Timeout, clinictest.Tick)
	for _, gone := range []string{"Ana waits", "Hers is closed", "Ana.Souza@example.com"} {
		require.Equal(t, 0, CountPayloads(clinic, gone), gone)
	}
	for _, kept := range []string{"Bia speaking", "To either", "Bia waits", "Either waits"} {
		require.Equal(t, 1, CountPayloads(clinic, kept), kept)
	}
	require.Equal(t, bia, clinic.NewKey().Get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	scheduling.SetStatus(0)
	clinic.WaitForDeletion(path, "completed")
	isAboutBia := func(received moduletest.PublishedEvent) bool { return received.Data["name"] == "Bia Souza" }
	require.Eventually(t, func() bool { return slices.ContainsFunc(scheduling.Received("patient.created"), isAboutBia) },
		clinictest.Timeout, clinictest.Tick, "what waited about her is sent")
	clinic.HurryErasures()
	RequireNoTrace(clinic, "ana souza", "ana.souza@example.com", "Ana speaking")
}

// Families share e-mail addresses too.
func TestErasureWithSharedEmail(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	ana := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511977771111", "email": "Souza@example.com"})["id"].(string)
	clinic.OK(201, "POST", "/patients", object{"name": "Bia Souza", "phone": "+5511977772222", "email": "souza@example.com"})
	messaging.Send("accepted", "contact.created", object{"phone": "+5511977772222", "name": "Bia Souza", "email": "souza@example.com"})
	messaging.Send("ignored", "contact.created", object{"phone": "+5511977773333", "name": "Ana Souza", "email": "souza@example.com"})
	path := clinic.RequestDeletion(ana)
	clinic.WaitForDeletion(path, "completed")
	deletion := messaging.Received("patient.deleted")[0].Data
	require.Equal(t, true, deletion["email_shared"])
	require.Equal(t, false, deletion["phone_shared"])
	clinic.HurryErasures()
	RequireNoTrace(clinic, "ana souza", "977771111")
	require.Equal(t, 2, CountPayloads(clinic, "977772222"))
}

// A product that did not accept the event has not acknowledged. The event can be sent again
// while the log has it, or be acknowledged by hand.
func TestFailedDeletionDelivery(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	fails := func(phone string) (path string) {
		t.Helper()
		id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica", "phone": phone})["id"].(string)
		scheduling.SetStatus(500)
		path = clinic.RequestDeletion(id)
		require.Eventually(t, func() bool { return peers(clinic.Get(path))["messaging"] == "acknowledged" }, clinictest.Timeout, clinictest.Tick)
		// As after fifteen days in the park.
		require.Eventually(t, func() bool {
			_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `update hub.deliveries set status = 3, reason = 'expired', next_attempt_at = null, finished_at = now()
				where event_type = 'patient.deleted' and (status = 2 or status = 0 and next_attempt_at is not null)`)
			require.NoError(t, err)
			return clinic.Get(path)["status"] == "needs_attention"
		}, 6*clinictest.Timeout, 10*clinictest.Tick)
		require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "failed"}, peers(clinic.Get(path)))
		require.Nil(t, clinic.Get(path)["completed_at"])
		require.Eventually(t, func() bool {
			return clinic.QueryInt(`select count(*) from hub.erasures where tenant_id = $1 and erased_at is null`) == 0
		}, 2*clinictest.Timeout, clinictest.Tick)
		clinic.HurryErasures()
		require.Never(t, func() bool { return CountPayloads(clinic, phone) != 1 }, 3*time.Second, 10*clinictest.Tick, "it may be sent again")
		return path
	}
	path := fails("+5511977771111")
	scheduling.SetStatus(0)
	var failed string
	require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select id from hub.deliveries where event_type = 'patient.deleted' and status = 3`).Scan(&failed))
	clinic.Hub.CallAPI("POST", "/api/v1/deliveries/"+failed+"/retry", nil, &object{})
	require.Eventually(t, func() bool { return len(scheduling.Received("patient.deleted")) == 1 }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(clinic.WaitForDeletion(path, "completed")))
	clinic.HurryErasures()
	RequireNoTrace(clinic, "977771111")

	path = fails("+5511977772222")
	require.Equal(t, "completed", clinic.OK(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"})["status"])
	clinic.HurryErasures()
	RequireNoTrace(clinic, "977772222", "zuleica")
	require.Len(t, messaging.Received("patient.deleted"), 2)
}

// A product that is disconnected before it acknowledges is informed by a user, or when it is
// connected again.
func TestDeletionByADisconnectedPeer(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	scheduling.SetStatus(500)
	path := clinic.RequestDeletion(clinic.AddPatient(clinictest.Phone))
	require.Equal(t, "waiting", clinic.Get(path)["status"])
	clinic.Refused(409, "still_being_sent", "POST", path+"/peers/scheduling/acknowledge", nil)
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(clinic.Get(path)), "it may hear of it yet")
	clinic.OK(200, "DELETE", "/integrations/"+clinic.Call("GET", "/integrations/", nil).List[0]["id"].(string), nil)
	require.Equal(t, "needs_attention", clinic.Get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(clinic.Get(path)))
	require.Equal(t, "completed", clinic.OK(200, "POST", path+"/peers/scheduling/acknowledge", nil)["status"])
}

// An erasure does not touch users' e-mails, even if the patient has the address of a user,
// here or in another clinic.
func TestErasureLeavesUsersEmails(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	other := clinic.AnotherClinic()
	other.As("").OK(200, "POST", "/auth/forgot-password", object{"email": other.Email})
	token := other.ResetToken(other.Email)
	for _, entry := range []*clinictest.Clinic{clinic, other} {
		entry.RequestDeletion(entry.OK(201, "POST", "/patients", object{"name": "Bia", "email": other.Email})["id"].(string))
	}
	require.Equal(t, token, other.ResetToken(other.Email))
	require.Equal(t, 1, other.QueryInt(`select count(*) from hub.mails where tenant_id = $1`))
}

// A patient without a phone is recognized by address and name.
func TestErasureWithoutPhone(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Canario", "email": "zuleica@example.com"})["id"].(string)
	messaging.Send("ignored", "contact.created", object{"phone": "+5521955554444", "name": "Zuleica Canario", "email": "ZULEICA@example.com"})
	path := clinic.RequestDeletion(id)
	clinic.WaitForDeletion(path, "completed")
	deletion := messaging.Received("patient.deleted")[0].Data
	require.Nil(t, deletion["phone"])
	require.Equal(t, "zuleica@example.com", deletion["email"])
	clinic.HurryErasures()
	RequireNoTrace(clinic, "zuleica@example.com")
	RequireNoTrace(clinic, "zuleica canario")
	require.Empty(t, clinic.Items("/integrations/inbox"), "what waited with the address")
}

// Payments of erased patients can still be settled, and no other product receives an event.
func TestPaymentsOfErasedPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	var ids []string
	for range 3 {
		ids = append(ids, clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 5, "due_date": clinictest.DateIn(t, -2), "description": "Cleaning"})["id"].(string))
	}
	clinic.RequestDeletion(id)
	before := len(clinic.Events())
	require.EqualValues(t, 3, clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.Equal(t, "paid", clinic.OK(200, "POST", "/payments/"+ids[0]+"/pay", object{"method": "pix"})["status"])
	require.Equal(t, "cancelled", clinic.OK(200, "POST", "/payments/"+ids[1]+"/cancel", nil)["status"])
	statuses := map[any]int{}
	for _, item := range clinic.Items("/patients/" + id + "/payments") {
		statuses[item["status"]]++
		require.Empty(t, item["description"])
	}
	require.Equal(t, map[any]int{"paid": 1, "cancelled": 1, "overdue": 1}, statuses)
	require.Empty(t, clinic.EventTypes(before))
	require.InDelta(t, 5, clinic.Get("/patients/" + id)["balance_due"], 0)
}

// An event that comes again while its patient is erased may store an appointment, or an entry of
// a history, with the same id for another patient. That patient is erased too.
func TestErasureOfAnIdThatWasErasedBefore(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	scheduling := clinic.ConnectPeer("scheduling")
	const number, booking, source = "+5511966661000", "ana-1", "ana-lab-1"
	key := clinic.NewKey("interaction.write")
	book := func(name string) (patient string) {
		patient = clinic.OK(201, "POST", "/patients", object{"name": name, "phone": number})["id"].(string)
		scheduling.Send("accepted", "appointment.created", object{"appointment_id": booking, "client_phone": number, "client_name": name, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
		require.Len(t, clinic.Items("/patients/"+patient+"/appointments"), 1)
		key.OK(200, "POST", "/integrations/action/log-interaction", object{"patient_id": patient, "interaction_type": "call", "summary": "x", "source": "lab", "source_id": source})
		return patient
	}
	hashes := func() (count int) {
		return clinic.QueryInt(`select count(distinct external_id) from clinic.appointments where clinic_id = $1 and external_id like 'forgotten-%'`) +
			clinic.QueryInt(`select count(distinct source_id) from clinic.interactions where clinic_id = $1 and source_id like 'forgotten-%'`)
	}
	clinic.RequestDeletion(book("Ana"))
	require.Equal(t, 2, hashes())
	// As a transaction sees it that began before the erasure.
	clinic.Exec(`update clinic.appointments set external_id = 'not-' || external_id where clinic_id = $1`)
	clinic.Exec(`update clinic.interactions set source_id = 'not-' || source_id where clinic_id = $1`)
	other := book("Bia")
	clinic.Exec(`update clinic.appointments set external_id = substr(external_id, 5) where clinic_id = $1 and external_id like 'not-%'`)
	clinic.Exec(`update clinic.interactions set source_id = substr(source_id, 5) where clinic_id = $1 and source_id like 'not-%'`)
	clinic.RequestDeletion(other)
	require.Equal(t, 4, hashes())
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.appointments where clinic_id = $1 and external_id = '`+booking+`'`))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1 and source_id = '`+source+`'`))
}
