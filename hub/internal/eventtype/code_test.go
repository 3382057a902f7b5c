package eventtype_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/eventtype"
)

func catalog(t *testing.T) *eventtype.Catalog {
	t.Helper()
	c, err := eventtype.NewCatalog([]eventtype.Sender{
		{Product: "scheduling", Sends: events.FromScheduling()}, {Product: "clinic", Sends: events.FromClinic()}, {Product: "messaging", Sends: append(events.FromMessaging(), "note.created")},
	})
	require.NoError(t, err)
	return c
}

// Each event of the contract has a schema made of its struct, and an example that agrees with
// it.
func TestTypesFromCode(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	types := c.All("", "", "")
	require.Len(t, types, 15+2+len(events.FromHub()))
	for i, found := range types {
		require.True(t, found.ReadOnly)
		if i > 0 {
			require.Negative(t, eventtype.Compare(types[i-1], found))
		}
		same, ok := c.ByID(found.ID)
		require.True(t, ok)
		require.Equal(t, found, same)
		if found.Name == "note.created" {
			require.Nil(t, found.Schema)
			continue
		}
		require.NotEmpty(t, found.Description, found.Name)
		require.Empty(t, c.Check(found.Product, found.Name, found.Example), found.Name)
		require.Empty(t, compile(t, string(found.Schema)).Check(found.Example))
	}
	require.Equal(t, catalog(t).All("", "", ""), types, "ids stay")
	require.Equal(t, types[len(types)-1:], c.All("", types[len(types)-2].Product, types[len(types)-2].Name))
	require.Len(t, c.All("clinic", "", ""), 6)
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	first := c.All("", "", "")[0]
	found, ok := c.ByName(first.Product, first.Name)
	require.True(t, ok)
	require.Equal(t, first, found)
	for _, other := range [][2]string{{"scheduling", first.Name}, {first.Product, "nothing"}} {
		_, ok = c.ByName(other[0], other[1])
		require.False(t, ok, other)
	}
	_, ok = c.ByID(uuid.Nil)
	require.False(t, ok)
	require.True(t, c.Owns("clinic"))
	require.True(t, c.Owns(hub.ProductHub))
	require.False(t, c.Owns("shop"))
	clinic := c.All("clinic", "", "")
	require.Equal(t, clinic[1:], c.All("clinic", "clinic", clinic[0].Name))
	require.Empty(t, c.All("clinic", "scheduling", ""))
}

// References are moved where a schema stands, and not within values.
func TestReferencesOfDocument(t *testing.T) {
	t.Parallel()
	document, err := eventtype.WebhooksDocument(eventtype.Product{Name: "shop", Title: "Web shop"}, []eventtype.Type{
		{Product: "shop", Name: "a", Schema: []byte(`{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#anchor"},{"$ref":"#"}],"enum":[{"$ref":"#/x"}],"examples":[{"$ref":"#/x"}],
			"dependentSchemas":{"const":{"$ref":"#/$defs/b"}},"properties":{"n":{"multipleOf":0.10}}}`)},
		{Product: "shop", Name: "plain"},
	})
	require.NoError(t, err)
	var parsed struct {
		Webhooks   map[string]map[string]map[string]any
		Components struct {
			Schemas    map[string]json.RawMessage
			Parameters map[string]struct{ Required bool }
		}
	}
	require.NoError(t, json.Unmarshal(document, &parsed))
	require.JSONEq(t, `{"allOf":[{"$ref":"#/components/schemas/data.a/$defs/b"},{"$ref":"#anchor"},{"$ref":"#/components/schemas/data.a"}],"enum":[{"$ref":"#/x"}],"examples":[{"$ref":"#/x"}],
		"dependentSchemas":{"const":{"$ref":"#/components/schemas/data.a/$defs/b"}},"properties":{"n":{"multipleOf":0.10}}}`, string(parsed.Components.Schemas["data.a"]))
	require.Contains(t, string(parsed.Components.Schemas["data.a"]), "0.10", "numbers stay as they are written")
	plain := parsed.Webhooks["plain"]["post"]
	require.Equal(t, "An event of the type plain.", plain["description"])
	require.NotContains(t, plain, "deprecated")
	require.NotContains(t, marshal(t, plain["requestBody"]), "example")
	for name, parameter := range parsed.Components.Parameters {
		require.Equal(t, name == hub.HeaderSignature, parameter.Required, name)
	}
	_, err = eventtype.WebhooksDocument(eventtype.Product{Name: "shop"}, nil)
	require.NoError(t, err)
	_, err = eventtype.WebhooksDocument(eventtype.Product{}, []eventtype.Type{{Name: "bad", Schema: []byte(`[]`)}})
	require.ErrorContains(t, err, "reading the schema of bad")
}

