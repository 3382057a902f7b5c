package fhir

import "time"

// Names of the resources.
const (
	TypePatient           = "Patient"
	TypeAppointment       = "Appointment"
	TypeEncounter         = "Encounter"
	TypeDocumentReference = "DocumentReference"
	TypeCommunication     = "Communication"
)

// Resource is any of the resources of this package.
type Resource interface {
	// TypeAndID returns the resource's type and id.
	TypeAndID() (resourceType, id string)
	// LastUpdated returns when the resource was last changed, the zero time if that is not known.
	LastUpdated() time.Time
}

// Base is what resources have in common.
type Base struct {
	ResourceType string `json:"resourceType"`
	ID           string `json:"id,omitempty"`
	Meta         *Meta  `json:"meta,omitempty"`
}

// TypeAndID implements [Resource].
func (b Base) TypeAndID() (resourceType, id string) { return b.ResourceType, b.ID }

// LastUpdated implements [Resource].
func (b Base) LastUpdated() time.Time {
	if b.Meta == nil {
		return time.Time{}
	}
	instant, err := time.Parse(time.RFC3339, b.Meta.LastUpdated)
	if err != nil {
		return time.Time{}
	}
	return instant
}

// Patient is http://hl7.org/fhir/R4/patient.html.
type Patient struct {
	Base
	Identifier           []Identifier   `json:"identifier,omitempty"`
	Active               *bool          `json:"active,omitempty"`
	PatientName          []HumanName    `json:"name,omitempty"`
	Telecom              []ContactPoint `json:"telecom,omitempty"`
	BirthDate            string         `json:"birthDate,omitempty"`
	ManagingOrganization *Reference     `json:"managingOrganization,omitempty"`
}

// Appointment is http://hl7.org/fhir/R4/appointment.html.
type Appointment struct {
	Base
	Status      string            `json:"status"`
	ServiceType []CodeableConcept `json:"serviceType,omitempty"`
	Start       string            `json:"start,omitempty"`
	// EndShown is a missing end: the standard requires an end with every start of a booked
	// appointment (invariants app-2 and app-3).
	EndShown    *Element                 `json:"_end,omitempty"`
	Created     string                   `json:"created,omitempty"`
	Participant []AppointmentParticipant `json:"participant"`
}

// AppointmentParticipant is a participant of an appointment.
type AppointmentParticipant struct {
	Actor  Reference `json:"actor"`
	Status string    `json:"status"`
}

// Encounter is http://hl7.org/fhir/R4/encounter.html.
type Encounter struct {
	Base
	Status          string                 `json:"status"`
	Class           Coding                 `json:"class"`
	ServiceType     *CodeableConcept       `json:"serviceType,omitempty"`
	Subject         Reference              `json:"subject"`
	Participant     []EncounterParticipant `json:"participant,omitempty"`
	Appointment     []Reference            `json:"appointment,omitempty"`
	Period          Period                 `json:"period"`
	ServiceProvider *Reference             `json:"serviceProvider,omitempty"`
}

// EncounterParticipant is a participant other than the patient.
type EncounterParticipant struct {
	Individual Reference `json:"individual"`
}

// DocumentReference is http://hl7.org/fhir/R4/documentreference.html.
type DocumentReference struct {
	Base
	Status        string            `json:"status"`
	Type          CodeableConcept   `json:"type"`
	Subject       Reference         `json:"subject"`
	Date          string            `json:"date,omitempty"` // instant: the day it is about, where the clinic is
	Author        []Reference       `json:"author,omitempty"`
	Description   string            `json:"description,omitempty"`
	SecurityLabel []CodeableConcept `json:"securityLabel,omitempty"`
	Content       []Content         `json:"content"`
	Context       DocumentContext   `json:"context"`
}

// Content is a form of a document.
type Content struct {
	Attachment Attachment `json:"attachment"`
}

// Attachment is a text, here or elsewhere.
type Attachment struct {
	ContentType string   `json:"contentType,omitempty"`
	Language    string   `json:"language,omitempty"`
	Data        []byte   `json:"data,omitempty"` // base64, as FHIR has it
	DataShown   *Element `json:"_data,omitempty"`
	URL         string   `json:"url,omitempty"`
}

// DocumentContext is the time of a document's contents.
type DocumentContext struct {
	Period Period `json:"period"`
}

// Communication is http://hl7.org/fhir/R4/communication.html.
type Communication struct {
	Base
	Identifier []Identifier      `json:"identifier,omitempty"`
	Status     string            `json:"status"`
	Category   []CodeableConcept `json:"category,omitempty"`
	Medium     []CodeableConcept `json:"medium,omitempty"`
	Subject    Reference         `json:"subject"`
	Sent       string            `json:"sent,omitempty"`
	Payload    []Payload         `json:"payload,omitempty"`
}

// Payload is the content of a communication.
type Payload struct {
	ContentString string `json:"contentString"`
}
