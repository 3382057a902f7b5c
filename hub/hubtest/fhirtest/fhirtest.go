// Package fhirtest holds resources against the JSON schema that HL7 published with
// FHIR R4, for tests of products that speak it.
package fhirtest

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed fhir.schema.json.gz
var packed []byte

// address is the schema's own name.
const address = "http://hl7.org/fhir/json-schema/4.0"

var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking the schema: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(unpacked)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is no object")
	}
	if err := narrow(schema); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource(address, schema)
})

// supported are the resources that products have; others are refused. FHIR has 146, and
// compiling the rules of all takes ten seconds under the race detector.
var supported = []string{
	"Appointment", "Bundle", "CapabilityStatement", "Communication", "DocumentReference", "Encounter", "OperationDefinition",
	"OperationOutcome", "Organization", "Patient", "Practitioner",
}

// narrow leaves in the schema what supported resources need.
func narrow(schema map[string]any) error {
	definitions, _ := schema["definitions"].(map[string]any)
	list, _ := definitions["ResourceList"].(map[string]any)
	kinds, _ := list["oneOf"].([]any)
	kinds = slices.DeleteFunc(kinds, func(kind any) bool {
		names := references(kind, nil)
		return len(names) != 1 || !slices.Contains(supported, names[0])
	})
	if len(kinds) != len(supported) {
		return fmt.Errorf("the schema has %d of the %d supported resources", len(kinds), len(supported))
	}
	list["oneOf"], schema["oneOf"] = kinds, kinds
	needed := make(map[string]any)
	for names := []string{"ResourceList"}; len(names) > 0; names = names[1:] {
		if _, ok := needed[names[0]]; !ok {
			needed[names[0]] = definitions[names[0]]
			names = references(definitions[names[0]], names)
		}
	}
	schema["definitions"] = needed
	return nil
}

// references appends the names of the definitions that part of a schema refers to.
func references(part any, names []string) []string {
	switch part := part.(type) {
	case map[string]any:
		if reference, ok := part["$ref"].(string); ok {
			names = append(names, path.Base(reference))
		}
		for _, member := range part {
			names = references(member, names)
		}
	case []any:
		for _, item := range part {
			names = references(item, names)
		}
	}
	return names
}

var compiling sync.Mutex

// Validate returns the violations of the schema in a resource in JSON, nil if there are none.
func Validate(resource []byte) error {
	var named struct {
		ResourceType string `json:"resourceType"`
	}
	if err := json.Unmarshal(resource, &named); err != nil {
		return fmt.Errorf("reading the resource: %w", err)
	}
	c, err := compiler()
	if err != nil {
		return err
	}
	compiling.Lock()
	rules, err := c.Compile(address + "#/definitions/" + named.ResourceType)
	compiling.Unlock()
	if err != nil {
		return fmt.Errorf("compiling the schema of %q: %w", named.ResourceType, err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(resource))
	if err != nil {
		return fmt.Errorf("reading the resource: %w", err)
	}
	return rules.Validate(parsed)
}
