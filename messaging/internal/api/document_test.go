package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// documentChecker collects what the OpenAPI document lacks.
type documentChecker struct {
	schemas  object
	seen     map[string]bool
	problems []string
}

// check checks a schema and those below it. Where is its place, for people; isRequest says
// that callers fill it in.
func (c *documentChecker) check(where string, schema object, isRequest bool) {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		if key := name + map[bool]string{true: " request"}[isRequest]; !c.seen[key] {
			c.seen[key] = true
			c.check(name, c.schemas[name].(object), isRequest)
		}
		return
	}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name].(object)
		place := where + "." + name
		if _, isRef := property["$ref"]; !isRef {
			c.require(property["description"], place, "a description")
			if isRequest {
				c.checkBounds(place, property)
			}
		}
		c.check(place, property, isRequest)
	}
	if items, ok := schema["items"].(object); ok {
		c.check(where+"[]", items, isRequest)
	}
}

func (c *documentChecker) checkBounds(where string, schema object) {
	is := func(name string) bool {
		names, _ := schema["type"].([]any)
		return schema["type"] == name || slices.Contains(names, any(name))
	}
	switch {
	case is("string") && schema["enum"] == nil && schema["format"] == nil:
		c.require(schema["maxLength"], where, "maxLength")
	case is("array"):
		c.require(schema["maxItems"], where, "maxItems")
	case is("integer"), is("number"):
		c.require(schema["minimum"], where, "minimum")
	}
}

func (c *documentChecker) require(value any, where, what string) {
	if value == nil || value == "" {
		c.problems = append(c.problems, where+" has no "+what)
	}
}

// Every operation, parameter and property of the document has a description, and every text,
// list and number of a request has bounds.
func TestDocumentIsComplete(t *testing.T) {
	t.Parallel()
	response, err := http.Get(messagingtest.NewCompany(t).Hub.Base + "/openapi.json")
	require.NoError(t, err)
	defer response.Body.Close()
	var document object
	require.NoError(t, json.NewDecoder(response.Body).Decode(&document))
	checker := documentChecker{schemas: document["components"].(object)["schemas"].(object), seen: make(map[string]bool)}
	for path, methods := range document["paths"].(object) {
		below, isShared := strings.CutPrefix(path, integrations)
		if isShared && !strings.HasPrefix(below, "/search/") && !strings.HasPrefix(below, "/action/") {
			continue // the hub's
		}
		for method, operation := range methods.(object) {
			checker.checkOperation(method+" "+path, operation.(object))
		}
	}
	require.Empty(t, checker.problems)
	require.Greater(t, len(checker.seen), 80)
}

func (c *documentChecker) checkOperation(where string, operation object) {
	c.require(operation["summary"], where, "a summary")
	parameters, _ := operation["parameters"].([]any)
	for _, parameter := range parameters {
		p := parameter.(object)
		place := where + " " + p["name"].(string)
		c.require(p["description"], place, "a description")
	}
	if body, ok := operation["requestBody"].(object); ok {
		for _, content := range body["content"].(object) {
			c.check(where, content.(object)["schema"].(object), true)
		}
	}
	for _, response := range operation["responses"].(object) {
		contents, _ := response.(object)["content"].(object)
		for _, content := range contents {
			if schema, ok := content.(object)["schema"].(object); ok {
				c.check(where, schema, false)
			}
		}
	}
}
