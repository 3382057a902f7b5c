package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/messaging/internal/messagingtest"
)

// moreBodies are valid requests of operations that [validBodies] does not have, and members with
// objects that operations of it take beside the required ones.
func moreBodies(c *filledCompany) map[string]object {
	template := object{"name": "reminder", "language": "pt_BR", "components": []any{object{"type": "body", "parameters": []any{object{"type": "text", "text": "Ana"}}}}}
	hours := []any{object{"weekday": "Monday", "weekdayEn": "monday", "startTime": "08:00", "endTime": "12:00"}}
	return map[string]object{
		"auth.login":       {"email": c.Email, "password": messagingtest.Password},
		"auth.refresh":     {"refreshToken": "x"},
		"auth.signup":      {"name": "Bia", "companyName": "Studio", "email": "required@example.com", "password": messagingtest.Password},
		"campaigns.create": {"template": template, "sendWindow": object{"start": "08:00", "end": "20:00", "days": []any{1}}},
		"contacts.create":  {"extraInfo": []any{object{"name": "Birthday", "value": "2 March"}}},
		"messages.create":  {"template": template},
		"messages.send":    {"template": template},
		"queues.create":    {"name": c.name(), "color": "#0f0", "schedules": hours, "options": []any{object{"id": 1, "title": "Hours", "message": "8 to 18", "option": "1", "parentId": nil}}},
		"schedules.create": {"template": template},
		"tags.create":      {"name": c.name()},
		"webhooks.create":  {"url": "https://example.com/required", "events": []any{"ticket.updated"}},
	}
}

// schemas are those of an OpenAPI document, by their names.
type schemas map[string]any

// loadBodies returns the schemas of a document and, by the operations' ids, those of JSON bodies.
func loadBodies(c *messagingtest.Company) (all schemas, bodies map[string]object) {
	c.T.Helper()
	res, err := hubtest.HTTPClient.Get(c.Hub.Base + "/openapi.json")
	require.NoError(c.T, err)
	defer res.Body.Close()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct{ Schema object }
			} `json:"requestBody"`
		}
		Components struct{ Schemas schemas }
	}
	require.NoError(c.T, json.NewDecoder(res.Body).Decode(&document))
	bodies = make(map[string]object)
	for _, methods := range document.Paths {
		for _, op := range methods {
			bodies[op.OperationID] = op.RequestBody.Content["application/json"].Schema
		}
	}
	return document.Components.Schemas, bodies
}

// resolve follows a reference, also where null may be in place of it.
func (s schemas) resolve(schema object) object {
	for _, member := range []string{"anyOf", "oneOf"} {
		alternatives, _ := schema[member].([]any)
		for _, alternative := range alternatives {
			if alternative.(object)["type"] != "null" {
				return s.resolve(alternative.(object))
			}
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		return s[ref[strings.LastIndex(ref, "/")+1:]].(object)
	}
	return schema
}

// required returns the paths of the required members that a value has, at any depth.
func (s schemas) required(schema object, value any, at []string) (paths [][]string) {
	schema = s.resolve(schema)
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			paths = append(paths, s.required(schema["items"].(object), item, append(slices.Clone(at), strconv.Itoa(i)))...)
		}
	case object:
		names, _ := schema["required"].([]any)
		for _, name := range names {
			paths = append(paths, append(slices.Clone(at), name.(string)))
		}
		properties, _ := schema["properties"].(object)
		for name, member := range value {
			if described, ok := properties[name].(object); ok {
				paths = append(paths, s.required(described, member, append(slices.Clone(at), name))...)
			}
		}
	}
	return paths
}

// without returns a copy of a body without the member at a path.
func without(t *testing.T, body object, path []string) object {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	var copied object
	require.NoError(t, json.Unmarshal(raw, &copied))
	at := any(copied)
	for _, step := range path[:len(path)-1] {
		if list, ok := at.([]any); ok {
			i, err := strconv.Atoi(step)
			require.NoError(t, err)
			at = list[i]
			continue
		}
		at = at.(object)[step]
	}
	delete(at.(object), path[len(path)-1])
	return copied
}

// A request without one of the members that the document requires is refused, for every operation
// that makes something, and stores nothing.
func TestRequiredMembersAreDemanded(t *testing.T) {
	t.Parallel()
	c, _ := fillCompanies(t)
	all, bodies := loadBodies(c.Company)
	more, checked := moreBodies(c), 0
	for _, op := range ownOperations(c.Company) {
		// Networks call these: their bodies have no schema.
		isOfNetwork := strings.HasPrefix(op.ID, "cloud-webhooks.") || strings.HasPrefix(op.ID, "bridge-events.")
		if op.Method != http.MethodPost || !op.TakesJSON() || isOfNetwork {
			continue
		}
		body := object{}
		if valid, ok := validBodies[op.ID]; ok {
			body = valid(c)
		}
		maps.Copy(body, more[op.ID])
		require.NotEmpty(t, body, "the test has no body for %s", op.ID)
		path := op.Path
		if strings.Contains(path, "{") {
			path = c.pathOf(path)
		}
		before := c.tables()
		for _, member := range all.required(bodies[op.ID], body, nil) {
			response := c.call(op, path, without(t, body, member))
			require.Equal(t, 400, response.Status, "%s without %v: %s", op.ID, member, response.Text)
			checked++
		}
		require.Equal(t, before, c.tables(), "%s stores something", op.ID)
	}
	require.Greater(t, checked, 50)
}
