package httpx

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// CheckNulls returns a [hub.ErrInvalid] that names every null in a JSON body which the
// schema of its operation does not allow, at most 20 of them; [module.MetadataHandledNulls] are left out. huma itself takes null for
// a property that is not required as if the property were absent, so that a caller who
// means to clear something would hear of success.
func CheckNulls(schemas huma.Registry, op *huma.Operation, body []byte) error {
	if op.RequestBody == nil || !bytes.Contains(body, []byte("null")) {
		return nil
	}
	content := op.RequestBody.Content[fiber.MIMEApplicationJSON]
	value, err := decodeAny(body)
	if content == nil || err != nil || value == nil && !op.RequestBody.Required {
		return nil // malformed bodies are refused elsewhere
	}
	handled, _ := op.Metadata[module.MetadataHandledNulls].([]string)
	check := nullCheck{schemas: schemas, handled: handled}
	check.visit(content.Schema, "body", value)
	return check.errs.Err()
}

// nullCheck walks a body beside its schema.
type nullCheck struct {
	schemas huma.Registry
	handled []string // locations that the handler checks
	errs    rest.FieldErrors
}

func (n *nullCheck) visit(schema *huma.Schema, location string, value any) {
	if schema == nil || len(n.errs) >= maxFields {
		return
	}
	if value == nil {
		n.errs.Check(slices.Contains(n.handled, location) || n.allowsNull(schema), printableLocation(location), "must not be null")
		return
	}
	schema = n.valueSchema(schema)
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			n.visit(schema.Items, location+"["+strconv.Itoa(i)+"]", item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			n.visit(memberSchema(schema, name), location+"."+name, value[name])
		}
	}
}

// memberSchema returns the schema of an object's member, or nil if it is not known. The
// decoder of bodies ignores the case of names.
func memberSchema(schema *huma.Schema, name string) *huma.Schema {
	if property := schema.Properties[name]; property != nil {
		return property
	}
	for documented, property := range schema.Properties {
		if strings.EqualFold(documented, name) {
			return property
		}
	}
	additional, _ := schema.AdditionalProperties.(*huma.Schema)
	return additional
}

// allowsNull reports whether null is a value of a schema.
func (n *nullCheck) allowsNull(schema *huma.Schema) bool {
	schema = n.resolve(schema)
	alternatives := slices.Concat(schema.AnyOf, schema.OneOf)
	isAny := schema.Type == "" && len(alternatives) == 0 && len(schema.AllOf) == 0
	return schema.Nullable || schema.Type == "null" || isAny || slices.ContainsFunc(alternatives, n.allowsNull)
}

// valueSchema returns the schema of values other than null.
func (n *nullCheck) valueSchema(schema *huma.Schema) *huma.Schema {
	schema = n.resolve(schema)
	for _, alternative := range slices.Concat(schema.AnyOf, schema.OneOf) {
		if alternative.Type != "null" {
			return n.valueSchema(alternative)
		}
	}
	return schema
}

func (n *nullCheck) resolve(schema *huma.Schema) *huma.Schema {
	for schema.Ref != "" {
		schema = n.schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}
