package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/events"
	"integrationhub/hub/internal/registry"
)

const orderSchema = `{"type":"object","required":["customer"],"properties":{"customer":{"type":"object","properties":{"age":{"type":"integer"}}}}}`

func (b *bundle) eventType(fields string) map[string]any {
	b.t.Helper()
	return b.ok(201, "POST", "/event-types", b.admin, `{"product":"shop",`+fields+`}`)
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	made := b.eventType(`"name":"order.created","description":"An order.","schema":` + orderSchema + `,"example":{"customer":{"age":1}},"deprecated":true`)
	path := "/event-types/" + made["id"].(string)
	require.Equal(t, []any{"shop", "order.created", "An order.", true, false}, []any{made["product"], made["name"], made["description"], made["deprecated"], made["read_only"]})
	require.JSONEq(t, orderSchema, marshalled(t, made["schema"]))
	require.JSONEq(t, `{"customer":{"age":1}}`, marshalled(t, made["example"]))
	require.Equal(t, made, b.ok(200, "GET", path, b.support, ""))

	changed := b.ok(200, "PUT", path, b.admin, `{"description":"Other"}`)
	require.Equal(t, []any{"order.created", "Other", nil, nil, false}, []any{changed["name"], changed["description"], changed["schema"], changed["example"], changed["deprecated"]})
	require.Equal(t, "event-types.update", b.lastAction())
	entries := len(items(b.ok(200, "GET", "/audit", b.admin, "")))
	require.Equal(t, changed, b.ok(200, "PUT", path, b.admin, `{"description":"Other","schema":null,"example":null}`))
	require.Len(t, items(b.ok(200, "GET", "/audit", b.admin, "")), entries, "nothing changed, nothing is recorded")

	b.refused(409, "name_taken", "POST", "/event-types", b.admin, `{"product":"shop","name":"order.created"}`)
	b.refused(403, "admin_only", "POST", "/event-types", b.support, `{"product":"shop","name":"x"}`)
	b.refused(403, "admin_only", "PUT", path, b.support, `{}`)
	b.refused(403, "admin_only", "DELETE", path, b.support, "")
	b.ok(204, "DELETE", path, b.admin, "")
	require.Equal(t, "event-types.delete", b.lastAction())
	entry := items(b.ok(200, "GET", "/audit?action=event-types.delete", b.admin, ""))[0]
	require.Equal(t, []any{"event-types", made["id"]}, []any{entry["resource"], entry["resource_id"]})
	b.refused(404, "not_found", "GET", path, b.admin, "")
	b.refused(404, "not_found", "PUT", path, b.admin, `{}`)
	b.refused(404, "not_found", "DELETE", path, b.admin, "")
}

// A brief list leaves out what is long and says that it is there; types without an example take no
// place of those that have one, also among the types that come from code.
func TestEventTypesAreListedBriefly(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.eventType(`"name":"order.created","schema":` + orderSchema + `,"example":{"customer":{"age":1}}`)
	b.eventType(`"name":"order.kept"`)
	b.eventType(`"name":"order.paid","schema":` + orderSchema)
	list := func(query string) (found []string) {
		for _, item := range items(b.ok(200, "GET", "/event-types?"+query, b.support, "")) {
			found = append(found, fmt.Sprintf("%v %v %v %v %v", item["name"], item["has_schema"], item["has_example"], item["schema"] == nil, item["example"] == nil))
		}
		return found
	}
	require.Equal(t, []string{"order.created true true false false", "order.kept false false true true", "order.paid true false false true"}, list("product=shop"))
	require.Equal(t, []string{"order.created true true true true", "order.kept false false true true", "order.paid true false true true"}, list("product=shop&brief=true"))
	require.Equal(t, []string{"order.created true true true true"}, list("product=shop&brief=true&example=true&limit=1"))

	all := items(b.ok(200, "GET", "/event-types?product=hub&limit=200", b.support, ""))
	require.NotEmpty(t, all)
	var with []string
	for _, item := range all {
		require.Equal(t, []any{item["schema"] != nil, item["example"] != nil}, []any{item["has_schema"], item["has_example"]})
		if item["example"] != nil {
			with = append(with, fmt.Sprintf("%v true true true true", item["name"]))
		}
	}
	require.Equal(t, with, list("product=hub&brief=true&example=true&limit=200"))
}

