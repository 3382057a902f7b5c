// Package openapitest holds answers against the OpenAPI document that their server
// serves: the status is documented, the content type too, and the body fits its schema.
// A test's client hands over every answer it gets, so that whatever a suite tries keeps
// the document exact.
package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"integrationhub/hub/hubtest"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a document; it is read when the first answer is checked. All servers whose
// answers it is asked about serve the same one.
type Document struct {
	mu         sync.Mutex
	operations []operation // nil: not read yet
	compiler   *jsonschema.Compiler
}

// operation is one of the document.
type operation struct {
	method   string
	segments []string // of the path; "{" begins a parameter
	answers  map[string]map[string]string
	codes    map[string][]string // of errors, by status
}

// resource is the document's name for the compiler.
const resource = "http://openapi.invalid/document"

// CheckResponse returns the violations of the document in a response, nil if there are none.
// base is the address of the server with the path that the document's own paths begin after.
// Responses of paths and methods that are not in the document are not checked.
func (c *Document) CheckResponse(base string, res *http.Response, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations == nil {
		if err := c.read(res.Request, base); err != nil {
			return fmt.Errorf("reading the OpenAPI document: %w", err)
		}
	}
	at, err := url.Parse(base)
	if err != nil {
		return err
	}
	path, below := strings.CutPrefix(res.Request.URL.EscapedPath(), at.EscapedPath())
	op := c.find(res.Request.Method, path)
	if !below || op == nil {
		return nil
	}
	if err := c.check(op, res, body); err != nil {
		return fmt.Errorf("%s /%s responded with %d, which its OpenAPI document has otherwise: %w\n%.600s", op.method, strings.Join(op.segments, "/"), res.StatusCode, err, body)
	}
	return nil
}

func (c *Document) check(op *operation, res *http.Response, body []byte) error {
	contents, documented := op.answers[strconv.Itoa(res.StatusCode)]
	if !documented {
		return errors.New("the status is not documented")
	}
	if len(contents) == 0 || len(body) == 0 {
		if len(contents) > 0 || len(body) > 0 {
			return errors.New("with a body on one side only")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("content type %q: %w", res.Header.Get("Content-Type"), err)
	}
	schema, documented := contents[media]
	if !documented {
		return fmt.Errorf("the content type %s is not documented", media)
	}
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil
	}
	if err := op.checkCode(res.StatusCode, media, body); err != nil {
		return err
	}
	rules, err := c.compiler.Compile(resource + schema)
	if err != nil {
		return fmt.Errorf("compiling the schema: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return rules.Validate(value)
}

// checkCode checks that the document lists the code of an error for its status.
func (op *operation) checkCode(status int, media string, body []byte) error {
	var problem struct{ Code string }
	if media != "application/problem+json" {
		return nil
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		return err
	}
	if !slices.Contains(op.codes[strconv.Itoa(status)], problem.Code) {
		return fmt.Errorf("the code %s is not documented: describe it in the docs of the operation", problem.Code)
	}
	return nil
}

// find returns the operation of a request: paths without parameters come first.
func (c *Document) find(method, path string) *operation {
	requestSegments := strings.Split(strings.Trim(path, "/"), "/")
	var found *operation
	fewest := len(requestSegments) + 1
	for i, op := range c.operations {
		if op.method != method || len(op.segments) != len(requestSegments) {
			continue
		}
		parameters := 0
		for j, segment := range op.segments {
			switch {
			case strings.HasPrefix(segment, "{"):
				parameters++
			case segment != requestSegments[j]:
				parameters = fewest
			}
		}
		if parameters < fewest {
			found, fewest = &c.operations[i], parameters
		}
	}
	return found
}

// read fetches the document. Its schemas are given places that are easily named.
func (c *Document) read(asker *http.Request, base string) error {
	req, err := http.NewRequestWithContext(asker.Context(), http.MethodGet, base+"/openapi.json", nil)
	if err != nil {
		return err
	}
	res, err := hubtest.HTTPClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema any `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
			Codes map[string][]string `json:"x-error-codes"`
		} `json:"paths"`
		Components any `json:"components"`
	}
	if err := json.NewDecoder(res.Body).Decode(&document); err != nil {
		return err
	}
	var schemas []any
	for path, methods := range document.Paths {
		for method, described := range methods {
			op := operation{strings.ToUpper(method), strings.Split(strings.TrimPrefix(path, "/"), "/"), make(map[string]map[string]string), described.Codes}
			for status, answer := range described.Responses {
				op.answers[status] = make(map[string]string)
				for media, content := range answer.Content {
					op.answers[status][media] = "#/schemas/" + strconv.Itoa(len(schemas))
					schemas = append(schemas, content.Schema)
				}
			}
			c.operations = append(c.operations, op)
		}
	}
	if len(c.operations) == 0 {
		return errors.New("it has no operations")
	}
	c.compiler = jsonschema.NewCompiler()
	c.compiler.AssertFormat()
	return c.compiler.AddResource(resource, map[string]any{"components": document.Components, "schemas": schemas})
}
