package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
)

// The source of an interaction is by default the key's product, else integration. The summary
// of a booking is its service, professional and time.
func TestHistoryLines(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	said := object{"patient_phone": clinictest.Phone, "interaction_type": "call", "summary": "x"}
	clinic.NewKey().OK(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "integration", clinic.Items("/patients/" + id + "/interactions")[0]["source"])
	clinic.As(scheduling.Key).OK(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "scheduling", clinic.Items("/patients/" + id + "/interactions")[0]["source"])
	for _, booked := range []object{
		{"appointment_id": "a-1", "service": "Cleaning", "professional": "Dra. Lima"}, {"appointment_id": "a-2", "service": "Cleaning", "professional": ""},
		{"appointment_id": "a-3", "service": "", "professional": "Dra. Lima"},
	} {
		booked["client_phone"], booked["datetime"] = clinictest.Phone, "2027-01-04T09:00:00-03:00"
		scheduling.Send("accepted", "appointment.created", booked)
	}
	require.Subset(t, clinic.History(id), []string{
		"appointment_created: Cleaning, Dra. Lima, 2027-01-04T12:00:00Z", "appointment_created: Cleaning, 2027-01-04T12:00:00Z", "appointment_created: Dra. Lima, 2027-01-04T12:00:00Z",
	})
}