func marshalled(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func TestBadEventTypesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	deep := strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100)
	for body, want := range map[string]string{
		`{"product":"nothing","name":"a.b"}`:                                                                   "body.product",
		`{"product":"shop","name":"a..b"}`:                                                                     "body.name",
		`{"product":"shop","name":"hub.mine"}`:                                                                 "body.name",
		`{"product":"shop","name":"` + strings.Repeat("a", 129) + `"}`:                                         "body.name",
		`{"product":"shop","name":"a.b","description":"` + strings.Repeat("a", 1001) + `"}`:                    "body.description",
		`{"product":"shop","name":"a.b","schema":[]}`:                                                          "body.schema",
		`{"product":"shop","name":"a.b","schema":{"properties":{"x":{"type":"nothing"}}}}`:                     "body.schema.properties.x.type",
		`{"product":"shop","name":"a.b","schema":{"properties":{"x":{"$ref":"https://example.com/x"}}}}`:       "body.schema.properties.x.$ref",
		`{"product":"shop","name":"a.b","schema":{"title":"` + strings.Repeat("a", 64<<10) + `"}}`:             "body.schema",
		`{"product":"shop","name":"a.b","example":[1]}`:                                                        "body.example",
		`{"product":"shop","name":"a.b","example":{"x":"` + strings.Repeat("a", 64<<10) + `"}}`:                "body.example",
		`{"product":"shop","name":"a.b","schema":` + orderSchema + `,"example":{"customer":{"age":"secret"}}}`: "body.example.customer.age",
	} {
		got := b.refused(422, "validation_failed", "POST", "/event-types", b.admin, body)
		require.Equal(t, want, got.body["errors"].([]any)[0].(map[string]any)["location"], body[:min(len(body), 100)])
		require.NotContains(t, got.text, "secret")
	}
	b.refused(400, "json_too_deep", "POST", "/event-types", b.admin, `{"product":"shop","name":"a.b","schema":`+deep+`}`)
	b.refused(400, "json_duplicate_key", "POST", "/event-types", b.admin, `{"product":"shop","name":"a.b","schema":{"type":"object","type":"string"}}`)
	require.Empty(t, items(b.ok(200, "GET", "/event-types?product=shop", b.admin, "")), "nothing was stored")
}

func TestSchemasAreNeverFetched(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	for _, member := range []string{`"$ref":"%s"`, `"$id":"%s","$ref":"a.json"`, `"$schema":"%s"`, `"allOf":[{"$ref":"%s#/x"}]`} {
		b.refused(422, "validation_failed", "POST", "/event-types", b.admin, `{"product":"shop","name":"a.b","schema":{`+fmt.Sprintf(member, server.URL)+`}}`)
	}
	require.Zero(t, requests.Load())
}

func TestTypesFromCodeAreReadOnly(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	_, err := registry.New(b.db).CreateProduct(context.Background(), registry.Product{Name: "clinic", Prefix: "cli", Title: "Clinic", Hosted: true})
	require.NoError(t, err)
	b.eventType(`"name":"order.created"`)
	var names []string
	for cursor := ""; ; {
		page := b.ok(200, "GET", "/event-types?limit=3&cursor="+cursor, b.support, "")
		for _, item := range items(page) {
			names = append(names, item["product"].(string)+" "+item["name"].(string))
		}
		if page["next_cursor"] == nil {
			break
		}
		cursor = page["next_cursor"].(string)
	}
	wanted := []string{
		"clinic note.created", "clinic patient.created", "clinic patient.deleted", "clinic patient.updated", "clinic payment.overdue", "clinic payment.received",
		"clinic record.created", "hub hub.ping", "shop order.created",
	}
	for _, name := range events.FromHub() {
		wanted = append(wanted, "hub "+name)
	}
	slices.Sort(wanted)
	require.Equal(t, wanted, names)
	b.refused(422, "invalid_cursor", "GET", "/event-types?cursor=AAAA", b.admin, "")
	for _, product := range []string{"clinic", "hub"} {
		listed := items(b.ok(200, "GET", "/event-types?product="+product, b.admin, ""))
		path := "/event-types/" + listed[len(listed)-1]["id"].(string)
		shown := b.ok(200, "GET", path, b.support, "")
		require.Equal(t, []any{true, nil}, []any{shown["read_only"], shown["created_at"]})
		require.NotNil(t, shown["schema"])
		b.refused(409, "read_only", "PUT", path, b.admin, `{"description":"Mine"}`)
		b.refused(409, "read_only", "DELETE", path, b.admin, "")
		b.refused(409, "read_only", "POST", "/event-types", b.admin, `{"product":"`+product+`","name":"mine"}`)
		require.Equal(t, shown, b.ok(200, "GET", path, b.support, ""))
	}
}

