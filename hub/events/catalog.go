package events

import (
	"slices"
	"time"
)

// Described is an event type with an example of its data.
type Described struct {
	Description string
	Example     Data
}

// Describe returns what an event type of this package is; ok is false for others.
func Describe(eventType string) (described Described, ok bool) {
	for _, described := range slices.Concat(schedulingCatalog(), clinicCatalog(), messagingCatalog(), hubCatalog()) {
		if described.Example.EventType() == eventType {
			return described, true
		}
	}
	return Described{}, false
}

const (
	examplePhone       = "+5511987654321"
	examplePatient     = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11"
	exampleAppointment = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b22"
)

func schedulingCatalog() []Described {
	return []Described{
		{"There is a new appointment.", AppointmentCreated{
			AppointmentID: exampleAppointment, ClientPhone: examplePhone, ClientName: "Caio Souza", Datetime: "2026-03-02T12:00:00Z", EndAt: "2026-03-02T12:30:00Z",
			Professional: "Ana Lima", Service: "Consultation", Source: "web", Status: "scheduled",
		}},
		{"An appointment was cancelled.", AppointmentCancelled{AppointmentID: exampleAppointment, Reason: "The client is ill."}},
		{"The client was reminded of an appointment.", AppointmentReminded{AppointmentID: exampleAppointment, ClientPhone: examplePhone}},
		{"The client did not come.", AppointmentNoShow{AppointmentID: exampleAppointment, ClientPhone: examplePhone}},
	}
}

func clinicCatalog() []Described {
	phone, email, cpf, method, appointment := examplePhone, "caio@example.com", "***.***.***-09", "pix", exampleAppointment
	return []Described{
		{"There is a new patient.", PatientCreated{PatientID: examplePatient, Phone: &phone, Name: "Caio Souza", Email: &email, CPF: &cpf}},
		{"Fields of a patient changed. The values are not part of the event.", PatientUpdated{PatientID: examplePatient, ChangedFields: []string{"phone"}, Phone: &phone}},
		{"A person asks to be erased. Every receiver erases them.", PatientDeleted{
			PatientID: examplePatient, Name: "Caio Souza", Phone: &phone, Phones: []string{}, Names: []string{}, Email: &email, DeletionRequestID: "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b33",
			RequestedAt: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
		}},
		{"There is a new medical record that may be shown outside.", RecordCreated{PatientID: examplePatient, RecordType: "visit", Summary: "First visit"}},
		{"A patient paid.", PaymentReceived{PatientID: examplePatient, Amount: Decimal("150.00"), Description: "Consultation", Method: &method, AppointmentID: &appointment}},
		{"A payment was not made by its due date.", PaymentOverdue{PatientID: examplePatient, Amount: Decimal("150.00"), DueDate: "2026-03-02"}},
	}
}

func messagingCatalog() []Described {
	return []Described{
		{"A contact sent a chat message.", MessageReceived{Phone: examplePhone, Name: "Caio Souza", Body: "Good morning", TicketID: "7"}},
		{"A chat message was sent to a contact.", MessageSent{Phone: examplePhone, Body: "Good morning", TicketID: "7"}},
		{"A contact has a new ticket.", TicketCreated{Phone: examplePhone, Name: "Caio Souza", TicketID: "7", Queue: "Sales"}},
		{"A ticket was closed.", TicketClosed{TicketID: "7", Resolution: "Solved"}},
		{"There is a new contact.", ContactCreated{Phone: examplePhone, Name: "Caio Souza", Email: "caio@example.com"}},
	}
}

func hubCatalog() []Described {
	const id, url = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b44", "https://example.com/webhooks"
	subject := HubSubject{TenantID: "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b55", TenantName: "Acme", Product: "shop", Environment: "live"}
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	before := at.Add(-10 * time.Minute)
	return []Described{
		{"Every attempt at an endpoint has failed for a while (10 minutes, if the hub is not set up otherwise), and at least five.", EndpointFailing{subject, id, url, before, 14}},
		{"A failing endpoint takes deliveries again.", EndpointRecovered{subject, id, url, before, at}},
		{"An endpoint responded 410, and the hub disabled it.", EndpointDisabled{subject, id, url, "gone", at}},
		{"An endpoint was disabled for 15 days. Events make no deliveries to it until it is enabled.", EndpointAbandoned{subject, id, url, at.AddDate(0, 0, -15), at}},
		{"The first delivery of an episode was parked. The hub sends what is parked when the receiver takes deliveries again.", DeliveryParked{
			HubSubject: subject, EndpointID: id, URL: url, DeliveryID: "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e0001", ParkedType: "invoice.created", Reason: "retries_exhausted",
		}},
		{"The peer of an integration fails its checks or its registration. Deliveries to it are parked.", IntegrationError{subject, id, "clinic", "the peer responded with 503", at}},
		{"An integration that failed is active again.", IntegrationRecovered{subject, id, "clinic", before, at}},
		{"An API key ends within seven days.", KeyExpiring{subject, id, "web shop", "a1B2", at.AddDate(0, 0, 7)}},
		{"Received entries wait for a person to decide.", InboxWaiting{subject, 1, at}},
	}
}
