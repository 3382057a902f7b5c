// Package fhir converts the clinic's data to FHIR R4 resources (4.0.1), parses FHIR searches,
// and describes its capabilities. Types have only the elements that the clinic fills in; see
// http://hl7.org/fhir/R4/ for the others.
package fhir

import "time"

// MediaType is the media type of resources.
const MediaType = "application/fhir+json"

// Version is the release of FHIR that the resources follow.
const Version = "4.0.1"

// Systems of codes and identifiers.
const (
	SystemCPF             = "urn:oid:2.16.840.1.113883.13.237" // Brazilian tax id of a person
	systemIdentifierType  = "http://terminology.hl7.org/CodeSystem/v2-0203"
	systemActCode         = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
	systemConfidentiality = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
	extensionAbsent       = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
	extensionRendered     = "http://hl7.org/fhir/StructureDefinition/rendered-value"
)

// Reasons for a missing value (value set data-absent-reason).
const (
	absentMasked  = "masked"  // there is one, and it is not shown
	absentUnknown = "unknown" // the clinic does not have it
)

// Meta is a resource's metadata.
type Meta struct {
	LastUpdated string   `json:"lastUpdated,omitempty"` // instant
	Tag         []Coding `json:"tag,omitempty"`
}

// Coding is a code of a system.
type Coding struct {
	System  string `json:"system,omitempty"`
	Code    string `json:"code,omitempty"`
	Display string `json:"display,omitempty"`
}

// CodeableConcept is a concept as codes, text or both.
type CodeableConcept struct {
	Coding []Coding `json:"coding,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// Extension is one of the two extensions in use.
type Extension struct {
	URL         string `json:"url"`
	ValueCode   string `json:"valueCode,omitempty"`
	ValueString string `json:"valueString,omitempty"`
}

// Element has the extensions of a primitive element. Its JSON name is the element's with an
// underscore in front.
type Element struct {
	Extension []Extension `json:"extension,omitempty"`
}

func absentElement(reason string) *Element {
	return &Element{[]Extension{{URL: extensionAbsent, ValueCode: reason}}}
}

// maskedElement returns the element of a value that is not shown, and how it is rendered.
func maskedElement(shown string) *Element {
	e := absentElement(absentMasked)
	if shown != "" {
		e.Extension = append(e.Extension, Extension{URL: extensionRendered, ValueString: shown})
	}
	return e
}

// Identifier is a business identifier.
type Identifier struct {
	Use        string           `json:"use,omitempty"`
	Type       *CodeableConcept `json:"type,omitempty"`
	System     string           `json:"system,omitempty"`
	Value      string           `json:"value,omitempty"`
	ValueShown *Element         `json:"_value,omitempty"`
}

// HumanName is a name of a person.
type HumanName struct {
	Use       string   `json:"use,omitempty"`
	Text      string   `json:"text,omitempty"`
	TextShown *Element `json:"_text,omitempty"`
}

// ContactPoint is a telephone number or an address for mail.
type ContactPoint struct {
	System string `json:"system,omitempty"` // phone or email
	Value  string `json:"value,omitempty"`
}

// Reference refers to another resource, or only has its name.
type Reference struct {
	Reference string `json:"reference,omitempty"`
	Type      string `json:"type,omitempty"`
	Display   string `json:"display,omitempty"`
}

// Period has a start. The clinic does not know the end.
type Period struct {
	Start    string   `json:"start,omitempty"`
	EndShown *Element `json:"_end,omitempty"`
}

// FormatInstant formats an instant as FHIR does, "" for the zero time.
func FormatInstant(instant time.Time) string {
	if instant.IsZero() {
		return ""
	}
	return instant.UTC().Format("2006-01-02T15:04:05.000Z")
}

// FormatDate formats a date, "" for the zero time.
func FormatDate(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.Format(time.DateOnly)
}