func TestProductsHaveAValidation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, "off", b.ok(201, "POST", "/products", b.admin, `{"name":"shop","prefix":"shop"}`)["validation"])
	require.Equal(t, "warn", b.ok(201, "POST", "/products", b.admin, `{"name":"crm","prefix":"crm","validation":"warn"}`)["validation"])
	b.refused(422, "validation_failed", "POST", "/products", b.admin, `{"name":"other","prefix":"oth","validation":"maybe"}`)
	changed := b.ok(200, "PUT", "/products/shop", b.admin, `{"title":"Web shop","validation":"reject"}`)
	require.Equal(t, []any{"Web shop", "reject", "shop"}, []any{changed["title"], changed["validation"], changed["prefix"]})
	require.Equal(t, "products.update", b.lastAction())
	require.Equal(t, []any{"shop", "reject"}, func() []any {
		kept := b.ok(200, "PUT", "/products/shop", b.admin, `{}`)
		return []any{kept["title"], kept["validation"]}
	}(), "absent: the title is the name, the validation stays")
	entries := len(items(b.ok(200, "GET", "/audit", b.admin, "")))
	b.ok(200, "PUT", "/products/shop", b.admin, `{}`)
	require.Len(t, items(b.ok(200, "GET", "/audit", b.admin, "")), entries)
	require.Equal(t, "reject", items(b.ok(200, "GET", "/products", b.support, ""))[1]["validation"])
	// What it was made with can be sent again; what stays must be the same.
	b.ok(200, "PUT", "/products/shop", b.admin, `{"name":"shop","prefix":"shop"}`)
	require.Contains(t, b.refused(422, "validation_failed", "PUT", "/products/shop", b.admin, `{"name":"other"}`).text, "cannot be changed: send shop")
	require.Contains(t, b.refused(422, "validation_failed", "PUT", "/products/shop", b.admin, `{"prefix":"oth"}`).text, "cannot be changed: send shop")
	made := b.ok(201, "POST", "/event-types", b.admin, `{"product":"shop","name":"visit.booked","description":"Booked"}`)
	visit := "/event-types/" + made["id"].(string)
	require.Equal(t, made, b.ok(200, "PUT", visit, b.admin, `{"product":"shop","name":"visit.booked","description":"Booked"}`))
	require.Contains(t, b.refused(422, "validation_failed", "PUT", visit, b.admin, `{"product":"other"}`).text, "cannot be changed: send shop")
	require.Contains(t, b.refused(422, "validation_failed", "PUT", visit, b.admin, `{"name":"visit.moved"}`).text, "cannot be changed: send visit.booked")
	b.ok(204, "DELETE", visit, b.admin, "")
	b.refused(422, "validation_failed", "PUT", "/products/shop", b.admin, `{"validation":""}`)
	b.refused(403, "admin_only", "PUT", "/products/shop", b.support, `{}`)
	b.refused(404, "not_found", "PUT", "/products/nothing", b.admin, `{}`)
	_, err := registry.New(b.db).CreateProduct(context.Background(), registry.Product{Name: "clinic", Prefix: "cli", Title: "Clinic", Hosted: true})
	require.NoError(t, err)
	b.refused(422, "product_hosted", "PUT", "/products/clinic", b.admin, `{"validation":"reject"}`)
	require.Equal(t, "warn", items(b.ok(200, "GET", "/products", b.support, ""))[0]["validation"])
}

