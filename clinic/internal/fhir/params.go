package fhir

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// SearchParam is a parameter of searches.
type SearchParam struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"` // token, reference, date or string
	Documentation string   `json:"documentation,omitempty"`
	Modifiers     []string `json:"-"` // what may stand behind the name and a colon
}

// Systems of status codes and of other tokens.
const (
	SystemAppointmentStatus = "http://hl7.org/fhir/appointmentstatus"
	SystemEncounterStatus   = "http://hl7.org/fhir/encounter-status"
	SystemDocumentStatus    = "http://hl7.org/fhir/document-reference-status"
	SystemEventStatus       = "http://hl7.org/fhir/event-status"
	SystemSpecialValues     = "http://terminology.hl7.org/CodeSystem/special-values"
	systemSpecialValues     = "http://hl7.org/fhir/special-values" // as the pages on searching have it
	systemPhone             = "phone"
	dates                   = "With eq, gt, ge, lt, le, sa, eb; several narrow it down, commas widen it."
)

// BooleanSystems are the systems of the codes true and false.
var BooleanSystems = []string{SystemSpecialValues, systemSpecialValues}

// PhoneSystems are the systems of phone numbers.
var PhoneSystems = []string{systemPhone}

// searchParams are the parameters of each type's searches, beside those of all types.
var (
	commonParams = []SearchParam{
		{"_id", "token", "One or several ids, with commas between them.", nil},
		{"_lastUpdated", "date", "When the clinic last changed it. " + dates, nil},
	}
	patientReferenceParams = []SearchParam{
		{"patient", "reference", "An id, or Patient/ and an id; also patient:Patient.", []string{TypePatient}},
		{"subject", "reference", "The same as patient.", []string{TypePatient}},
	}
	searchParams = map[string][]SearchParam{
		TypePatient: {
			{"phone", "token", "As people write it; the country and the ninth digit may be missing.", nil},
			{"telecom", "token", "The same as phone; phone| may stand in front. E-mail addresses are not searched.", nil},
			{"name", "string", "How parts of the name begin, whatever its case and accents; name:exact is the whole name as it is written.", []string{"exact"}},
			{"identifier", "token", "A CPF, with or without its system " + SystemCPF + "| in front.", nil},
			{"birthdate", "date", "A day, or a range of them. " + dates, nil},
			{"active", "token", "true or false.", nil},
		},
		TypeAppointment:       patientItemParams(SearchParam{"date", "date", "When it begins. " + dates, nil}, "booked, fulfilled, cancelled or noshow."),
		TypeEncounter:         patientItemParams(SearchParam{"date", "date", "When it began. " + dates, nil}, "finished is the only one there is."),
		TypeDocumentReference: patientItemParams(SearchParam{"date", "date", "The instant at which the day it is about began, where the clinic is. " + dates, nil}, "current is the only one there is."),
		TypeCommunication: patientItemParams(SearchParam{"sent", "date", "When it happened. " + dates, nil}, "completed is the only one there is.",
			SearchParam{"date", "date", "The same as sent.", nil}),
	}
	resourceTypes = []string{TypePatient, TypeAppointment, TypeEncounter, TypeDocumentReference, TypeCommunication}
)

func patientItemParams(date SearchParam, statuses string, more ...SearchParam) []SearchParam {
	return append(slices.Concat(patientReferenceParams, []SearchParam{date, {"status", "token", statuses, nil}}), more...)
}

// SearchParams returns the parameters of a type's searches.
func SearchParams(resourceType string) []SearchParam {
	return slices.Concat(commonParams, searchParams[resourceType])
}

// Parameters of the result, each allowed once.
const (
	ParamCount   = "_count"
	ParamSummary = "_summary"
	ParamAfter   = "_after" // where the page before ended
	ParamPage    = "_page"  // sealed parameters, of searches that name a person
	ParamFormat  = "_format"
	ParamPretty  = "_pretty"
)

// ResultParams are the parameters of the result of a search.
var ResultParams = []string{ParamCount, ParamSummary, ParamAfter, ParamPage, ParamFormat, ParamPretty}

// ParameterError is a parameter that is invalid or not supported. It has no value of the
// request.
type ParameterError struct {
	Parameter   string
	Message     string // what it must be
	Unsupported bool   // FHIR has it, the facade has not
}

// Error implements error.
func (f *ParameterError) Error() string { return f.Parameter + " " + f.Message }

// Bounds of a search. Each repetition of a parameter is a condition; each value between commas
// is an alternative.
const (
	maxRepetitions  = 10
	maxAlternatives = 200
)

// ParseSearchParams returns the supported parameters. Unknown ones are dropped, or are an
// error if strict; unsupported modifiers are always an error.
func ParseSearchParams(resourceType string, requested url.Values, strict bool) (url.Values, error) {
	supported := SearchParams(resourceType)
	params := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		values := slices.DeleteFunc(slices.Clone(requested[name]), func(text string) bool { return text == "" })
		if len(values) == 0 {
			continue // forms send empty fields too
		}
		baseName, modifier, hasModifier := strings.Cut(name, ":")
		i := slices.IndexFunc(supported, func(searchParam SearchParam) bool { return searchParam.Name == baseName })
		switch {
		case hasModifier && (i < 0 || !slices.Contains(supported[i].Modifiers, modifier)):
			return nil, &ParameterError{sanitizeName(name), "has a modifier that is not supported; " + listModifiers(supported), true}
		case i >= 0:
			if len(values) > maxRepetitions || slices.ContainsFunc(values, hasTooManyAlternatives) {
				return nil, &ParameterError{name, fmt.Sprintf("can be given %d times, each with %d values", maxRepetitions, maxAlternatives), false}
			}
		case slices.Contains(ResultParams, name):
			if len(values) > 1 {
				return nil, &ParameterError{name, "can be given once", false}
			}
		case strict:
			return nil, &ParameterError{sanitizeName(name), "is not supported: " + listNames(supported) + " are", true}
		default:
			continue
		}
		if slices.ContainsFunc(values, isNotText) {
			return nil, &ParameterError{name, "must be text", false}
		}
		params[name] = values
	}
	return params, nil
}

func hasTooManyAlternatives(value string) bool { return strings.Count(value, ",") >= maxAlternatives }

func isNotText(value string) bool { return !utf8.ValidString(value) || strings.ContainsRune(value, 0) }

// sanitizeName returns a parameter's name up to the first character that no parameter has.
func sanitizeName(name string) string {
	const maxLength = 60
	for i, c := range name {
		if i >= maxLength || !strings.ContainsRune("_-:.", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return name[:i] + "…"
		}
	}
	return name
}

func listNames(params []SearchParam) string {
	var names []string
	for _, param := range params {
		names = append(names, param.Name)
	}
	return strings.Join(append(names, ResultParams...), ", ")
}

func listModifiers(params []SearchParam) string {
	var names []string
	for _, param := range params {
		for _, modifier := range param.Modifiers {
			names = append(names, param.Name+":"+modifier)
		}
	}
	if len(names) == 0 {
		return "no parameter has one here"
	}
	return "there are only " + strings.Join(names, " and ")
}
