package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/event-types.md does what it says.
func TestEventTypeExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	printed := c.runExample("docs/event-types.md")
	require.Contains(t, printed, "body.data.customer.age")
	require.Equal(t, 1, strings.Count(printed, "\nrefused\n"), printed)
	document, err := os.ReadFile(filepath.Join(c.dir, "crm.webhooks.json"))
	require.NoError(t, err)
	var webhooks struct{ Webhooks map[string]any }
	require.NoError(t, json.Unmarshal(document, &webhooks))
	require.Contains(t, webhooks.Webhooks, "order.created")
	deliveries := c.run("deliveries", "list")
	require.Equal(t, 2, strings.Count(deliveries.stdout, "order.created "), "%s%s", deliveries.stdout, deliveries.stderr)
	require.Equal(t, 1, strings.Count(deliveries.stdout, "order.paid "))
	// The ping looks like an event to its receiver; the log has it as the hub's.
	pings := c.run("deliveries", "list", "--product", "hub", "--json")
	require.Contains(t, pings.stdout, `"event_type": "order.created"`)
}

// Types are named by id or by name; what is not given stays.
func TestEventTypeCommands(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	c.ok("products", "create", "crm", "--prefix", "crm", "--validation", "warn")
	require.Regexp(t, `(?m)^crm +crm +crm +no +warn `, c.ok("products", "list"))
	require.Regexp(t, `title +Our CRM`, c.ok("products", "update", "crm", "--title", "Our CRM"))
	require.Regexp(t, `(?s)title +Our CRM.*validation +off`, c.ok("products", "update", "crm", "--validation", "off"))
	c.writeFile("schema.json", `{"type": "object", "required": ["n"]}`)
	c.writeFile("example.json", `{"n": 1}`)
	id := strings.TrimSpace(c.ok("event-types", "create", "a.made", "--product", "crm", "--description", "Made", "--schema", "schema.json", "--example", "example.json", "-q"))
	require.Regexp(t, `(?m)^crm +a.made +yes +yes +no +Made`, c.ok("event-types", "list", "--product", "crm"))
	for _, name := range []string{id, "a.made"} {
		shown := c.ok("event-types", "show", name, "--product", "crm")
		require.Contains(t, shown, `{"type":"object","required":["n"]}`)
		require.Contains(t, shown, `{"n":1}`)
	}
	require.Regexp(t, `(?s)deprecated +yes.*"required"`, c.ok("event-types", "update", "a.made", "--product", "crm", "--deprecated"))
	require.NotContains(t, c.ok("event-types", "update", id, "--schema", ""), `"required"`)
	require.Contains(t, c.ok("event-types", "list", "--product", "scheduling"), "appointment.created")
	require.Contains(t, c.ok("event-types", "openapi", "scheduling"), "appointment.created")
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "a.b"}, "--product is needed"},
		{[]string{"create", "a.b", "--product", "crm", "--schema", "-", "--example", "-"}, "cannot both be the standard input"},
		{[]string{"create", "a.b", "--product", "crm", "--schema", "nothing.json"}, "nothing.json"},
		{[]string{"create", "a.b", "--product", "scheduling"}, "read_only"},
		{[]string{"update", "a.made", "--product", "crm"}, "nothing to change"},
		{[]string{"show", "a.made"}, "--product is needed"},
		{[]string{"show", "a.lost", "--product", "crm"}, "has no event type"},
		{[]string{"delete", "patient.created", "--product", "clinic"}, "read_only"},
	} {
		got := c.run(append([]string{"event-types"}, wrong.args...)...)
		require.NotZero(t, got.code, wrong.args)
		require.Contains(t, got.stderr, wrong.says)
	}
	c.ok("event-types", "delete", "a.made", "--product", "crm")
	require.NotContains(t, c.ok("event-types", "list", "--product", "crm"), "a.made")
	got := c.run("products", "update", "crm")
	require.Contains(t, got.stderr, "nothing to change")
}