func (b *bundle) countEvents() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRow(b.t.Context(), `select count(*) from hub.events`).Scan(&n))
	return n
}

const headerWarning = "X-Validation-Warning"

func location(got answer) any { return got.body["errors"].([]any)[0].(map[string]any)["location"] }

func TestPublishingIsValidated(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	path := "/event-types/" + b.eventType(`"name":"order.created","schema":` + orderSchema)["id"].(string)
	b.eventType(`"name":"free.form"`)
	good, bad := `{"event_type":"order.created","data":{"customer":{"age":1}}}`, `{"event_type":"order.created","data":{"customer":{"age":"secret"}}}`
	b.ok(202, "POST", "/events", b.live[0], bad) // off

	// A change acts on the next event, in every environment, and on other tenants too.
	for range 3 {
		b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
		before := b.countEvents()
		for _, key := range []string{b.live[0], b.test[0], b.live[1]} {
			got := b.refused(422, "validation_failed", "POST", "/events", key, bad)
			require.Equal(t, "body.data.customer.age", location(got))
			require.NotContains(t, got.text, "secret")
		}
		batch := b.refused(422, "validation_failed", "POST", "/events/batch", b.live[0], `{"events":[`+good+`,`+bad+`]}`)
		require.Equal(t, "body.events[1].data.customer.age", location(batch))
		require.Equal(t, "body.data.customer", location(b.refused(422, "validation_failed", "POST", "/events", b.live[0], `{"event_type":"order.created","data":{}}`)))
		require.Equal(t, before, b.countEvents(), "nothing was stored")
		b.ok(202, "POST", "/events", b.live[0], good)
		b.ok(202, "POST", "/events", b.live[0], `{"event_type":"free.form","data":{"customer":1}}`)
		b.ok(202, "POST", "/events", b.live[0], `{"event_type":"unknown.type","data":{"customer":1}}`)

		b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"warn"}`)
		warned := b.call("POST", "/events", b.live[0], bad)
		require.Equal(t, 202, warned.status)
		require.Equal(t, "body.data.customer.age must be an integer", warned.header.Get(headerWarning))
		warned = b.call("POST", "/events/batch", b.live[0], `{"events":[`+good+`,`+bad+`]}`)
		require.Equal(t, 202, warned.status)
		require.Equal(t, "body.events[1].data.customer.age must be an integer", warned.header.Get(headerWarning))
		require.Empty(t, b.call("POST", "/events", b.live[0], good).header.Get(headerWarning))

		b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"off"}`)
		off := b.call("POST", "/events", b.live[0], bad)
		require.Equal(t, 202, off.status)
		require.Empty(t, off.header.Get(headerWarning))
	}
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
	for range 3 {
		b.refused(422, "validation_failed", "POST", "/events", b.live[0], bad)
		b.ok(200, "PUT", path, b.admin, `{"schema":{"type":"object"}}`)
		b.ok(202, "POST", "/events", b.live[0], bad)
		b.ok(200, "PUT", path, b.admin, `{"schema":`+orderSchema+`}`)
	}
	b.ok(204, "DELETE", path, b.admin, "")
	b.ok(202, "POST", "/events", b.live[0], bad)
	b.eventType(`"name":"order.created","schema":` + orderSchema)
	b.refused(422, "validation_failed", "POST", "/events", b.live[0], bad)
	b.ok(201, "POST", "/products", b.admin, `{"name":"other","prefix":"oth","validation":"reject"}`)
	other := b.ok(201, "POST", "/tenants", b.admin, `{"product":"other","name":"Other"}`)["id"].(string)
	b.ok(202, "POST", "/events", b.key(uuid.MustParse(other), `"environment":"live"`), bad) // the types are shop's
}