func TestLogInteraction(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	key := clinic.NewKey("interaction.write")
	body := object{"patient_phone": "11987654321", "interaction_type": "message_received", "summary": "Diagnosis F32.1", "source": "messaging", "source_id": "m-1"}
	updated := key.OK(200, "POST", "/integrations/action/log-interaction", body)
	require.Equal(t, true, updated["logged"])
	require.Equal(t, id, updated["patient_id"])
	require.Equal(t, updated, key.OK(200, "POST", "/integrations/action/log-interaction", body), "once")
	list := clinic.Items("/patients/" + id + "/interactions")
	require.Len(t, list, 1)
	require.Equal(t, updated["interaction_id"], list[0]["id"])
	require.Equal(t, "Diagnosis ***", list[0]["summary"])
	require.Equal(t, "messaging", list[0]["source"])
	require.Equal(t, "m-1", list[0]["source_id"])

	body["patient_phone"] = "+5511900000000"
	key.Refused(404, "patient_not_found", "POST", "/integrations/action/log-interaction", body)
	for location, bad := range map[string]object{
		"body.patient_phone":    {"patient_phone": "x", "interaction_type": "a"},
		"body.interaction_type": {"patient_phone": clinictest.Phone, "interaction_type": "Not Snake"},
	} {
		key.Invalid(location, "POST", "/integrations/action/log-interaction", bad)
	}
	clinic.NewKey("patient.search").Refused(403, "missing_scope", "POST", "/integrations/action/log-interaction", body)
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'integrations.log-interaction' and status = 404`), "every integration call is audited")
}

// A source id reveals nothing about other patients, and does not block events of a product. A
// product's key logs for its own product only.
func TestLogInteractionOfAnotherSource(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id, other := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	messaging := clinic.ConnectPeer("messaging")
	const path = "/integrations/action/log-interaction"
	key, own := clinic.NewKey("interaction.write"), clinic.As(messaging.Key)
	event := hub.NewEventID()
	body := func(change object) object {
		b := object{"patient_phone": clinictest.Phone, "interaction_type": "call", "summary": "Hello", "source": "messaging", "source_id": event}
		for name, value := range change {
			b[name] = value
		}
		return b
	}
	key.OK(200, "POST", path, body(nil))
	for _, change := range []object{{"patient_phone": "+5511900001111"}, {"summary": "Bye"}, {"interaction_type": "visit"}} {
		got := key.Refused(409, "source_id_reused", "POST", path, body(change))
		require.NotContains(t, clinictest.JSON(t, got), id)
	}
	require.Empty(t, clinic.History(other))
	key.Invalid("body.source", "POST", path, body(object{"source": "clinic"}))
	own.Invalid("body.source", "POST", path, body(object{"source": "scheduling"}))
	own.Invalid("body.source", "POST", path, body(object{"source": "clinic"}))

	// The product's own call, and its own event, of the same id.
	own.OK(200, "POST", path, body(object{"summary": "Own call"}))
	without := body(object{"summary": "Without", "source_id": "m-2"})
	delete(without, "source")
	own.OK(200, "POST", path, without)
	require.Equal(t, 200, messaging.Deliver(event, "message.received", object{"phone": clinictest.Phone, "body": "The event", "ticket_id": 1}).Status)
	require.ElementsMatch(t, []string{"call: Hello", "call: Own call", "call: Without", "message_received: The event"}, clinic.History(id))
	for _, item := range clinic.Items("/patients/" + id + "/interactions") {
		require.Equal(t, "messaging", item["source"])
	}

	// Ids that read as tax ids are kept as something else, the same each time.
	digits := body(object{"source_id": "529.982.247-25"})
	require.Equal(t, key.OK(200, "POST", path, digits), key.OK(200, "POST", path, digits))
	require.NotContains(t, clinic.Snapshot(), "529.982.247-25")
}

// An interaction is logged for the patient with the id. With a phone number too, the patient
// has to have it; patients of other clinics and erased ones are not found.
func TestLogInteractionByPatientID(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	mother, child, other := clinic.AddPatient(clinictest.Phone), clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	foreign, test := clinic.AnotherClinic().AddPatient(clinictest.Phone), clinic.InEnvironment("test").AddPatient(clinictest.Phone)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) values ($1, 'live', '+552187650000', $2)`, clinic.ID, child)
	require.NoError(t, err)
	erased := clinic.AddPatient(clinictest.Phone)
	clinic.OK(202, "POST", "/patients/"+erased+"/deletion-request", nil)
	require.Eventually(t, func() bool { return clinic.Get("/patients/" + erased)["status"] == "anonymized" }, clinictest.Timeout, clinictest.Tick)
	key := clinic.NewKey("interaction.write")
	const path = "/integrations/action/log-interaction"
	body := func(change object) object {
		b := object{"interaction_type": "call", "summary": "Hello"}
		for name, value := range change {
			b[name] = value
		}
		return b
	}
	require.Equal(t, mother, key.OK(200, "POST", path, body(object{"patient_phone": clinictest.Phone}))["patient_id"])
	for _, known := range []object{
		{"patient_id": child}, {"patient_id": child, "patient_phone": clinictest.Phone}, {"patient_id": child, "patient_phone": "1187654321"}, {"patient_id": child, "patient_phone": "21987650000"},
	} {
		require.Equal(t, child, key.OK(200, "POST", path, body(known))["patient_id"], "%v", known)
	}
	require.Len(t, clinic.History(child), 4)

	before := clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1`)
	key.Invalid("body.patient_id", "POST", path, body(object{"patient_id": other, "patient_phone": clinictest.Phone}))
	key.Invalid("body.patient_id", "POST", path, body(object{"patient_id": mother, "patient_phone": "21987650000"}))
	key.Invalid("body.patient_id", "POST", path, body(object{"patient_id": "17"}))
	key.Invalid("body.patient_id", "POST", path, body(object{"patient_id": nil, "patient_phone": clinictest.Phone}))
	key.Invalid("body.patient_phone", "POST", path, body(object{"patient_id": child, "patient_phone": ""}))
	key.Invalid("body.patient_phone", "POST", path, body(nil))
	for _, unknown := range []string{foreign, test, erased, "00000000-0000-0000-0000-000000000000"} {
		key.Refused(404, "patient_not_found", "POST", path, body(object{"patient_id": unknown}))
		key.Refused(404, "patient_not_found", "POST", path, body(object{"patient_id": unknown, "patient_phone": clinictest.Phone}))
	}
	require.Equal(t, before, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1`))
}
