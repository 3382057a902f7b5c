package api

import (
	"context"
	"errors"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/hub"
)

// fhirRequest is the query and the headers of a request to the facade.
type fhirRequest struct {
	query       string
	prefer      string
	accept      string
	ifNoneMatch string
}

type fhirRequestKey struct{}

// withFHIRRequest is middleware that adds the [fhirRequest] to the context.
func withFHIRRequest(ctx huma.Context, next func(huma.Context)) {
	address := ctx.URL()
	next(huma.WithValue(ctx, fhirRequestKey{}, fhirRequest{address.RawQuery, ctx.Header("Prefer"), ctx.Header("Accept"), ctx.Header("If-None-Match")}))
}

func fhirRequestFrom(ctx context.Context) fhirRequest {
	a, _ := ctx.Value(fhirRequestKey{}).(fhirRequest)
	return a
}

// parameters returns the parameters of the address and of a form.
func (a fhirRequest) parameters(form string) (url.Values, error) {
	params, err := parseForm(a.query, "query")
	if err != nil {
		return nil, err
	}
	formParams, err := parseForm(form, "body")
	for name, values := range formParams {
		params[name] = append(params[name], values...)
	}
	for name, values := range params {
		if slices.ContainsFunc(values, func(value string) bool { return len(value) > maxParameter }) {
			return nil, invalidParameter(name, "must have at most "+strconv.Itoa(maxParameter)+" bytes")
		}
	}
	return params, err
}

// maxParameter is the longest value of a parameter, in bytes.
const maxParameter = 16 << 10

// parameterSchema documents a parameter.
func parameterSchema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(maxParameter)}
}

func parseForm(form, location string) (url.Values, error) {
	values, err := url.ParseQuery(form)
	if err != nil {
		return nil, invalidParameter(location, "must be a form: name=value&…")
	}
	return values, nil
}

// isStrict reports whether the caller wants unknown parameters refused.
func (a fhirRequest) isStrict() bool { return a.prefers("handling=strict") }

// prefers reports whether the caller has a preference, in lower case (RFC 7240).
func (a fhirRequest) prefers(value string) bool {
	for preference := range strings.FieldsFuncSeq(a.prefer, func(c rune) bool { return c == ',' || c == ';' || c == ' ' }) {
		if strings.EqualFold(strings.ReplaceAll(preference, `"`, ""), value) {
			return true
		}
	}
	return false
}

// acceptedMediaTypes are the media types accepted for resources.
var acceptedMediaTypes = []string{fhir.MediaType, "application/json", "text/json", "json", "application/*", "*/*", "*"}

// checkAccept is a [hub.ErrNotAcceptable] if the caller accepts no media type of resources.
// The parameter _format takes precedence over the header.
func (a fhirRequest) checkAccept(format string) error {
	accepted := []string{strings.ReplaceAll(format, " ", "+")} // an unescaped plus
	if format == "" {
		if strings.TrimSpace(a.accept) == "" {
			return nil
		}
		accepted = strings.Split(a.accept, ",")
	}
	for _, mediaRange := range accepted {
		name, options, err := mime.ParseMediaType(mediaRange)
		refused := options["q"] != "" && strings.Trim(options["q"], "0.") == ""
		if err == nil && slices.Contains(acceptedMediaTypes, name) && !refused {
			return nil
		}
	}
	return hub.Errorf(hub.ErrNotAcceptable, "not_acceptable", "Resources are sent as %s only.", fhir.MediaType)
}

// invalidParameter returns the error of a parameter that cannot be parsed.
func invalidParameter(parameter, message string) *hub.Error {
	return parameterError(&fhir.ParameterError{Parameter: parameter, Message: message})
}

// parameterError converts an error of a parameter into an error for callers.
func parameterError(f *fhir.ParameterError) *hub.Error {
	code := "invalid_parameter"
	if f.Unsupported {
		code = fhir.NotSupported
	}
	e := hub.Errorf(hub.ErrMalformed, code, "%s %s.", f.Parameter, f.Message)
	e.Fields = []hub.FieldError{{Location: parameterPrefix + f.Parameter, Message: f.Message}}
	return e
}

// parameterPrefix begins the locations of parameters in errors.
const parameterPrefix = "query."

// mapParamError is [parameterError] for errors of package fhir; others stay.
func mapParamError(err error) error {
	var paramErr *fhir.ParameterError
	if errors.As(err, &paramErr) {
		return parameterError(paramErr)
	}
	return err
}