func TestSchemasFromCodeSayWhatStructsSay(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	require.Equal(t, ".patient_id is required", text(c.Check("clinic", "payment.received", []byte(`{"amount":1.5,"description":"x","new":1}`))), "more members are allowed, optional ones may be absent")
	require.Equal(t, ".amount must be a number", text(c.Check("clinic", "payment.received", []byte(`{"patient_id":"a","amount":"1.50","description":"x"}`))))
	require.Equal(t, ".method must be a string", text(c.Check("clinic", "payment.received", []byte(`{"patient_id":"a","amount":1,"description":"x","method":null}`))), "absent, not null")
	require.Empty(t, c.Check("clinic", "patient.created", []byte(`{"patient_id":"a","phone":null,"name":"x","email":null,"cpf":null}`)))
	require.Equal(t, ".phone is required", text(c.Check("clinic", "patient.created", []byte(`{"patient_id":"a","name":"x","email":null,"cpf":null}`))))
	require.Equal(t, ".changed_fields must be an array", text(c.Check("clinic", "patient.updated", []byte(`{"patient_id":"a","phone":null,"changed_fields":null}`))))
	require.Empty(t, c.Check("clinic", "note.created", []byte(`{}`)))
	require.Empty(t, c.Check("nothing", "patient.created", []byte(`{}`)))
}

func TestWebhooksDocument(t *testing.T) {
	t.Parallel()
	document, err := eventtype.WebhooksDocument(eventtype.Product{Name: "shop", Title: "Web shop"}, []eventtype.Type{
		{Product: "shop", Name: "order.created", Deprecated: true, Description: "An order.", Example: []byte(`{"id":"1"}`), Schema: []byte(`{
			"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/order",
			"properties":{"item":{"$ref":"#/$defs/item"},"self":{"$ref":"#"},"properties":{"const":{"$ref":"#/x"}},"default":{"$ref":"#/$defs/item"}},"$defs":{"item":{"type":"string"}}}`)},
		{Product: "shop", Name: "order.paid"},
	})
	require.NoError(t, err)
	var parsed struct {
		OpenAPI    string
		Webhooks   map[string]map[string]map[string]any
		Components struct{ Schemas, Parameters map[string]any }
	}
	require.NoError(t, json.Unmarshal(document, &parsed))
	require.Equal(t, "3.1.0", parsed.OpenAPI)
	require.Len(t, parsed.Webhooks, 2)
	created := parsed.Webhooks["order.created"]["post"]
	require.Equal(t, true, created["deprecated"])
	require.Len(t, created["parameters"], 4)
	require.JSONEq(t, `{"application/json":{"schema":{"$ref":"#/components/schemas/event.order.created"},
		"example":{"id":"evt_0123456789abcdef","product":"shop","event_type":"order.created","timestamp":"2026-03-02T12:00:00Z","data":{"id":"1"}}}}`,
		marshal(t, created["requestBody"].(map[string]any)["content"]))
	require.JSONEq(t, `{"properties":{"item":{"$ref":"#/components/schemas/data.order.created/$defs/item"},"self":{"$ref":"#/components/schemas/data.order.created"},
		"properties":{"const":{"$ref":"#/x"}},"default":{"$ref":"#/components/schemas/data.order.created/$defs/item"}},"$defs":{"item":{"type":"string"}}}`,
		marshal(t, parsed.Components.Schemas["data.order.created"]))
	require.Contains(t, parsed.Components.Schemas, "data.order.paid")
	require.Contains(t, parsed.Components.Parameters, "webhook-signature")
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
