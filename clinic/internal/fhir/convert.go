package fhir

import (
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
)

// language is the language of clinics' texts.
const language = "pt-BR"

// Converter converts the clinic's data for one kind of reader.
type Converter struct {
	Base    string // address of the facade
	Clinic  string // name of the clinic
	ForPeer bool   // a connected product, which sees what the clinic shares
}

// PatientRow is a patient's data. Missing values are "" or zero.
type PatientRow struct {
	ID         uuid.UUID
	Name       string
	Phone      string // international
	Email      string
	CPF        string // masked
	BirthDate  time.Time
	Active     bool
	Anonymized bool // erased
	UpdatedAt  time.Time
}

// Patient converts a patient.
func (r Converter) Patient(row PatientRow) Patient {
	p := Patient{Base: newBase(TypePatient, row.ID, row.UpdatedAt), Active: &row.Active, BirthDate: FormatDate(row.BirthDate)}
	p.ManagingOrganization = &Reference{Type: "Organization", Display: r.Clinic}
	if row.Anonymized {
		p.PatientName = []HumanName{{TextShown: absentElement(absentMasked)}}
		return p
	}
	p.PatientName = []HumanName{{Use: "official", Text: row.Name}}
	if row.CPF != "" {
		p.Identifier = []Identifier{{
			Use: "official", System: SystemCPF, ValueShown: maskedElement(row.CPF),
			Type: &CodeableConcept{Coding: []Coding{{System: systemIdentifierType, Code: "TAX", Display: "Tax ID number"}}, Text: "CPF"},
		}}
	}
	if row.Phone != "" {
		p.Telecom = append(p.Telecom, ContactPoint{System: "phone", Value: row.Phone})
	}
	if row.Email != "" {
		p.Telecom = append(p.Telecom, ContactPoint{System: "email", Value: row.Email})
	}
	return p
}

