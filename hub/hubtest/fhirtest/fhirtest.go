// Package fhirtest holds resources against the JSON schema that HL7 published with
// FHIR R4, for tests of products that speak it.
package fhirtest

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schema
	"fmt"
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
	// "Any resource" would draw in all of them, half a minute's work for a race
	// detector; nothing that is checked here holds others but bundles: see check.
	document.(map[string]any)["definitions"].(map[string]any)["ResourceList"] = false //nolint:forcetypeassert // HL7's file
	c := jsonschema.NewCompiler()
	return c, c.AddResource(address, document)
})

var compiling sync.Mutex

// Check says what the schema has against a resource in JSON, nil for nothing. The
// resources in a bundle are held each against its own type's part: the schema's way,
// against all types there are, takes a hundred times as long.
func Check(resource []byte) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(resource))
	if err != nil {
		return fmt.Errorf("reading the resource: %w", err)
	}
	return check(parsed)
}

func check(resource any) error {
	object, _ := resource.(map[string]any)
	name, _ := object["resourceType"].(string)
	if name == "Bundle" {
		entries, _ := object["entry"].([]any)
		for _, one := range entries {
			entry, _ := one.(map[string]any)
			if held, found := entry["resource"]; found {
				if err := check(held); err != nil {
					return err
				}
				delete(entry, "resource")
			}
		}
	}
	rules, err := rulesOf(name)
	if err != nil {
		return err
	}
	return rules.Validate(resource)
}

func rulesOf(resourceType string) (*jsonschema.Schema, error) {
	c, err := compiler()
	if err != nil {
		return nil, err
	}
	compiling.Lock()
	defer compiling.Unlock()
	rules, err := c.Compile(address + "#/definitions/" + resourceType)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of %q: %w", resourceType, err)
	}
	return rules, nil
}
