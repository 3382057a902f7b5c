package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// object is a JSON object.
type object = map[string]any

// Incompleteness lists what an OpenAPI document lacks: a description of an operation, tag,
// parameter or property, one that only repeats the name, errors of an operation, or bounds of
// what callers send. It also returns how many properties it looked at.
func Incompleteness(text []byte) (problems []string, properties int, err error) {
	var document object
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, 0, fmt.Errorf("reading the document: %w", err)
	}
	components, _ := document["components"].(object)
	schemas, _ := components["schemas"].(object)
	c := completeness{schemas: schemas, seen: make(map[string]bool)}
	for _, tag := range list(document["tags"]) {
		c.describe(tag, "tag "+textOf(tag["name"]), textOf(tag["name"]))
	}
	paths, _ := document["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods, _ := paths[path].(object)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			op, _ := methods[method].(object)
			c.checkOperation(strings.ToUpper(method)+" "+path, op)
		}
	}
	return c.problems, c.properties, nil
}

// completeness collects what a document lacks.
type completeness struct {
	schemas    object
	seen       map[string]bool
	properties int
	problems   []string
}

func (c *completeness) require(ok bool, where, what string) {
	if !ok {
		c.problems = append(c.problems, where+" has no "+what)
	}
}

// describe requires a description that says more than a name.
func (c *completeness) describe(described object, where, name string) {
	description := textOf(described["description"])
	c.require(description != "", where, "description")
	if description != "" && repeats(description, name) {
		c.problems = append(c.problems, fmt.Sprintf("%s: the description %q repeats the name", where, description))
	}
}

// fillers are words that add nothing to a name.
var fillers = strings.Fields("a an the its it is of this that to in for on with by")

// repeats reports whether a description has no other words than a name.
func repeats(description, name string) bool {
	known := append(words(name), fillers...)
	return !slices.ContainsFunc(words(description), func(word string) bool {
		return !slices.Contains(known, word) && !slices.Contains(known, strings.TrimSuffix(word, "s"))
	})
}

// words splits a text, and camelCase and snake_case names, into lower-case words.
func words(text string) []string {
	var split strings.Builder
	previous := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(previous) {
			split.WriteRune(' ')
		}
		split.WriteRune(unicode.ToLower(r))
		previous = r
	}
	return strings.FieldsFunc(split.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func (c *completeness) checkOperation(where string, op object) {
	c.require(textOf(op["summary"]) != "", where, "summary")
	c.describe(op, where, textOf(op["summary"]))
	c.require(!strings.HasPrefix(textOf(op["description"]), "Callers:"), where, "description of its own")
	_, hasSecurity := op["security"].([]any)
	c.require(hasSecurity, where, "security")
	c.checkErrors(where, op)
	for _, parameter := range list(op["parameters"]) {
		place := where + " " + textOf(parameter["name"])
		c.describe(parameter, place, textOf(parameter["name"]))
		// Headers and cookies are bounded together, by the server.
		if schema, ok := parameter["schema"].(object); ok && (parameter["in"] == "query" || parameter["in"] == "path") {
			c.checkBounds(place, schema)
		}
	}
	if body, ok := op["requestBody"].(object); ok {
		c.checkContents(where, body, true)
	}
	responses, _ := op["responses"].(object)
	for _, response := range responses {
		described, _ := response.(object)
		c.require(textOf(described["description"]) != "", where, "description of a response")
		c.checkContents(where, described, false)
	}
}

// checkErrors requires that the description names every error status, and every error code
// that x-error-codes has for it.
func (c *completeness) checkErrors(where string, op object) {
	description := textOf(op["description"])
	codes, _ := op["x-error-codes"].(object)
	responses, _ := op["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		number, err := strconv.Atoi(status)
		if err != nil || number < http.StatusBadRequest {
			continue
		}
		_, line, found := strings.Cut(description, "\n- "+status+": ")
		c.require(found, where, "error "+status+" in its description")
		line, _, _ = strings.Cut(line, "\n")
		response, _ := responses[status].(object)
		contents, _ := response["content"].(object)
		listed, _ := codes[status].([]any)
		if contents["application/problem+json"] != nil {
			c.require(len(listed) > 0, where, "codes of "+status)
		}
		for _, code := range listed {
			c.require(strings.Contains(line, "`"+textOf(code)+"`"), where, "code "+textOf(code)+" in its description")
		}
	}
}

func (c *completeness) checkContents(where string, of object, isRequest bool) {
	contents, _ := of["content"].(object)
	for _, content := range contents {
		described, _ := content.(object)
		if schema, ok := described["schema"].(object); ok {
			c.checkSchema(where, schema, isRequest)
		}
	}
}

// checkSchema checks the properties of a schema and of those below it. isRequest says that
// callers fill it in.
func (c *completeness) checkSchema(where string, schema object, isRequest bool) {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		if key := name + strconv.FormatBool(isRequest); !c.seen[key] {
			c.seen[key] = true
			below, _ := c.schemas[name].(object)
			c.checkSchema(name, below, isRequest)
		}
		return
	}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(object)
		place := where + "." + name
		c.properties++
		c.describe(property, place, name)
		if isRequest {
			c.checkBounds(place, property)
		}
		c.checkSchema(place, property, isRequest)
	}
	for _, member := range []string{"items", "additionalProperties"} {
		if below, ok := schema[member].(object); ok {
			c.checkSchema(where+"[]", below, isRequest)
		}
	}
	for _, member := range []string{"anyOf", "oneOf", "allOf"} {
		for _, alternative := range list(schema[member]) {
			c.checkSchema(where, alternative, isRequest)
		}
	}
}

// checkBounds requires the bounds of what callers send: the length or the form of a text, the
// range of a number, the length of a list.
func (c *completeness) checkBounds(where string, schema object) {
	is := func(name string) bool {
		names, _ := schema["type"].([]any)
		return schema["type"] == name || slices.Contains(names, any(name))
	}
	switch {
	case schema["enum"] != nil || schema["const"] != nil:
	case is("string"):
		c.require(schema["maxLength"] != nil || schema["format"] != nil || isAnchored(schema["pattern"]), where, "maxLength or format")
	case is("array"):
		c.require(schema["maxItems"] != nil, where, "maxItems")
	case is("integer"), is("number"):
		c.require(schema["minimum"] != nil || schema["exclusiveMinimum"] != nil, where, "minimum")
		c.require(schema["maximum"] != nil, where, "maximum")
	}
}

// isAnchored reports whether a pattern describes a whole text.
func isAnchored(pattern any) bool {
	return strings.HasPrefix(textOf(pattern), "^") && strings.HasSuffix(textOf(pattern), "$")
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

func list(value any) (objects []object) {
	items, _ := value.([]any)
	for _, item := range items {
		if o, ok := item.(object); ok {
			objects = append(objects, o)
		}
	}
	return objects
}
