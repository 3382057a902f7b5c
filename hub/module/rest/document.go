package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Binder binds a row's handler, as [Handle] makes one.
type Binder = func(huma.API, huma.Operation)

// WithErrors documents errors of a row that its method, path and callers do not imply.
func WithErrors(bind Binder, statuses ...int) Binder {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, statuses...)
		bind(api, op)
	}
}

// WithSuccessStatus documents another status that comes with the row's answer.
func WithSuccessStatus(bind Binder, status int, when string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		answers := find(api.OpenAPI(), op).Responses
		other := *answers[strconv.Itoa(op.DefaultStatus)]
		other.Description = when
		answers[strconv.Itoa(status)] = &other
	}
}

// WithMediaType documents that the row's answer is of a media type that is not JSON.
func WithMediaType(bind Binder, media string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		find(api.OpenAPI(), op).Responses[strconv.Itoa(op.DefaultStatus)].Content = map[string]*huma.MediaType{media: {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
}

// WithHandlerValidation binds a row whose body is a set of fields, each an [Optional], that the handler
// checks as a whole, so that all that is wrong with them is told at once: the schema only
// documents them.
func WithHandlerValidation(bind Binder) Binder {
	return func(api huma.API, op huma.Operation) {
		op.SkipValidateBody = true
		bind(api, op)
	}
}

// WithRequiredFields documents the body of a row that makes a thing under a name of its own, with
// the fields that it cannot do without; the same ones may be left out by the row that
// changes the thing. What is answered where one is missing stays the handler's.
func WithRequiredFields(name string, bind Binder, needed ...string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		body := find(api.OpenAPI(), op).RequestBody
		body.Required = true
		content, registry := body.Content["application/json"], api.OpenAPI().Components.Schemas
		made := *registry.SchemaFromRef(content.Schema.Ref)
		made.Required = needed
		made.Properties = make(map[string]*huma.Schema)
		for property, s := range registry.SchemaFromRef(content.Schema.Ref).Properties {
			if made.Properties[property] = s; slices.Contains(needed, property) {
				given := *s
				given.Nullable = false
				made.Properties[property] = &given
			}
		}
		registry.Map()[name] = &made
		content.Schema = &huma.Schema{Ref: schemas + name}
	}
}

// schemas is where those of a document are.
const schemas = "#/components/schemas/"

// nullable lets members be null that are pointers and always there: huma does so for
// scalars that it knows, and neither for ids and amounts nor for objects. Where a choice
// may be null, that is one of its values.
func nullable(registry huma.Registry) {
	for name, s := range registry.Map() {
		if t := registry.TypeFromRef(schemas + name); t != nil && t.Kind() == reflect.Struct {
			for _, field := range reflect.VisibleFields(t) {
				member, options, _ := strings.Cut(field.Tag.Get("json"), ",")
				if property := s.Properties[member]; property != nil && field.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
					s.Properties[member] = orNull(property)
				}
			}
		}
		for _, property := range s.Properties {
			if property.Nullable && len(property.Enum) > 0 && !slices.Contains(property.Enum, nil) {
				property.Enum = append(property.Enum, nil)
			}
		}
	}
}

func orNull(s *huma.Schema) *huma.Schema {
	switch s.Type {
	case huma.TypeBoolean, huma.TypeInteger, huma.TypeNumber, huma.TypeString:
		s.Nullable = true
	case "":
		if s.Ref != "" {
			return &huma.Schema{Description: s.Description, AnyOf: []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}}
		}
	}
	return s
}

// implied documents what the parameters of an operation imply: text in an address may be
// none, such as a character without a meaning, and a version may be an old one.
func implied(op *huma.Operation) {
	like := op.Responses["422"]
	if like == nil {
		return
	}
	for _, p := range op.Parameters {
		status := 0
		switch {
		case p.Name == "If-Match":
			status = http.StatusPreconditionFailed
		case p.In != "header" && p.Schema != nil && textual(p.Schema):
			status = http.StatusBadRequest
		}
		if status != 0 {
			op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: like.Content}
		}
	}
}

func textual(s *huma.Schema) bool {
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	return s.Type == huma.TypeString && s.Format == "" && len(s.Enum) == 0
}
