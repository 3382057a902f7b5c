package api_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"
)

var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// documented requires that the OpenAPI document has the status, the media type and every
// field of a response, and that the response is not cached. Every call of the tests is
// checked.
func (b *bundle) documented(method, path string, got answer) {
	b.t.Helper()
	require.Equal(b.t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(b.t, "no-store", got.header.Get("Cache-Control"))
	path, _, _ = strings.Cut(path, "?")
	for _, row := range b.api.Rows() {
		pattern := "^" + parameter.ReplaceAllString(row.Path, "[^/]+") + "$"
		if row.Method != method || row.Action == "events.get" && path == "/api/v1/events/stream" || !regexp.MustCompile(pattern).MatchString(path) {
			continue
		}
		if got.status == 404 && strings.Contains(path, "%2f") {
			return // the router's
		}
		response := b.api.Operation(row).Responses[strconv.Itoa(got.status)]
		require.NotNil(b.t, response, "%s answers %d, which is not documented: %s", row.Action, got.status, got.text)
		if got.status == 204 {
			return
		}
		media := response.Content[got.header.Get("Content-Type")]
		require.NotNil(b.t, media, "%s %d is %s, which is not documented", row.Action, got.status, got.header.Get("Content-Type"))
		if got.body != nil {
			b.fits(media.Schema, got.body, row.Action+" "+strconv.Itoa(got.status))
		}
		return
	}
}

// fits requires that a value keeps the rules of a schema.
func (b *bundle) fits(schema *huma.Schema, value any, what string) {
	b.t.Helper()
	var result huma.ValidateResult
	huma.Validate(b.api.Schemas(), schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, &result)
	require.Empty(b.t, result.Errors, "%s does not fit its schema: %v", what, value)
}

// The parameters of each row, in the document's order; rows without any are left out.
var parameters = map[string]string{
	"operators.list": "limit cursor", "operators.update": "id", "operators.delete": "id", "tokens.list": "limit cursor", "tokens.delete": "id",
	"products.list": "limit cursor", "tenants.list": "limit cursor product external_ref q", "tenants.get": "id", "tenants.update": "id", "tenants.delete": "id", "tenants.suspend": "id", "tenants.resume": "id", "products.delete": "name", "products.update": "name",
	"event-types.list": "limit cursor product example brief", "event-types.openapi": "product", "event-types.get": "id", "event-types.update": "id", "event-types.delete": "id",
	"keys.list": "limit cursor tenant_id product environment", "keys.revoke": "id", "keys.rotate": "id",
	"endpoints.list": "limit cursor tenant_id product environment enabled", "endpoints.get": "id", "endpoints.update": "id",
	"endpoints.delete": "id", "endpoints.rotate-secret": "id", "endpoints.ping": "id", "endpoints.recover": "id", "endpoints.check-signature": "id", "endpoints.match": "id",
	"integrations.list": "limit cursor tenant_id environment product status", "integrations.get": "id", "integrations.update": "id", "integrations.revoke": "id",
	"integrations.test": "id", "integrations.rotate-secret": "id", "integrations.enable": "id", "integrations.disable": "id",
	"alerts.list": "limit cursor", "alerts.get": "id", "alerts.update": "id", "alerts.delete": "id", "alerts.test": "id", "alerts.rotate-secret": "id",
	"events.publish": "Idempotency-Key", "events.list": "limit cursor tenant_id environment since until", "events.get": "id",
	"events.publish-batch": "Idempotency-Key",
	"events.stream":        deliveryParameters + " Last-Event-ID",
	"deliveries.list":      "limit cursor " + deliveryParameters, "deliveries.get": "id", "deliveries.retry": "id", "deliveries.discard": "id",
	"replays.list": "limit cursor tenant_id environment", "replays.get": "id", "replays.cancel": "id",
	"stats.get":    "from to bucket product tenant_id endpoint_id integration_id",
	"lookup.phone": "phone email cpf",
	"audit.list":   "limit cursor actor_id action resource resource_id routine tenant_id subject_id since until",
	"dev.mail":     "limit cursor to",
}

const deliveryParameters = "direction product tenant_id environment integration_id endpoint_id event_type status status_code correlation_id event_id q since until"

func TestDocumentedParametersAndExamples(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, row := range b.api.Rows() {
		var names []string
		op := b.api.Operation(row)
		for _, p := range op.Parameters {
			names = append(names, p.Name)
			require.NotEmpty(t, p.Description, "%s: %s", row.Action, p.Name)
			if p.Example != nil {
				b.fits(p.Schema, p.Example, row.Action+" "+p.Name)
			}
		}
		require.Equal(t, parameters[row.Action], strings.Join(names, " "), row.Action)
		require.Equal(t, bodies[row.Action] != "", op.RequestBody != nil, row.Action)
		if op.RequestBody != nil {
			require.True(t, row.Action == "auth.logout" || optional[row.Action] || op.RequestBody.Required, row.Action)
		}
	}
	examples := 0
	for name, schema := range b.api.Schemas().Map() {
		examples += b.examples(name, schema)
	}
	require.Greater(t, examples, 30)
}

// examples requires that every example in a schema fits it, and counts them.
func (b *bundle) examples(where string, schema *huma.Schema) int {
	count := len(schema.Examples)
	for _, example := range schema.Examples {
		b.fits(schema, example, where)
	}
	if schema.Default != nil {
		b.fits(schema, schema.Default, where)
	}
	for name, property := range schema.Properties {
		count += b.examples(where+"."+name, property)
	}
	if schema.Items != nil {
		count += b.examples(where+"[]", schema.Items)
	}
	return count
}

// The documented bodies are the ones the tests send.
func TestBodiesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	for _, row := range b.api.Rows() {
		body := bodyFor(t, row, b.tenant[0])
		if body == "" {
			continue
		}
		content := b.api.Operation(row).RequestBody.Content
		require.Equal(t, []string{"application/json"}, slices.Collect(maps.Keys(content)), row.Action)
		var result huma.ValidateResult
		huma.Validate(b.api.Schemas(), content["application/json"].Schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, decode(t, body), &result)
		require.Empty(t, result.Errors, row.Action)
	}
}

func decode(t *testing.T, body string) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(body), &value))
	return value
}