// An event that was accepted stays accepted: its publisher, who asks again because the answer
// was lost, gets the first result.
func TestARepeatedEventIsNotRefused(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.eventType(`"name":"order.created","schema":` + orderSchema)
	bad := `{"event_type":"order.created","data":{}}`
	first := b.ok(202, "POST", "/events", b.live[0], bad, "Idempotency-Key", "k1")
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
	require.Equal(t, first, b.ok(200, "POST", "/events", b.live[0], bad, "Idempotency-Key", "k1"))
	b.refused(422, "validation_failed", "POST", "/events", b.live[0], bad, "Idempotency-Key", "k2")
	b.ok(202, "POST", "/events", b.live[0], `{"event_type":"order.created","data":{"customer":{}}}`, "Idempotency-Key", "k2")
}

func TestWarningsAreShortASCII(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"warn"}`)
	b.eventType(`"name":"a.b","schema":{"additionalProperties":{"type":"string"}}`)
	var data []string
	for i := range 200 {
		data = append(data, fmt.Sprintf(`"ação\n%d %s":1`, i, strings.Repeat("x", 100)))
	}
	event := `{"event_type":"a.b","data":{` + strings.Join(data, ",") + `}}`
	got := b.call("POST", "/events/batch", b.live[0], `{"events":[`+event+`,`+event+`]}`)
	require.Equal(t, 202, got.status, got.text)
	warning := got.header.Get(headerWarning)
	require.Len(t, warning, 1000)
	require.NotContains(t, warning, "\n")
	require.Regexp(t, `^[ -~]+\.\.\.$`, warning)
}

func TestLargeEventsAreValidated(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
	b.eventType(`"name":"a.b","schema":{"properties":{"rows":{"items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}}`)
	rows := strings.Repeat(`{"n":12345},`, 256<<10/12)
	b.ok(202, "POST", "/events", b.live[0], `{"event_type":"a.b","data":{"rows":[`+rows+`{"n":1}]}}`)
	got := b.refused(422, "validation_failed", "POST", "/events", b.live[0], `{"event_type":"a.b","data":{"rows":[`+rows+`{"n":"x"}]}}`)
	require.Equal(t, fmt.Sprintf("body.data.rows[%d].n", 256<<10/12), location(got))
	b.eventType(`"name":"a.c","schema":{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	nested := strings.Repeat(`{"x":`, 60) + `{}` + strings.Repeat(`}`, 60)
	got = b.refused(422, "validation_failed", "POST", "/events", b.live[0], `{"event_type":"a.c","data":`+nested+`}`)
	require.Contains(t, got.text, "too many steps")
}

func TestPingSendsAnExample(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.eventType(`"name":"order.created","example":{"n":1}`)
	b.eventType(`"name":"order.paid"`)
	endpoint := b.endpoint(b.live[0], `{"url":"https://example.com/mine","event_types":["x"]}`)["id"].(string)
	path := "/endpoints/" + endpoint + "/ping"
	scope := b.tenant[0].String() + " live " + endpoint
	b.ok(202, "POST", path, b.live[0], `{"event_type":"order.created"}`)
	b.ok(202, "POST", path, b.admin, `{}`)
	b.ok(202, "POST", path, b.admin, "")
	b.ok(202, "POST", path, b.admin, `{"event_type":"hub.ping"}`)
	require.Equal(t, []string{scope + ` order.created {"n":1}`, scope + " hub.ping {}", scope + " hub.ping {}", scope + " hub.ping {}"}, b.sent.list)
	for _, eventType := range []string{"order.paid", "unknown", "patient.created"} {
		got := b.refused(422, "validation_failed", "POST", path, b.admin, `{"event_type":"`+eventType+`"}`)
		require.Equal(t, "body.event_type", location(got))
	}
	b.refused(404, "not_found", "POST", path, b.live[1], `{"event_type":"order.created"}`)
	require.Len(t, b.sent.list, 4)
}

func TestOpenAPIOfAProduct(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.eventType(`"name":"order.created","schema":` + orderSchema + `,"example":{"customer":{}}`)
	document := b.ok(200, "GET", "/event-types/openapi?product=shop", b.support, "")
	require.Equal(t, "3.1.0", document["openapi"])
	require.Contains(t, document["webhooks"], "order.created")
	require.JSONEq(t, orderSchema, marshalled(t, document["components"].(map[string]any)["schemas"].(map[string]any)["data.order.created"]))
	require.Empty(t, b.ok(201, "POST", "/products", b.admin, `{"name":"empty","prefix":"emp"}`)["webhooks"])
	require.Empty(t, b.ok(200, "GET", "/event-types/openapi?product=empty", b.support, "")["webhooks"])
	b.refused(404, "not_found", "GET", "/event-types/openapi?product=nothing", b.support, "")
	require.Len(t, b.ok(200, "GET", "/event-types/openapi?product=hub", b.support, "")["webhooks"], 1+len(events.FromHub()), "the hub's own")
	b.refused(422, "validation_failed", "GET", "/event-types/openapi", b.support, "")
}

// A product with the most types that it can have is listed page by page, and the last type is
// checked as fast as the first.
func TestTenThousandEventTypes(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	_, err := b.db.Exec(t.Context(), `insert into hub.event_types (id, product, name, schema)
		select gen_random_uuid(), 'shop', 'type.n' || lpad(n::text, 5, '0'), '{"required":["a'||n||'"]}' from generate_series(1, 9999) n`)
	require.NoError(t, err)
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
	b.eventType(`"name":"type.n10000","schema":` + orderSchema)
	b.refused(422, "too_many_event_types", "POST", "/event-types", b.admin, `{"product":"shop","name":"type.more"}`)
	b.refused(422, "validation_failed", "POST", "/events", b.live[0], `{"event_type":"type.n09999","data":{}}`)
	b.ok(202, "POST", "/events", b.live[0], `{"event_type":"type.n09999","data":{"a9999":1}}`)
	seen := 0
	for cursor := ""; ; {
		page := b.ok(200, "GET", "/event-types?product=shop&limit=200&cursor="+cursor, b.support, "")
		seen += len(items(page))
		if page["next_cursor"] == nil {
			break
		}
		cursor = page["next_cursor"].(string)
	}
	require.Equal(t, 10_000, seen)
	require.Len(t, b.ok(200, "GET", "/event-types/openapi?product=shop", b.support, "")["webhooks"], 10_000)
	_, err = b.db.Exec(t.Context(), `update hub.event_types set example = '{"x":"' || repeat('a', 60000) || '"}' where name < 'type.n00139'`)
	require.NoError(t, err)
	last := items(b.ok(200, "GET", "/event-types?product=shop&limit=1", b.support, ""))[0]["id"].(string)
	b.refused(422, "event_types_too_large", "PUT", "/event-types/"+last, b.admin, `{"example":{"x":"`+strings.Repeat("a", 65_000)+`"}}`)
}

// The events of a batch share the steps of their checks: no request takes longer than two events
// at the bound of one.
func TestChecksOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	values := strings.Repeat(`"a",`, 999) + `"b"`
	b.eventType(`"name":"a.b","schema":{"properties":{"rows":{"items":{"enum":[` + values + `]}}}}`)
	event := `{"event_type":"a.b","data":{"rows":[` + strings.TrimSuffix(strings.Repeat(`"b",`, 900), ",") + `]}}`
	batch := func(n int) string {
		return `{"events":[` + strings.TrimSuffix(strings.Repeat(event+",", n), ",") + `]}`
	}
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"reject"}`)
	b.ok(202, "POST", "/events/batch", b.live[0], batch(2))
	refused := b.refused(422, "validation_failed", "POST", "/events/batch", b.live[0], batch(5))
	require.Equal(t, "body.events[2].data", location(refused))
	require.Contains(t, refused.text, "too many steps")
	b.ok(202, "POST", "/events/batch", b.live[0], batch(2))
	b.ok(200, "PUT", "/products/shop", b.admin, `{"validation":"warn"}`)
	warned := b.call("POST", "/events/batch", b.live[0], batch(5))
	require.Equal(t, 202, warned.status)
	require.Contains(t, warned.header.Get(headerWarning), "body.events[4].data is not checked")
}
