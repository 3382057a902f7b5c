package fhir

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MediaTypeNDJSON is the media type of a bulk export's files: one resource on each line.
const MediaTypeNDJSON = "application/fhir+ndjson"

// standardExport is the definition of $export for patients, of the guide Bulk Data Access.
const standardExport = "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export"

// exportFormats are the values of _outputFormat. All mean [MediaTypeNDJSON].
var exportFormats = []string{MediaTypeNDJSON, "application/ndjson", "ndjson"}

// Parameters of $export.
const (
	paramSince        = "_since"
	paramOutputFormat = "_outputFormat"
)

// ExportParams returns the inputs of $export.
func ExportParams() []OperationParameter {
	const in = "in"
	return []OperationParameter{
		{paramType, in, 0, "*", "Types of resources, with commas between them: " + strings.Join(resourceTypes, ", ") + ". Without it, all that the caller may read.", "string"},
		{paramSince, in, 0, "1", "An instant such as 2026-03-02T09:00:00Z: resources that changed then or later.", "instant"},
		{paramOutputFormat, in, 0, "1", strings.Join(exportFormats, ", ") + ": all mean the same.", "string"},
	}
}

// ExportQuery selects the resources of $export.
type ExportQuery struct {
	Types  []string  // nil = all
	Since  time.Time // of the last change; zero = any
	params url.Values
}

// Encode returns the query string of the parameters.
func (e ExportQuery) Encode() string { return e.params.Encode() }

// ParseExportQuery parses the parameters of $export. Its error is a [ParameterError].
func ParseExportQuery(requested url.Values) (ExportQuery, error) {
	query := ExportQuery{params: url.Values{}}
	for name, values := range requested {
		values = slices.DeleteFunc(slices.Clone(values), func(text string) bool { return text == "" })
		if len(values) == 0 || name == ParamFormat || name == ParamPretty {
			continue
		}
		if err := query.set(name, values); err != nil {
			return query, err
		}
		query.params[name] = values
	}
	return query, nil
}

// set sets a parameter that has at least one value.
func (e *ExportQuery) set(name string, values []string) error {
	if len(values) > 1 && name != paramType {
		return &ParameterError{sanitizeName(name), "can be given once", false}
	}
	value := strings.ReplaceAll(values[0], " ", "+") // an unescaped plus
	switch name {
	case paramType:
		for _, requestedType := range strings.Split(strings.Join(values, ","), ",") {
			if !slices.Contains(resourceTypes, requestedType) {
				return &ParameterError{name, "has a type that is not served: " + strings.Join(resourceTypes, ", ") + " are", true}
			}
			if !slices.Contains(e.Types, requestedType) {
				e.Types = append(e.Types, requestedType)
			}
		}
	case paramSince:
		instant, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return &ParameterError{name, "must be an instant with its offset, such as 2026-03-02T09:00:00Z", false}
		}
		e.Since = instant
	case paramOutputFormat:
		if !slices.Contains(exportFormats, value) {
			return &ParameterError{name, "has a format that is not served: " + strings.Join(exportFormats, ", ") + " are", true}
		}
	default:
		return &ParameterError{sanitizeName(name), fmt.Sprintf("is not supported: %s, %s, %s, %s, %s are", paramType, paramSince, paramOutputFormat, ParamFormat, ParamPretty), true}
	}
	return nil
}

// NewProgress returns the outcome of a request that is under way.
func NewProgress(progress string) OperationOutcome {
	return OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: []Issue{{Severity: "information", Code: "informational", Diagnostics: progress}}}
}

// NewUnreadable returns the outcome about a resource that an export leaves out, because the
// clinic cannot decrypt it.
func NewUnreadable(resourceType string, id uuid.UUID) OperationOutcome {
	return OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: []Issue{{
		Severity: "error", Code: "exception", Diagnostics: resourceType + "/" + id.String() + " cannot be read and was left out.",
	}}}
}
