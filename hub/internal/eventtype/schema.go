// Package eventtype describes the types of events: JSON Schemas that their data is checked
// against, the types that come from code, and OpenAPI documents of a product's webhooks.
package eventtype

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a type, in bytes.
const (
	MaxSchema  = 64 << 10
	MaxExample = 64 << 10
)

// dialect is the only dialect of schemas: JSON Schema 2020-12.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Bounds of what a schema may have.
const (
	maxSchemaDepth = 64
	maxSubschemas  = 5_000
	maxPattern     = 500 // bytes of a regular expression
	maxExponent    = 400 // of a number: those of doubles end at 308
)

// base is what a schema's references are relative to. Nothing is loaded from there.
const base = "https://schema.invalid/"

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	raw   []byte
	nodes int
	// instances are compiled copies that are not in use; nil: not compiled yet. Each counts
	// the steps of one check, so that no data takes longer than its bound.
	instances chan *instance
}

// instance is one compiled copy of a schema.
type instance struct {
	schema *jsonschema.Schema
	budget *budget
}

// Problem is why a text is no schema.
type Problem struct {
	Path    string // in the schema, such as .properties.age; may be empty
	Message string
}

// Error implements error.
func (p *Problem) Error() string { return "schema" + p.Path + " " + p.Message }

// Compile returns a schema, or a [*Problem] if the text is no JSON Schema 2020-12 or goes
// beyond the bounds. Nothing outside of the schema is ever loaded.
func Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSchema {
		return nil, &Problem{Message: fmt.Sprintf("must have at most %d bytes", MaxSchema)}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &Problem{Message: "must be JSON"}
	}
	if _, isObject := document.(map[string]any); !isObject {
		return nil, &Problem{Message: "must be a JSON object"}
	}
	walk := schemaWalk{document: document}
	if problem := walk.visit(document, nil); problem != nil {
		return nil, problem
	}
	s := &Schema{raw: raw, instances: make(chan *instance, max(2, runtime.GOMAXPROCS(0)))}
	first, err := s.compile()
	if err != nil {
		return nil, problemOf(err, document, walk.outside)
	}
	s.nodes = first.budget.nodes
	s.instances <- first
	for range cap(s.instances) - 1 {
		s.instances <- nil
	}
	return s, nil
}

// compile returns a new compiled copy of the schema.
func (s *Schema) compile() (*instance, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.raw))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	compiler, own := jsonschema.NewCompiler(), newBudget()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(own.compileRegexp)
	if err := compiler.AddResource(base, document); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, err := compiler.Compile(base)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	own.countSteps(schema)
	return &instance{schema, own}, nil
}

// noLoader refuses to load whatever is not part of the schema.
type noLoader struct{}

var errOutside = errors.New("it is outside of the schema")

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errOutside }

// schemaWalk looks at every value of a schema's text before it is compiled.
type schemaWalk struct {
	document any
	nodes    int
	outside  []string // path of the first $ref that does not begin with #
}

func (w *schemaWalk) visit(value any, path []string) *Problem {
	if len(path) > maxSchemaDepth {
		return &Problem{Message: fmt.Sprintf("must be nested at most %d levels deep", maxSchemaDepth)}
	}
	switch v := value.(type) {
	case json.Number:
		if isOutOfRange(v) {
			return &Problem{Path: locate(path, w.document), Message: "is a number beyond the range of a double"}
		}
	case []any:
		for i, item := range v {
			if problem := w.visit(item, append(path, strconv.Itoa(i))); problem != nil {
				return problem
			}
		}
	case map[string]any:
		if w.nodes++; w.nodes > maxSubschemas {
			return &Problem{Message: fmt.Sprintf("must have at most %d objects", maxSubschemas)}
		}
		for name, member := range v {
			below := append(slices.Clip(path), name)
			if problem := w.checkKeyword(name, member, below); problem != nil {
				return problem
			}
			if problem := w.visit(member, below); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// checkKeyword refuses keywords that lead out of the schema, or that cannot be bounded.
func (w *schemaWalk) checkKeyword(name string, value any, path []string) *Problem {
	text, isText := value.(string)
	if !isText {
		return nil
	}
	switch name {
	case "$schema":
		if strings.TrimSuffix(text, "#") != dialect {
			return &Problem{Path: locate(path, w.document), Message: "must be " + dialect + ": other dialects are not supported"}
		}
	case "$ref":
		if strings.HasPrefix(text, "https://json-schema.org/") || strings.HasPrefix(text, "http://json-schema.org/") {
			return outsideProblem(path, w.document)
		}
		if !strings.HasPrefix(text, "#") && w.outside == nil {
			w.outside = path
		}
	case "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
		return &Problem{Path: locate(path, w.document), Message: "is not supported; use $ref"}
	}
	return nil
}

func outsideProblem(path []string, document any) *Problem {
	return &Problem{Path: locate(path, document), Message: "refers to something outside of the schema, which is not loaded: copy it into $defs"}
}

// problemOf converts the error of a compiler. outside is where a reference may lead out of
// the schema.
func problemOf(err error, document any, outside []string) *Problem {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var pointer *jsonschema.JSONPointerNotFoundError
	var anchor *jsonschema.AnchorNotFoundError
	var validation *jsonschema.ValidationError
	switch {
	case errors.As(err, &load):
		return outsideProblem(outside, document)
	case errors.As(err, &invalid) && errors.As(invalid.Err, &validation):
		names := pointerNames(invalid.URL) // of a schema that only a $ref leads to
		violations := violationsOf(validation, valueAt(names, document))
		return &Problem{Path: locate(names, document) + violations[0].Path, Message: violations[0].Message}
	case errors.As(err, &regex):
		return &Problem{Path: locate(pointerNames(regex.URL), document), Message: cmp.Or(patternReason(regex.Err), notRE2)}
	case errors.As(err, &pointer):
		return &Problem{Message: "has a $ref to a place that does not exist: #" + fragment(pointer.URL)}
	case errors.As(err, &anchor):
		return &Problem{Message: "has a $ref to an anchor that does not exist: " + strings.TrimPrefix(anchor.Reference, base)}
	}
	return &Problem{Message: "is no JSON Schema 2020-12"}
}

func fragment(location string) string {
	_, after, _ := strings.Cut(location, "#")
	return after
}

// pointerEscapes are the escapes of a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// pointerNames returns the names of the JSON pointer in a URL's fragment.
func pointerNames(location string) []string {
	pointer := strings.TrimPrefix(fragment(location), "/")
	if pointer == "" {
		return nil
	}
	names := strings.Split(pointer, "/")
	for i, name := range names {
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		names[i] = pointerEscapes.Replace(name)
	}
	return names
}

// valueAt returns the value at a place of a document; nil: there is none.
func valueAt(names []string, value any) any {
	for _, name := range names {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// Nodes returns how many subschemas the schema has, which is about its memory in kilobytes.
func (s *Schema) Nodes() int { return s.nodes }