// AppointmentRow is an appointment's data.
type AppointmentRow struct {
	ID           uuid.UUID
	PatientID    uuid.UUID
	StartsAt     time.Time
	Service      string
	Professional string
	Status       care.AppointmentStatus
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Status codes that all resources of a type have.
const (
	CodeFinished  = "finished"  // of encounters
	CodeCurrent   = "current"   // of documents
	CodeCompleted = "completed" // of communications
)

var appointmentCodes = map[care.AppointmentStatus]string{
	care.Scheduled: "booked", care.Confirmed: "booked", care.Completed: "fulfilled", care.Cancelled: "cancelled", care.NoShow: "noshow",
}

// AppointmentStatuses returns the clinic's statuses for a FHIR code, all for "", nil for an
// unknown code.
func AppointmentStatuses(code string) []care.AppointmentStatus {
	var statuses []care.AppointmentStatus
	for status, fhirCode := range appointmentCodes {
		if fhirCode == code || code == "" {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// Appointment converts an appointment.
func (r Converter) Appointment(row AppointmentRow) Appointment {
	a := Appointment{
		Base: newBase(TypeAppointment, row.ID, row.UpdatedAt), Status: appointmentCodes[row.Status],
		Start: FormatInstant(row.StartsAt), EndShown: absentElement(absentUnknown), Created: FormatInstant(row.CreatedAt), ServiceType: toConcept(row.Service),
	}
	participation := "needs-action"
	switch row.Status {
	case care.Confirmed, care.Completed:
		participation = "accepted"
	case care.Cancelled:
		participation = "declined"
	case care.Scheduled, care.NoShow:
	}
	a.Participant = []AppointmentParticipant{{patientReference(row.PatientID), participation}}
	if row.Professional != "" {
		a.Participant = append(a.Participant, AppointmentParticipant{practitionerReference(row.Professional), "accepted"})
	}
	return a
}

// Encounter converts a completed appointment to the visit that it became. The visit has the
// appointment's id.
func (r Converter) Encounter(row AppointmentRow) Encounter {
	e := Encounter{
		Base: newBase(TypeEncounter, row.ID, row.UpdatedAt), Status: CodeFinished,
		Class:   Coding{systemActCode, "AMB", "ambulatory"},
		Subject: patientReference(row.PatientID), Appointment: []Reference{{Reference: TypeAppointment + "/" + row.ID.String()}},
		Period: Period{Start: FormatInstant(row.StartsAt), EndShown: absentElement(absentUnknown)}, ServiceProvider: &Reference{Type: "Organization", Display: r.Clinic},
	}
	if row.Service != "" {
		e.ServiceType = &CodeableConcept{Text: row.Service}
	}
	if row.Professional != "" {
		e.Participant = []EncounterParticipant{{practitionerReference(row.Professional)}}
	}
	return e
}

// RecordRow is a record's data.
type RecordRow struct {
	ID           uuid.UUID
	PatientID    uuid.UUID
	Date         time.Time      // the day it is about
	Zone         *time.Location // of the day
	Type         string
	Professional string
	Content      string // only for the clinic's own people
	Withheld     bool   // there is content, and it is not shown
	Summary      string // for connected products
	URL          string
	Sensitivity  care.Sensitivity
	UpdatedAt    time.Time
}

var confidentiality = map[care.Sensitivity]string{care.Normal: "normal", care.Restricted: "restricted", care.VeryRestricted: "very restricted"}

// redactedText replaces a text that is not shown.
const redactedText = "***"

// DocumentReference converts a record; ok is false if the reader must not know that it exists.
// Connected products see of a restricted record that it exists, of a normal one the summary,
// never the content.
func (r Converter) DocumentReference(row RecordRow) (d DocumentReference, ok bool) {
	if r.ForPeer && row.Sensitivity == care.VeryRestricted {
		return DocumentReference{}, false
	}
	d = DocumentReference{
		Base: newBase(TypeDocumentReference, row.ID, row.UpdatedAt), Status: CodeCurrent, Type: CodeableConcept{Text: row.Type},
		Subject: patientReference(row.PatientID), Date: FormatInstant(startOfDay(row.Date, row.Zone)), Description: row.Summary,
		SecurityLabel: []CodeableConcept{{Coding: []Coding{{systemConfidentiality, string(row.Sensitivity), confidentiality[row.Sensitivity]}}}},
		Context:       DocumentContext{Period{Start: FormatDate(row.Date)}},
	}
	if row.Professional != "" {
		d.Author = []Reference{practitionerReference(row.Professional)}
	}
	attachment := Attachment{ContentType: "text/plain; charset=utf-8", Language: language, URL: escapeURL(row.URL)}
	switch {
	case r.ForPeer && row.Sensitivity == care.Restricted:
		d.Type.Text, d.Description = "restricted", redactedText
		d.Author = nil
		attachment = Attachment{ContentType: attachment.ContentType, DataShown: maskedElement(redactedText)}
	case r.ForPeer:
		attachment.Data = []byte(row.Summary)
	case row.Withheld:
		attachment.DataShown = maskedElement(redactedText)
	default:
		attachment.Data = []byte(row.Content)
	}
	if len(attachment.Data) == 0 && attachment.DataShown == nil && attachment.URL == "" {
		attachment.DataShown = absentElement(absentUnknown)
	}
	d.Content = []Content{{attachment}}
	return d, true
}

// InteractionRow is an interaction's data.
type InteractionRow struct {
	ID         uuid.UUID
	PatientID  uuid.UUID
	Type       string
	Summary    string
	Source     string // the product
	SourceID   string // its id there
	OccurredAt time.Time
	UpdatedAt  time.Time
}

// Communication converts an interaction.
func (r Converter) Communication(row InteractionRow) Communication {
	c := Communication{
		Base: newBase(TypeCommunication, row.ID, row.UpdatedAt), Status: CodeCompleted, Category: toConcept(row.Type),
		Medium: toConcept(row.Source), Subject: patientReference(row.PatientID), Sent: FormatInstant(row.OccurredAt),
		Identifier: []Identifier{{System: r.Base + "/NamingSystem/" + sanitizePathSegment(row.Source), Value: row.SourceID}},
	}
	if row.Summary != "" {
		c.Payload = []Payload{{row.Summary}}
	}
	return c
}

// escapeURL escapes the spaces and control characters of an address: FHIR allows none.
func escapeURL(rawURL string) string {
	var b strings.Builder
	for _, c := range rawURL {
		if c == ' ' || !unicode.IsPrint(c) {
			b.WriteString(url.PathEscape(string(c)))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func newBase(resourceType string, id uuid.UUID, updated time.Time) Base {
	b := Base{ResourceType: resourceType, ID: id.String()}
	if !updated.IsZero() {
		b.Meta = &Meta{LastUpdated: FormatInstant(updated)}
	}
	return b
}

func patientReference(id uuid.UUID) Reference {
	return Reference{Reference: TypePatient + "/" + id.String(), Type: TypePatient}
}

// practitionerReference refers to a professional by name.
func practitionerReference(name string) Reference {
	return Reference{Type: "Practitioner", Display: name}
}

// toConcept returns a text as a concept, nil for "".
func toConcept(text string) []CodeableConcept {
	if text == "" {
		return nil
	}
	return []CodeableConcept{{Text: text}}
}

// sanitizePathSegment replaces the characters that need escaping in an address by dashes.
func sanitizePathSegment(s string) string {
	segment := make([]rune, 0, len(s))
	for _, c := range s {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			segment = append(segment, c)
		} else {
			segment = append(segment, '-')
		}
	}
	return string(segment)
}
