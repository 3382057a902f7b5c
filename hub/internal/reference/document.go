package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module/rest"
)

// object is a JSON object.
type object = map[string]any

// schemaPrefix is the path of the schemas in a document.
const schemaPrefix = "#/components/schemas/"

// Write returns a document as it is published, as JSON. It adds what huma does not write:
// who may call an operation and which error codes it answers, the empty security of public
// operations, and the license. It removes what OpenAPI does not know, and schemas that nothing
// refers to.
func Write(document *huma.OpenAPI) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	var published object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&published); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	published["info"].(object)["license"] = object{"name": "Apache License 2.0", "identifier": "Apache-2.0"} //nolint:forcetypeassert // huma wrote it
	for op := range operations(document) {
		path, _ := published["paths"].(object)[op.Path].(object)
		if written, ok := path[strings.ToLower(op.Method)].(object); ok {
			completeOperation(op, written)
		}
	}
	removeUnknownMembers(published)
	removeUnusedSchemas(published)
	published["tags"] = usedTags(published)
	text, err = json.MarshalIndent(published, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return text, nil
}

// operations yields every operation of a document.
func operations(document *huma.OpenAPI) func(yield func(*huma.Operation) bool) {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range document.Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}

// completeOperation documents callers and errors of an operation, as written.
func completeOperation(op *huma.Operation, written object) {
	accepted := rest.Access(op.Security).Credentials()
	if written["security"] == nil {
		written["security"] = []any{}
	}
	codes := errorCodes(op, accepted)
	boundCursor(written)
	responses, _ := written["responses"].(object)
	var errors []string
	for _, status := range sortedKeys(responses) {
		response, _ := responses[status].(object)
		number, err := strconv.Atoi(status)
		if err != nil {
			continue
		}
		if response["description"] == nil || response["description"] == "" {
			response["description"] = http.StatusText(number)
		}
		if number < http.StatusBadRequest {
			continue
		}
		line := "- " + status + ": " + meanings[number]
		if list := codes[status]; isProblem(response) && len(list) > 0 {
			response["description"] = meanings[number] + ": " + quote(list)
			line += ": " + quote(list)
		} else {
			delete(codes, status)
		}
		errors = append(errors, line)
	}
	for status := range codes {
		if responses[status] == nil {
			delete(codes, status)
		}
	}
	written[rest.ErrorCodesExtension] = codes
	paragraphs := []string{op.Description, "Callers: " + callers(accepted) + "."}
	if len(errors) > 0 {
		paragraphs = append(paragraphs, "Errors:\n\n"+strings.Join(errors, "\n"))
	}
	written["description"] = strings.TrimSpace(strings.Join(paragraphs, "\n\n"))
}

// boundCursor documents the length of a cursor. Its own error says that it is not ours, so that
// huma must not check it.
func boundCursor(written object) {
	parameters, _ := written["parameters"].([]any)
	for _, parameter := range parameters {
		described, _ := parameter.(object)
		if schema, ok := described["schema"].(object); ok && described["name"] == cursorParameter {
			schema["maxLength"] = httpx.CursorMax
		}
	}
}

// callers says who may call an operation.
func callers(accepted rest.Credentials) string {
	var list []string
	switch {
	case accepted.Admin:
		list = append(list, "administrators, with their access token")
	case accepted.Bearer:
		list = append(list, "users, with their access token")
	}
	switch {
	case accepted.Key && len(accepted.Scopes) > 0:
		list = append(list, "API keys with the scope "+quote(accepted.Scopes))
	case accepted.Key:
		list = append(list, "API keys")
	}
	if accepted.None {
		if len(list) == 0 {
			return "anyone, without credentials of an account"
		}
		list = append(list, "other credentials, as described above")
	}
	return strings.Join(list, "; ")
}

// quote lists codes or scopes as Markdown code.
func quote(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

// isProblem reports whether a response is the hub's own form of errors, which has a code.
func isProblem(response object) bool {
	content, _ := response["content"].(object)
	return content["application/problem+json"] != nil
}

// removeUnknownMembers removes members of schemas that huma writes and OpenAPI does not
// know. Such a name in properties is a property's, and stays.
func removeUnknownMembers(value any) {
	switch value := value.(type) {
	case object:
		if _, isProperty := value["patternDescription"].(object); !isProperty {
			delete(value, "patternDescription")
		}
		for _, member := range value {
			removeUnknownMembers(member)
		}
	case []any:
		for _, item := range value {
			removeUnknownMembers(item)
		}
	}
}

// removeUnusedSchemas removes the schemas that no operation leads to.
func removeUnusedSchemas(published object) {
	components, _ := published["components"].(object)
	schemas, _ := components["schemas"].(object)
	used := make(map[string]bool, len(schemas))
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case object:
			if ref, ok := value["$ref"].(string); ok {
				if name := strings.TrimPrefix(ref, schemaPrefix); !used[name] {
					used[name] = true
					visit(schemas[name])
				}
			}
			for _, member := range value {
				visit(member)
			}
		case []any:
			for _, item := range value {
				visit(item)
			}
		}
	}
	visit(published["paths"])
	for name := range schemas {
		if !used[name] {
			delete(schemas, name)
		}
	}
}

// usedTags returns the tags of a document that have operations, and after them those that
// operations name and nothing describes.
func usedTags(published object) []any {
	var named []string
	paths, _ := published["paths"].(object)
	for _, path := range sortedKeys(paths) {
		methods, _ := paths[path].(object)
		for _, method := range sortedKeys(methods) {
			op, _ := methods[method].(object)
			tags, _ := op["tags"].([]any)
			for _, tag := range tags {
				if name, ok := tag.(string); ok && !slices.Contains(named, name) {
					named = append(named, name)
				}
			}
		}
	}
	var used []any
	listed, _ := published["tags"].([]any)
	for _, tag := range listed {
		described, _ := tag.(object)
		name, _ := described["name"].(string)
		if i := slices.Index(named, name); i >= 0 {
			used, named = append(used, tag), slices.Delete(named, i, i+1)
		}
	}
	for _, name := range named {
		used = append(used, object{"name": name})
	}
	return used
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
