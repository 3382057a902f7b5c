package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// nullProbe is a JSON body with a single null, and whether the document allows it there.
type nullProbe struct {
	location string // as errors name it
	body     any
	allowed  bool
}

// jsonSchema is the part of a schema that says where null is a value.
type jsonSchema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Properties           map[string]*jsonSchema
	Items                *jsonSchema
	AdditionalProperties any
	AnyOf, OneOf, AllOf  []*jsonSchema
	Description          string
}

// schemas are the components of a document.
type schemas map[string]*jsonSchema

func (c schemas) resolve(s *jsonSchema) *jsonSchema {
	for s.Ref != "" {
		s = c[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// allowsNull reports whether null is a value of a schema, as JSON Schema has it.
func (c schemas) allowsNull(s *jsonSchema) bool {
	s = c.resolve(s)
	if alternatives := slices.Concat(s.AnyOf, s.OneOf); len(alternatives) > 0 {
		return slices.ContainsFunc(alternatives, c.allowsNull)
	}
	return s.Type == nil || s.Type == "null" || slices.Contains(listOf(s.Type), "null")
}

// listOf returns the texts of a JSON list.
func listOf(value any) (list []string) {
	items, _ := value.([]any)
	for _, item := range items {
		list = append(list, fmt.Sprint(item))
	}
	return list
}

// probes returns a body with a null for each place of a schema; wrap puts a value of the
// schema where it belongs in the body.
func (c schemas) probes(s *jsonSchema, location string, wrap func(any) any, depth int) []nullProbe {
	list := []nullProbe{{location, wrap(nil), c.allowsNull(s)}}
	s = c.resolve(s)
	for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		if alternative.Type != "null" {
			s = c.resolve(alternative)
			break
		}
	}
	if depth == 6 {
		return list // a schema that refers to itself
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		inside := func(value any) any { return wrap(map[string]any{name: value}) }
		list = append(list, c.probes(s.Properties[name], location+"."+name, inside, depth+1)...)
	}
	if s.Items != nil {
		list = append(list, c.probes(s.Items, location+"[0]", func(value any) any { return wrap([]any{value}) }, depth+1)...)
	}
	if others, ok := s.AdditionalProperties.(map[string]any); ok {
		raw, err := json.Marshal(others)
		var schema jsonSchema
		if err == nil && json.Unmarshal(raw, &schema) == nil {
			list = append(list, c.probes(&schema, location+".key", func(value any) any { return wrap(map[string]any{"key": value}) }, depth+1)...)
		}
	}
	return list
}

// nullOperation is an operation of a document that takes JSON.
type nullOperation struct {
	id, method, path string
	probes           []nullProbe
}

// operationsWithBodies reads the operations of a document that take JSON.
func operationsWithBodies(t *testing.T, document string) (list []nullOperation) {
	t.Helper()
	var read struct {
		Components struct{ Schemas schemas }
		Paths      map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct{ Schema *jsonSchema }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &read))
	for path, methods := range read.Paths {
		for method, operation := range methods {
			content, takesJSON := operation.RequestBody.Content["application/json"]
			if !takesJSON {
				continue
			}
			op := nullOperation{id: operation.OperationID, method: strings.ToUpper(method), path: path}
			op.probes = read.Components.Schemas.probes(content.Schema, "body", func(value any) any { return value }, 0)[1:]
			list = append(list, op)
		}
	}
	return list
}

// "PUT with null for a field that cannot be null is taken in silence: 422, in every
// product, generated from the documents."
func TestNullIsRefusedWhereTheDocumentsHaveNone(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve(also(serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t)), "HUB_PRODUCT_LIMITS", "scheduling.users=0,scheduling.public-writes=0,clinic.users=0,messaging.users=0,messaging.sends=0", "HUB_KEY_RATE", "0"))
	studio, clinic := s.studio(t), s.signUp(t, "/clinic", `{"clinic_name":"Clínica Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	var company struct{ Token string }
	s.callInto(t, &company, http.StatusCreated, http.MethodPost, "/messaging/auth/signup", `{"companyName":"Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	nulls, refused := 0, 0
	for base, token := range map[string]string{"": s.token, "/scheduling": studio.token, "/clinic": clinic.token, "/messaging": company.Token} {
		key := s.keyFor(t, base, token)
		status, document := s.call(t, http.MethodGet, base+"/openapi.json", "")
		require.Equal(t, 200, status)
		operations := operationsWithBodies(t, document)
		require.NotEmpty(t, operations, base)
		for _, op := range operations {
			if op.id == "integrations.webhook" {
				continue // signed: see TestNullInAnEnvelope
			}
			path := base + pathParameter.ReplaceAllString(op.path, "00000000-0000-7000-8000-000000000000")
			if base == "/messaging" && !strings.HasPrefix(op.path, "/api/v1/") {
				path = base + pathParameter.ReplaceAllString(op.path, "1")
			}
			for _, probe := range op.probes {
				body, err := json.Marshal(probe.body)
				require.NoError(t, err)
				status, text := s.call(t, op.method, path, string(body), "Authorization", "Bearer "+token, hub.HeaderKey, key)
				what := fmt.Sprintf("%s %s %s: %d %.400s", op.method, base+op.path, body, status, text)
				require.Less(t, status, 500, what)
				require.NotContains(t, []int{401, 403, 429}, status, what)
				nulls++
				isNamed := strings.Contains(text, `"location":"`+probe.location+`"`)
				if probe.allowed {
					require.NotContains(t, text, "must not be null", what)
					continue
				}
				refused++
				want := http.StatusUnprocessableEntity
				if isPlatform := !strings.HasPrefix(op.path, "/api/v1/integrations") || strings.HasPrefix(op.path, "/api/v1/integrations/action/"); base == "/messaging" && isPlatform {
					want = http.StatusBadRequest
					name := "ERR_VALIDATION"
					if isSend := strings.HasSuffix(op.path, "/send") || strings.HasSuffix(op.path, "/send-message"); isSend && probe.location == "body.number" { // no number at all, as where it is absent
						name = "ERR_INVALID_NUMBER"
					}
					require.Contains(t, text, `"error":"`+name+`"`, what)
				}
				require.Equal(t, want, status, what)
				require.True(t, isNamed, "%s is not named: %s", probe.location, what)
			}
		}
	}
	t.Logf("%d nulls, %d refused", nulls, refused)
	require.Greater(t, refused, 300)
	require.Greater(t, nulls-refused, 50)
}

// keyFor makes a key of the product under a base, or of a tenant of an external product.
func (s *hubProcess) keyFor(t *testing.T, base, token string) string {
	t.Helper()
	var key struct {
		APIKey string `json:"api_key"`
	}
	if base != "" {
		status, text := s.call(t, http.MethodPost, base+"/api/v1/integrations/api-keys", `{}`, "Authorization", "Bearer "+token)
		require.Equal(t, 200, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &key))
		return key.APIKey
	}
	var tenant struct{ ID string }
	s.callInto(t, &struct{}{}, 201, "POST", "/api/v1/products", `{"name":"nulls","prefix":"nulls"}`)
	s.callInto(t, &tenant, 201, "POST", "/api/v1/tenants", `{"product":"nulls","name":"Nulls"}`)
	s.callInto(t, &key, 201, "POST", "/api/v1/keys", `{"tenant_id":"`+tenant.ID+`"}`)
	return key.APIKey
}
