package moduletest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// Operation is an operation of an OpenAPI document.
type Operation struct {
	ID          string                `json:"operationId"`
	Security    []map[string][]string `json:"security"`
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema Schema }
	} `json:"requestBody"`
	Method, Path string

	schemas map[string]Schema
}

// Schema is the part of a JSON schema that tests read.
type Schema struct {
	Ref        string `json:"$ref"`
	Type       any    // a name, or a list of them
	Items      *Schema
	Properties map[string]Schema
}

// Operations returns every operation of the document that the product serves, those that
// the hub adds included, ordered by path.
func (c *Client) Operations() []Operation {
	c.T.Helper()
	res, err := httpClient.Get(c.Hub.Base + "/openapi.json")
	require.NoError(c.T, err)
	defer res.Body.Close()
	var document struct {
		Paths      map[string]map[string]Operation
		Components struct{ Schemas map[string]Schema }
	}
	require.NoError(c.T, json.NewDecoder(res.Body).Decode(&document))
	var operations []Operation
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, op := range document.Paths[path] {
			op.Method, op.Path, op.schemas = strings.ToUpper(method), path, document.Components.Schemas
			operations = append(operations, op)
		}
	}
	require.NotEmpty(c.T, operations)
	return operations
}

// TakesJSON reports whether the operation has a JSON body.
func (o Operation) TakesJSON() bool {
	if o.RequestBody == nil {
		return false
	}
	_, isJSON := o.RequestBody.Content["application/json"]
	return isJSON
}

// IsPublic reports whether the operation needs no credentials.
func (o Operation) IsPublic() bool { return len(o.Security) == 0 }

// Accepts returns the scopes that a scheme of credentials needs, and whether the
// operation takes that scheme at all.
func (o Operation) Accepts(scheme string) (scopes []string, ok bool) {
	for _, alternative := range o.Security {
		if scopes, ok = alternative[scheme]; ok {
			return scopes, true
		}
	}
	return nil, false
}

// Requires reports whether the operation takes a scheme of credentials with a role; ""
// means any role.
func (o Operation) Requires(scheme, role string) bool {
	for _, alternative := range o.Security {
		if roles, ok := alternative[scheme]; ok && (role == "" || len(roles) > 0 && roles[0] == role) {
			return true
		}
	}
	return false
}

// MistypedMembers returns the members of the JSON body, each with a value of a type that
// it cannot have.
func (o Operation) MistypedMembers() map[string]any {
	mistyped := make(map[string]any)
	for name, member := range o.resolve(o.RequestBody.Content["application/json"].Schema).Properties {
		mistyped[name] = Object{"wrong": []int{1}}
		if member = o.resolve(member); member.Type == "object" || member.Type == nil || slices.Contains(member.typeNames(), "object") {
			mistyped[name] = "wrong"
		}
	}
	return mistyped
}

// MemberNames returns the names of all members of the JSON body, at any depth.
func (o Operation) MemberNames() []string {
	return o.memberNames(o.RequestBody.Content["application/json"].Schema, make(map[string]bool))
}

func (o Operation) memberNames(schema Schema, seen map[string]bool) (names []string) {
	if schema.Ref != "" {
		if seen[schema.Ref] {
			return nil
		}
		seen[schema.Ref] = true
		schema = o.resolve(schema)
	}
	for name, member := range schema.Properties {
		names = append(append(names, name), o.memberNames(member, seen)...)
	}
	if schema.Items != nil {
		names = append(names, o.memberNames(*schema.Items, seen)...)
	}
	return names
}

// Property is a property of a request body.
type Property struct {
	Path           string // as in "options.[].id"
	IsList, IsForm bool   // IsForm: of a form, not of JSON
}

// Name returns the last part of the path.
func (p Property) Name() string { return p.Path[strings.LastIndex(p.Path, ".")+1:] }

// Properties returns every property of the operation's bodies, at any depth, ordered by path.
func (o Operation) Properties() []Property {
	if o.RequestBody == nil {
		return nil
	}
	var properties []Property
	for kind, content := range o.RequestBody.Content {
		o.addProperties(&properties, Property{IsForm: kind != "application/json"}, content.Schema, nil)
	}
	slices.SortFunc(properties, func(a, b Property) int { return strings.Compare(a.Path, b.Path) })
	return properties
}

func (o Operation) addProperties(properties *[]Property, at Property, schema Schema, seen []string) {
	if schema.Ref != "" {
		if slices.Contains(seen, schema.Ref) {
			return
		}
		seen = append(slices.Clone(seen), schema.Ref)
		schema = o.resolve(schema)
	}
	for name, member := range schema.Properties {
		member, ref := o.resolve(member), member.Ref
		if ref != "" && slices.Contains(seen, ref) {
			continue
		}
		property := Property{at.Path + name, member.Items != nil, at.IsForm}
		*properties = append(*properties, property)
		o.addProperties(properties, Property{Path: property.Path + ".", IsForm: at.IsForm}, member, append(slices.Clone(seen), ref))
	}
	if schema.Items != nil {
		o.addProperties(properties, Property{Path: at.Path + "[].", IsForm: at.IsForm}, *schema.Items, seen)
	}
}

// resolve follows a reference.
func (o Operation) resolve(schema Schema) Schema {
	if schema.Ref != "" {
		return o.schemas[schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]]
	}
	return schema
}

func (s Schema) typeNames() (names []string) {
	list, _ := s.Type.([]any)
	for _, entry := range list {
		name, _ := entry.(string)
		names = append(names, name)
	}
	return names
}
