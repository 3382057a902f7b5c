package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Binder registers a route's handler with its operation. [Handle] returns one.
type Binder = func(huma.API, huma.Operation)

// WithErrors documents error statuses of a route that its method, path and access do not
// imply.
func WithErrors(bind Binder, statuses ...int) Binder {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, statuses...)
		bind(api, op)
	}
}

// WithSuccessStatus documents another success status with the same response body.
func WithSuccessStatus(bind Binder, status int, description string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		responses := find(api.OpenAPI(), op).Responses
		alternative := *responses[strconv.Itoa(op.DefaultStatus)]
		alternative.Description = description
		responses[strconv.Itoa(status)] = &alternative
	}
}

// WithRequestBody documents the body of an operation whose handler reads it by itself, in a
// resolver of its input: for bodies of several media types, which huma does not tell apart.
func WithRequestBody(bind Binder, body *huma.RequestBody) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		find(api.OpenAPI(), op).RequestBody = body
	}
}

// WithMediaType documents a response of a media type that is not JSON.
func WithMediaType(bind Binder, mediaType string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		find(api.OpenAPI(), op).Responses[strconv.Itoa(op.DefaultStatus)].Content = map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
}

// WithHandlerValidation leaves the validation of the body to the handler. Its fields are
// [Optional]s, which the handler checks together so that one response lists all errors.
// The schema only documents them.
func WithHandlerValidation(bind Binder) Binder {
	return func(api huma.API, op huma.Operation) {
		op.SkipValidateBody = true
		bind(api, op)
	}
}

// WithoutDocument omits an operation from the OpenAPI document, which is the same in every
// environment: for operations that exist in development only.
func WithoutDocument(bind Binder) Binder {
	return func(api huma.API, op huma.Operation) {
		op.Hidden = true
		bind(api, op)
	}
}

// WithRequiredFields documents the body of a route that creates a resource with a schema
// of its own, in which some fields are required. The route that updates the resource has
// the same body with optional fields. The handler rejects missing fields.
func WithRequiredFields(schemaName string, bind Binder, required ...string) Binder {
	return func(api huma.API, op huma.Operation) {
		bind(api, op)
		body := find(api.OpenAPI(), op).RequestBody
		body.Required = true
		content, registry := body.Content["application/json"], api.OpenAPI().Components.Schemas
		schema := *registry.SchemaFromRef(content.Schema.Ref)
		schema.Required = required
		schema.Properties = make(map[string]*huma.Schema)
		for property, propertySchema := range registry.SchemaFromRef(content.Schema.Ref).Properties {
			if schema.Properties[property] = propertySchema; slices.Contains(required, property) {
				nonNull := *propertySchema
				nonNull.Nullable = false
				schema.Properties[property] = &nonNull
			}
		}
		registry.Map()[schemaName] = &schema
		content.Schema = &huma.Schema{Ref: schemaPrefix + schemaName}
	}
}

// schemaPrefix is the path of the schemas in a document.
const schemaPrefix = "#/components/schemas/"

// DocumentNullable marks members as nullable that are pointers without omitempty: huma
// does so for its own scalar types, but not for ids, amounts and objects. It also adds
// null to the values of nullable enums.
func DocumentNullable(registry huma.Registry) {
	for name, s := range registry.Map() {
		if t := registry.TypeFromRef(schemaPrefix + name); t != nil && t.Kind() == reflect.Struct {
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

// orNull returns a schema that allows null as well.
func orNull(s *huma.Schema) *huma.Schema {
	switch {
	case s.Type != "":
		s.Nullable = true
	case s.Ref != "":
		return &huma.Schema{Description: s.Description, AnyOf: []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}}
	}
	return s
}

// documentParameterErrors documents the errors that parameters imply: text in a URL may
// have an invalid encoding (400), and If-Match may not match (412).
func documentParameterErrors(op *huma.Operation) {
	template := op.Responses["422"]
	if template == nil {
		return
	}
	for _, p := range op.Parameters {
		status := 0
		switch {
		case p.Name == "If-Match":
			status = http.StatusPreconditionFailed
		case p.In != "header" && p.Schema != nil && isText(p.Schema):
			status = http.StatusBadRequest
		}
		if status != 0 {
			op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: template.Content}
		}
	}
}

func isText(s *huma.Schema) bool {
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	return s.Type == huma.TypeString && s.Format == "" && len(s.Enum) == 0
}
