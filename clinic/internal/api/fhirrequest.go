package api

import (
	"context"
	"errors"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/hub"
)

// asking is how a request to the facade asks: its parameters as they came, and what it
// prefers.
type asking struct {
	query  string
	prefer string
	accept string
}

type askingKey struct{}

// noteAsking keeps how a request asks for its handler.
func noteAsking(ctx huma.Context, next func(huma.Context)) {
	address := ctx.URL()
	next(huma.WithValue(ctx, askingKey{}, asking{address.RawQuery, ctx.Header("Prefer"), ctx.Header("Accept")}))
}

func askingFrom(ctx context.Context) asking {
	a, _ := ctx.Value(askingKey{}).(asking)
	return a
}

// parameters are those of the address, with those of a form behind them.
func (a asking) parameters(form string) (url.Values, error) {
	all, err := parsed(a.query, "query")
	if err != nil {
		return nil, err
	}
	more, err := parsed(form, "body")
	for name, values := range more {
		all[name] = append(all[name], values...)
	}
	return all, err
}

func parsed(text, where string) (url.Values, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, misread(where, "must be a form: name=value&…")
	}
	return values, nil
}

// strict reports whether parameters that nobody knows are to be refused.
func (a asking) strict() bool {
	for text := range strings.FieldsFuncSeq(a.prefer, func(c rune) bool { return c == ',' || c == ';' || c == ' ' }) {
		if strings.EqualFold(strings.ReplaceAll(text, `"`, ""), "handling=strict") {
			return true
		}
	}
	return false
}

// forms are the names of the one that resources are sent in.
var forms = []string{fhir.MediaType, "application/json", "text/json", "json", "application/*", "*/*", "*"}

// answerable refuses a request for a form that resources are not sent in. What _format
// says counts before the header.
func (a asking) answerable(format string) error {
	accepted := []string{strings.ReplaceAll(format, " ", "+")} // a plus that nobody escaped
	if format == "" {
		if strings.TrimSpace(a.accept) == "" {
			return nil
		}
		accepted = strings.Split(a.accept, ",")
	}
	for _, text := range accepted {
		name, options, err := mime.ParseMediaType(text)
		refused := options["q"] != "" && strings.Trim(options["q"], "0.") == ""
		if err == nil && slices.Contains(forms, name) && !refused {
			return nil
		}
	}
	return hub.Errorf(hub.ErrNotAcceptable, "not_acceptable", "Resources are sent as %s only.", fhir.MediaType)
}

// misread is a parameter that cannot be understood.
func misread(parameter, message string) *hub.Error {
	return refusal(&fhir.Fault{Parameter: parameter, Message: message})
}

// refusal answers for a parameter that is not answered.
func refusal(f *fhir.Fault) *hub.Error {
	code := "invalid_parameter"
	if f.Unsupported {
		code = fhir.NotSupported
	}
	e := hub.Errorf(hub.ErrMalformed, code, "%s %s.", f.Parameter, f.Message)
	e.Fields = []hub.FieldError{{Location: parameterPrefix + f.Parameter, Message: f.Message}}
	return e
}

// parameterPrefix stands before the names of parameters in errors.
const parameterPrefix = "query."

// mapParamError turns errors of parameters into errors for callers.
func mapParamError(err error) error {
	var fault *fhir.Fault
	if errors.As(err, &fault) {
		return refusal(fault)
	}
	return err
}
