// Package fhirtest holds resources against the JSON schema that HL7 published with
// FHIR R4, for tests of products that speak it.
package fhirtest

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schema
	"encoding/json"
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
	c := jsonschema.NewCompiler()
	return c, c.AddResource(address, document)
})

var compiling sync.Mutex

// Validate says what the schema has against a resource in JSON, nil for nothing.
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
