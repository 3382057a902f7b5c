package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

// Bind binds a row's handler, as [Handle] makes one.
type Bind = func(huma.API, huma.Operation)

// AlsoAnswers documents errors of a row that its method, path and callers do not imply.
func AlsoAnswers(bind Bind, statuses ...int) Bind {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, statuses...)
		bind(api, op)
	}
}

// Fields binds a row whose body is a set of fields, each an [Optional], that the handler
// checks as a whole, so that all that is wrong with them is told at once: the schema only
// documents them.
func Fields(bind Bind) Bind {
	return func(api huma.API, op huma.Operation) {
		op.SkipValidateBody = true
		bind(api, op)
	}
}

// NewFields is [Fields] of a row that makes a thing: its body is documented under a name
// of its own, with the fields that it cannot do without.
func NewFields(name string, bind Bind, needed ...string) Bind {
	bind = Fields(bind)
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

// Form is the schema of a form that has the parameters of a query, as a type of requests
// has them.
func Form(registry huma.Registry, request reflect.Type) *huma.Schema {
	form := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: true}
	for _, field := range reflect.VisibleFields(request) {
		if name, _, _ := strings.Cut(field.Tag.Get("query"), ","); name != "" {
			form.Properties[name] = huma.SchemaFromField(registry, field, "")
		}
	}
	return form
}

// schemas is where those of a document are.
const schemas = "#/components/schemas/"

// nullable lets members be null that are pointers and always there: huma does so for
// scalars that it knows, and neither for ids nor for objects.
func nullable(registry huma.Registry) {
	for name, s := range registry.Map() {
		t := registry.TypeFromRef(schemas + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, field := range reflect.VisibleFields(t) {
			member, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			property := s.Properties[member]
			if property == nil || field.Type.Kind() != reflect.Pointer || strings.Contains(options, "omitempty") {
				continue
			}
			switch {
			case field.Type.Elem() == reflect.TypeFor[uuid.UUID]():
				property.Nullable = true
			case property.Ref != "":
				s.Properties[member] = &huma.Schema{
					Description: property.Description, AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}},
				}
			}
		}
	}
}

// malformed documents the answer to text in an address that no text can be, such as a
// character without a meaning.
func malformed(op *huma.Operation) {
	text := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool {
		return p.In != "header" && p.Schema != nil && textual(p.Schema)
	})
	if like := op.Responses["422"]; text && like != nil && op.Responses["400"] == nil {
		op.Responses["400"] = &huma.Response{Description: http.StatusText(http.StatusBadRequest), Content: like.Content}
	}
}

func textual(s *huma.Schema) bool {
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	return s.Type == huma.TypeString && s.Format == "" && len(s.Enum) == 0
}
