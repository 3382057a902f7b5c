package events_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/events"
)

// The bytes on the wire are part of the contract: peers sign and compare them. Each event is
// ordered by the id of what it is about, and by no personal data.
func TestWireFormat(t *testing.T) {
	t.Parallel()
	phone, method, appointment := "+5511987654321", "pix", "a1"
	subject, at := events.HubSubject{TenantID: "t1", TenantName: "Acme", Product: "shop", Environment: "live"}, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const subjectText = `"tenant_id":"t1","tenant_name":"Acme","product":"shop","environment":"live",`
	cases := []struct {
		data events.Data
		wire string
	}{
		{
			events.AppointmentCreated{AppointmentID: "a1", ClientPhone: phone, Datetime: "2026-03-02T12:00:00Z", EndAt: "2026-03-02T12:30:00Z", Professional: "Ana", Service: "Cut", Source: "web", Status: "scheduled"},
			`appointment.created {"appointment_id":"a1","client_phone":"+5511987654321","datetime":"2026-03-02T12:00:00Z","end_at":"2026-03-02T12:30:00Z","professional":"Ana","service":"Cut","source":"web","status":"scheduled"}`,
		},
		{
			events.AppointmentCreated{AppointmentID: "a1", ClientPhone: phone, ClientName: "Caio", Status: "scheduled"},
			`appointment.created {"appointment_id":"a1","client_phone":"+5511987654321","client_name":"Caio","datetime":"","end_at":"","professional":"","service":"","source":"","status":"scheduled"}`,
		},
		{events.AppointmentCancelled{AppointmentID: "a1", Reason: "ill"}, `appointment.cancelled {"appointment_id":"a1","reason":"ill"}`},
		{events.AppointmentReminded{AppointmentID: "a1", ClientPhone: phone}, `appointment.reminded {"appointment_id":"a1","client_phone":"+5511987654321"}`},
		{events.AppointmentNoShow{AppointmentID: "a1", ClientPhone: phone}, `appointment.noshow {"appointment_id":"a1","client_phone":"+5511987654321"}`},
		{
			events.PatientCreated{PatientID: "p1", Phone: &phone, Name: "Caio"},
			`patient.created {"patient_id":"p1","phone":"+5511987654321","name":"Caio","email":null,"cpf":null}`,
		},
		{events.PatientUpdated{PatientID: "p1", ChangedFields: []string{"phone"}, Phone: &phone}, `patient.updated {"patient_id":"p1","changed_fields":["phone"],"phone":"+5511987654321"}`},
		{
			events.PatientDeleted{PatientID: "p1", Name: "Caio", Phone: &phone, PhoneShared: true, Phones: []string{}, Names: []string{}, DeletionRequestID: "d1", RequestedAt: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)},
			`patient.deleted {"patient_id":"p1","name":"Caio","phone":"+5511987654321","email":null,"phone_shared":true,"phones":[],"names":[],"email_shared":false,"deletion_request_id":"d1","requested_at":"2026-03-02T12:00:00Z"}`,
		},
		{events.RecordCreated{PatientID: "p1", RecordType: "visit", Summary: "seen"}, `record.created {"patient_id":"p1","record_type":"visit","summary":"seen"}`},
		{events.PaymentReceived{PatientID: "p1", Amount: events.Decimal("150.00"), Description: "visit"}, `payment.received {"patient_id":"p1","amount":150.00,"description":"visit"}`},
		{
			events.PaymentReceived{PatientID: "p1", Amount: events.Decimal("0.50"), Method: &method, AppointmentID: &appointment},
			`payment.received {"patient_id":"p1","amount":0.50,"description":"","method":"pix","appointment_id":"a1"}`,
		},
		{events.PaymentOverdue{PatientID: "p1", Amount: events.Decimal("1.00"), DueDate: "2026-03-02"}, `payment.overdue {"patient_id":"p1","amount":1.00,"due_date":"2026-03-02"}`},
		{events.MessageReceived{Phone: phone, Name: "Caio", Body: "hi", TicketID: "7"}, `message.received {"phone":"+5511987654321","name":"Caio","body":"hi","ticket_id":"7"}`},
		{events.MessageSent{Phone: phone, Body: "hi", TicketID: "7"}, `message.sent {"phone":"+5511987654321","body":"hi","ticket_id":"7"}`},
		{events.TicketCreated{Phone: phone, Name: "Caio", TicketID: "7", Queue: "Sales"}, `ticket.created {"phone":"+5511987654321","name":"Caio","ticket_id":"7","queue":"Sales"}`},
		{events.TicketClosed{TicketID: "7", Resolution: "done"}, `ticket.closed {"ticket_id":"7","resolution":"done"}`},
		{events.ContactCreated{Phone: phone, Name: "Caio", Email: "c@example.com"}, `contact.created {"phone":"+5511987654321","name":"Caio","email":"c@example.com"}`},
		{events.EndpointFailing{subject, "e1", "https://a.example/h", at, 14}, `hub.endpoint.failing {` + subjectText + `"endpoint_id":"e1","url":"https://a.example/h","failing_since":"2026-03-02T12:00:00Z","attempts":14}`},
		{events.EndpointRecovered{subject, "e1", "https://a.example/h", at, at}, `hub.endpoint.recovered {` + subjectText + `"endpoint_id":"e1","url":"https://a.example/h","failing_since":"2026-03-02T12:00:00Z","recovered_at":"2026-03-02T12:00:00Z"}`},
		{events.EndpointDisabled{subject, "e1", "https://a.example/h", "gone", at}, `hub.endpoint.disabled {` + subjectText + `"endpoint_id":"e1","url":"https://a.example/h","reason":"gone","disabled_at":"2026-03-02T12:00:00Z"}`},
		{events.EndpointAbandoned{subject, "e1", "https://a.example/h", at, at}, `hub.endpoint.abandoned {` + subjectText + `"endpoint_id":"e1","url":"https://a.example/h","disabled_at":"2026-03-02T12:00:00Z","abandoned_at":"2026-03-02T12:00:00Z"}`},
		{events.DeliveryParked{HubSubject: subject, IntegrationID: "i1", URL: "https://a.example/h", DeliveryID: "d1", ParkedType: "a.b", Reason: "gone"}, `hub.delivery.parked {` + subjectText + `"integration_id":"i1","url":"https://a.example/h","delivery_id":"d1","event_type":"a.b","reason":"gone"}`},
		{events.IntegrationError{subject, "i1", "clinic", "away", at}, `hub.integration.error {` + subjectText + `"integration_id":"i1","peer":"clinic","error":"away","error_since":"2026-03-02T12:00:00Z"}`},
		{events.IntegrationRecovered{subject, "i1", "clinic", at, at}, `hub.integration.recovered {` + subjectText + `"integration_id":"i1","peer":"clinic","error_since":"2026-03-02T12:00:00Z","recovered_at":"2026-03-02T12:00:00Z"}`},
		{events.KeyExpiring{subject, "k1", "shop", "abcd", at}, `hub.key.expiring {` + subjectText + `"key_id":"k1","name":"shop","last4":"abcd","expires_at":"2026-03-02T12:00:00Z"}`},
		{events.InboxWaiting{subject, 3, at}, `hub.inbox.waiting {` + subjectText + `"waiting":3,"oldest_since":"2026-03-02T12:00:00Z"}`},
	}
	keys := map[string]string{ // ordering keys, by what the event is about
		events.TypeContactCreated: "", events.TypePatientDeleted: "", events.TypeInboxWaiting: "", // in no order
		events.TypeIntegrationError: "i1", events.TypeIntegrationRecovered: "i1", events.TypeDeliveryParked: "i1", events.TypeKeyExpiring: "k1",
	}
	families := map[string]string{"appointment": "a1", "patient": "p1", "record": "p1", "payment": "p1", "message": "7", "ticket": "7", "hub": "e1"}
	seen := make(map[string]bool)
	for _, tc := range cases {
		key, isNamed := keys[tc.data.EventType()]
		if family, _, _ := strings.Cut(tc.data.EventType(), "."); !isNamed {
			key = families[family]
		}
		require.Equal(t, key, tc.data.OrderingKey(), tc.data.EventType())
		data, err := json.Marshal(tc.data)
		require.NoError(t, err)
		require.Equal(t, tc.wire, tc.data.EventType()+" "+string(data))
		seen[tc.data.EventType()] = true
	}
	for _, eventType := range slices.Concat(events.FromScheduling(), events.FromClinic(), events.FromMessaging(), events.FromHub()) {
		require.True(t, seen[eventType], "%s has no case", eventType)
	}
	require.Len(t, seen, 24)
}

// A receiver parses amounts by its own rules, so every JSON value arrives as it was sent.
func TestDecimalKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"150.00", "1.5e2", `"12"`, "null", "true"} {
		var payment events.PaymentReceived
		require.NoError(t, json.Unmarshal([]byte(`{"amount":`+value+`}`), &payment))
		require.Equal(t, value, string(payment.Amount))
	}
	var payment events.PaymentReceived
	require.NoError(t, json.Unmarshal([]byte(`{}`), &payment))
	require.Nil(t, payment.Amount)
	data, err := json.Marshal(payment)
	require.NoError(t, err)
	require.Equal(t, `{"patient_id":"","amount":null,"description":""}`, string(data))
}
