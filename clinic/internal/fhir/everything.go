package fhir

import (
	"encoding/json"
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
		Status: "active", Kind: "operation", Date: released, Description: "A patient with all that belongs to it, by GET or POST, in one response without pages: _count and _since are refused.",
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

// ParseParameters returns the parameters of an operation from the body of a POST: a resource of
// type Parameters with primitive values. An empty body has none. ok is false for any other.
func ParseParameters(body []byte) (params url.Values, ok bool) {
	params = url.Values{}
	if len(body) == 0 {
		return params, true
	}
	var resource struct {
		ResourceType string                       `json:"resourceType"`
		Parameter    []map[string]json.RawMessage `json:"parameter"`
	}
	if json.Unmarshal(body, &resource) != nil || resource.ResourceType != "Parameters" {
		return nil, false
	}
	for _, parameter := range resource.Parameter {
		var name, value string
		if json.Unmarshal(parameter["name"], &name) != nil || len(parameter) != len([]string{"name", "value"}) {
			return nil, false
		}
		for member, raw := range parameter {
			if member != "name" && (!strings.HasPrefix(member, "value") || json.Unmarshal(raw, &value) != nil) {
				return nil, false
			}
		}
		params.Add(name, value)
	}
	return params, true
}

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
