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

func (c *completeness) require(ok bool, location, missing string) {
	if !ok {
		c.problems = append(c.problems, location+" has no "+missing)
	}
}

// describe requires a description that says more than a name.
func (c *completeness) describe(described object, location, name string) {
	description := textOf(described["description"])
	c.require(description != "", location, "description")
	if description != "" && repeats(description, name) {
		c.problems = append(c.problems, fmt.Sprintf("%s: the description %q repeats the name", location, description))
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

func (c *completeness) checkOperation(location string, op object) {
	c.require(textOf(op["summary"]) != "", location, "summary")
	c.describe(op, location, textOf(op["summary"]))
	c.require(!strings.HasPrefix(textOf(op["description"]), "Callers:"), location, "description of its own")
	_, hasSecurity := op["security"].([]any)
	c.require(hasSecurity, location, "security")
	c.checkErrors(location, op)
	for _, parameter := range list(op["parameters"]) {
		place := location + " " + textOf(parameter["name"])
		c.describe(parameter, place, textOf(parameter["name"]))
		// Headers and cookies are bounded together, by the server.
		if schema, ok := parameter["schema"].(object); ok && (parameter["in"] == "query" || parameter["in"] == "path") {
			c.checkBounds(place, schema)
		}
	}
	if body, ok := op["requestBody"].(object); ok {
		c.checkContents(location, body, true)
	}
	responses, _ := op["responses"].(object)
	for _, response := range responses {
		described, _ := response.(object)
		c.require(textOf(described["description"]) != "", location, "description of a response")
		c.checkContents(location, described, false)
	}
}

// checkErrors requires that the description names every error status, and every error code
// that x-error-codes has for it.
func (c *completeness) checkErrors(location string, op object) {
	description := textOf(op["description"])
	codes, _ := op["x-error-codes"].(object)
	responses, _ := op["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		number, err := strconv.Atoi(status)
		if err != nil || number < http.StatusBadRequest {
			continue
		}
		_, line, found := strings.Cut(description, "\n- "+status+": ")
		c.require(found, location, "error "+status+" in its description")
		line, _, _ = strings.Cut(line, "\n")
		response, _ := responses[status].(object)
		contents, _ := response["content"].(object)
		listed, _ := codes[status].([]any)
		if contents["application/problem+json"] != nil {
			c.require(len(listed) > 0, location, "codes of "+status)
		}
		for _, code := range listed {
			c.require(strings.Contains(line, "`"+textOf(code)+"`"), location, "code "+textOf(code)+" in its description")
		}
	}
}

func (c *completeness) checkContents(location string, of object, isRequest bool) {
	contents, _ := of["content"].(object)
	for _, content := range contents {
		described, _ := content.(object)
		if schema, ok := described["schema"].(object); ok {
			c.checkSchema(location, schema, isRequest)
		}
	}
}

// checkSchema checks the properties of a schema and of those below it. isRequest says that
// callers fill it in.
func (c *completeness) checkSchema(location string, schema object, isRequest bool) {
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
		place := location + "." + name
		c.properties++
		c.describe(property, place, name)
		if isRequest {
			c.checkBounds(place, property)
		}
		c.checkSchema(place, property, isRequest)
	}
	for _, member := range []string{"items", "additionalProperties"} {
		if below, ok := schema[member].(object); ok {
			c.checkSchema(location+"[]", below, isRequest)
		}
	}
	for _, member := range []string{"anyOf", "oneOf", "allOf"} {
		for _, alternative := range list(schema[member]) {
			c.checkSchema(location, alternative, isRequest)
		}
	}
}

// checkBounds requires the bounds of what callers send: the length or the form of a text, the
// range of a number, the length of a list.
func (c *completeness) checkBounds(location string, schema object) {
	is := func(name string) bool {
		names, _ := schema["type"].([]any)
		return schema["type"] == name || slices.Contains(names, any(name))
	}
	switch {
	case schema["enum"] != nil || schema["const"] != nil:
	case is("string"):
		c.require(schema["maxLength"] != nil || schema["format"] != nil || isAnchored(schema["pattern"]), location, "maxLength or format")
	case is("array"):
		c.require(schema["maxItems"] != nil, location, "maxItems")
	case is("integer"), is("number"):
		c.require(schema["minimum"] != nil || schema["exclusiveMinimum"] != nil, location, "minimum")
		c.require(schema["maximum"] != nil, location, "maximum")
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
