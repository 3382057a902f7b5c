package fhir

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// PathEverything is the path of the definition of $everything.
const PathEverything = "/OperationDefinition/Patient-everything"

const standardEverything = "http://hl7.org/fhir/OperationDefinition/Patient-everything"

// Parameters of $everything.
const (
	paramStart = "start"
	paramEnd   = "end"
	paramType  = "_type"
)

// OperationDefinition is http://hl7.org/fhir/R4/operationdefinition.html.
type OperationDefinition struct {
	Base
	URL          string               `json:"url"`
	Name         string               `json:"name"`
	Status       string               `json:"status"`
	Kind         string               `json:"kind"`
	Date         string               `json:"date"`
	Description  string               `json:"description"`
	AffectsState bool                 `json:"affectsState"`
	Code         string               `json:"code"`
	BasedOn      string               `json:"base"`
	Resource     []string             `json:"resource"`
	System       bool                 `json:"system"`
	OfType       bool                 `json:"type"`
	Instance     bool                 `json:"instance"`
	Parameter    []OperationParameter `json:"parameter"`
}

// OperationParameter is an input or output of an operation.
type OperationParameter struct {
	Name          string `json:"name"`
	Use           string `json:"use"` // in or out
	Min           int    `json:"min"`
	Max           string `json:"max"`
	Documentation string `json:"documentation,omitempty"`
	Type          string `json:"type"`
}

// EverythingParams returns the inputs of $everything.
func EverythingParams() []OperationParameter {
	const in = "in"
	return []OperationParameter{
		{paramStart, in, 0, "1", "What took place on this day or later; the patient is there in any case.", "date"},
		{paramEnd, in, 0, "1", "What took place on this day or earlier.", "date"},
		{paramType, in, 0, "*", "Types of resources, with commas between them.", "code"},
	}
}

// NewEverythingDefinition describes $everything of the facade at a base address: a part of the
// standard's.
func NewEverythingDefinition(base, released string) OperationDefinition {
	return OperationDefinition{
		Base: Base{ResourceType: "OperationDefinition", ID: "Patient-everything"}, URL: base + PathEverything, Name: "PatientEverything",
		Status: "active", Kind: "operation", Date: released, Description: "A patient with all that belongs to it, by GET, in one answer without pages: _count and _since are refused.",
		Code: "everything", BasedOn: standardEverything, Resource: []string{TypePatient}, Instance: true,
		Parameter: append(EverythingParams(), OperationParameter{"return", "out", 1, "1", "A searchset", "Bundle"}),
	}
}

// EverythingQuery selects a patient's resources for $everything.
type EverythingQuery struct {
	types  []string // nil = all
	Range  Range    // when they took place
	params url.Values
}

// Has reports whether resources of a type are selected.
func (e EverythingQuery) Has(resourceType string) bool {
	return e.types == nil || slices.Contains(e.types, resourceType)
}

// Encode returns the query string of the parameters.
func (e EverythingQuery) Encode() string { return e.params.Encode() }

// ParseEverythingQuery parses the parameters of $everything. Dates are in zone. Its error is a
// [ParameterError].
func ParseEverythingQuery(requested url.Values, zone *time.Location) (EverythingQuery, error) {
	query := EverythingQuery{params: url.Values{}}
	for name, values := range requested {
		values = slices.DeleteFunc(slices.Clone(values), func(text string) bool { return text == "" })
		if len(values) == 0 || name == ParamFormat || name == ParamPretty {
			continue
		}
		switch name {
		case paramType:
			query.types = strings.Split(strings.Join(values, ","), ",")
		case paramStart, paramEnd:
			low, high, ok := parseDateSpan(values[0], zone)
			if !ok || len(values) > 1 {
				return query, &ParameterError{name, "must be one date such as 2026-03-02", false}
			}
			if name == paramStart {
				query.Range.From = low
			} else {
				query.Range.To = high
			}
		default:
			return query, &ParameterError{sanitizeName(name), "is not supported: " + strings.Join([]string{paramStart, paramEnd, paramType, ParamFormat, ParamPretty}, ", ") + " are", true}
		}
		query.params[name] = values
	}
	return query, nil
}
