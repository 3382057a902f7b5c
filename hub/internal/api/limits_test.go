package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/registry"
)

func TestTenantUpdate(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	path := "/tenants/" + b.tenant[0].String()
	noLimits := map[string]any{"endpoints": nil, "deliveries_per_request": nil, "in_flight": nil, "queue": nil}
	require.Equal(t, noLimits, b.ok(200, "GET", path, b.support, "")["limits"])
	updated := b.ok(200, "PUT", path, b.admin, `{"name":"Renamed","external_ref":"ref_1","limits":{"endpoints":2000,"queue":7}}`)
	require.Equal(t, "Renamed", updated["name"])
	require.Equal(t, "ref_1", updated["external_ref"])
	require.Equal(t, map[string]any{"endpoints": 2000.0, "deliveries_per_request": nil, "in_flight": nil, "queue": 7.0}, updated["limits"])
	require.Equal(t, updated, b.ok(200, "GET", path, b.support, ""))
	require.Equal(t, "tenants.update", b.lastAction(), "it stands in the audit log")

	b.refused(409, "external_ref_taken", "PUT", "/tenants/"+b.tenant[1].String(), b.admin, `{"name":"Tenant","external_ref":"ref_1"}`)
	b.refused(404, "not_found", "PUT", "/tenants/"+uuid.NewString(), b.admin, `{"name":"Tenant"}`)
	for _, limits := range []string{
		`"endpoints":0`, `"endpoints":50001`, `"deliveries_per_request":100001`, `"in_flight":10001`, `"queue":1000001`, `"queue":-1`, `"queue":"1"`, `"pages":1`,
	} {
		b.refused(422, "validation_failed", "PUT", path, b.admin, `{"name":"Renamed","limits":{`+limits+`}}`)
	}
	require.Equal(t, updated, b.ok(200, "GET", path, b.support, ""))

	removed := b.ok(200, "PUT", path, b.admin, `{"name":"Renamed","external_ref":null,"limits":{"queue":null}}`)
	require.Nil(t, removed["external_ref"])
	require.Equal(t, noLimits, removed["limits"])
}

// lastAction returns the action of the newest audit entry.
func (b *bundle) lastAction() (action string) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRow(context.Background(), `select action from hub.audit order by id desc limit 1`).Scan(&action))
	return action
}

// A hosted product names its tenants itself; operators limit them.
func TestTenantUpdateOfHostedProduct(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	_, err := registry.New(b.db).CreateProduct(ctx, registry.Product{Name: "clinic", Prefix: "cli", Title: "Clinic", Hosted: true})
	require.NoError(t, err)
	id := uuid.NewString()
	_, err = b.db.Exec(ctx, `insert into hub.tenants (id, product, name, external_ref) values ($1, 'clinic', 'Some Clinic', 'c1')`, id)
	require.NoError(t, err)
	path := "/tenants/" + id
	b.refused(422, "product_hosted", "PUT", path, b.admin, `{"name":"Another","external_ref":"c1"}`)
	b.refused(422, "product_hosted", "PUT", path, b.admin, `{"name":"Some Clinic","external_ref":"c2"}`)
	b.refused(422, "product_hosted", "PUT", path, b.admin, `{"name":"Some Clinic"}`)
	limited := b.ok(200, "PUT", path, b.admin, `{"name":"Some Clinic","external_ref":"c1","limits":{"endpoints":3}}`)
	require.EqualValues(t, 3, limited["limits"].(map[string]any)["endpoints"])
}

func TestEndpointLimit(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	limit := func(value string) {
		b.ok(200, "PUT", "/tenants/"+b.tenant[0].String(), b.admin, `{"name":"Tenant","limits":{"endpoints":`+value+`}}`)
	}
	body := `{"url":"https://example.com/hook","event_types":["*"]}`
	first := b.endpoint(b.live[0], body)["id"].(string)
	b.endpoint(b.test[0], body)
	limit("2")
	refused := b.refused(422, "endpoint_limit", "POST", "/endpoints", b.live[0], body)
	require.Contains(t, refused.text, "as it may have: 2 of 2")
	b.endpoint(b.live[1], body)
	b.ok(204, "DELETE", "/endpoints/"+first, b.live[0], "")
	b.endpoint(b.live[0], body)

	// One that has more than it may have keeps them, and cannot add one.
	limit("1")
	b.refused(422, "endpoint_limit", "POST", "/endpoints", b.live[0], body)
	b.refused(422, "endpoint_limit", "POST", "/endpoints", b.admin, strings.Replace(body, "{", `{"tenant_id":"`+b.tenant[0].String()+`",`, 1))
	for _, item := range items(b.ok(200, "GET", "/endpoints", b.live[0], "")) {
		b.ok(200, "PUT", "/endpoints/"+item["id"].(string), b.live[0], `{"url":"https://example.com/2","event_types":["a.b"]}`)
	}

	// By default there are 500.
	_, err := b.db.Exec(context.Background(), `
		insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret)
		select gen_random_uuid(), $1, 'live', 'https://example.com/hook', '{*}', '' from generate_series(1, 500 - 3)`, b.tenant[0])
	require.NoError(t, err)
	limit("null")
	b.endpoint(b.live[0], body)
	b.refused(422, "endpoint_limit", "POST", "/endpoints", b.live[0], body)
}

// Of concurrent creations at the limit as many succeed as there is room for.
func TestEndpointLimitHoldsForConcurrentRequests(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	const limit, tried = 3, 12
	b.ok(200, "PUT", "/tenants/"+b.tenant[0].String(), b.admin, fmt.Sprintf(`{"name":"Tenant","limits":{"endpoints":%d}}`, limit))
	var created, refused sync.Map
	var done sync.WaitGroup
	for i := range tried {
		done.Go(func() {
			got := b.call("POST", "/endpoints", b.live[0], `{"url":"https://example.com/hook","event_types":["*"]}`)
			if got.status == 201 {
				created.Store(i, true)
			} else if got.body["code"] == "endpoint_limit" {
				refused.Store(i, true)
			}
		})
	}
	done.Wait()
	require.Equal(t, []int{limit, tried - limit}, []int{count(&created), count(&refused)})
	var stored int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.endpoints where tenant_id = $1`, b.tenant[0]).Scan(&stored))
	require.Equal(t, limit, stored)
}

func count(entries *sync.Map) (n int) {
	entries.Range(func(_, _ any) bool { n++; return true })
	return n
}

// Few endpoints of a tenant and environment get operational events, whatever their number and
// however their event types say so; those that do already keep them.
func TestOperationalEndpointLimit(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	const limit, before = registry.MaxOperationalEndpoints, 6
	body := func(types string) string { return `{"url":"https://example.com/hook","event_types":[` + types + `]}` }
	var operational []string
	for i := range before {
		operational = append(operational, b.endpoint(b.live[0], body([]string{`"hub.*"`, `"a.b","hub.delivery.parked"`, `"hub.endpoint.*"`}[i%3]))["id"].(string))
	}
	b.endpoint(b.test[0], body(`"hub.*"`))
	b.endpoint(b.live[1], body(`"hub.*"`))
	var plain []string
	for range limit {
		plain = append(plain, b.endpoint(b.live[0], body(`"*","hubs.*"`))["id"].(string))
	}

	// Of concurrent creations and changes as many succeed as there is room for.
	var accepted, refused sync.Map
	var done sync.WaitGroup
	for i, id := range plain {
		for name, call := range map[string]func() answer{
			"create": func() answer { return b.call("POST", "/endpoints", b.live[0], body(`"hub.*"`)) },
			"update": func() answer { return b.call("PUT", "/endpoints/"+id, b.live[0], body(`"hub.endpoint.failing"`)) },
		} {
			done.Go(func() {
				got := call()
				if got.status < 300 {
					accepted.Store(fmt.Sprint(name, i), true)
				} else if got.status == 422 && got.body["code"] == "operational_endpoint_limit" {
					refused.Store(fmt.Sprint(name, i), true)
				}
			})
		}
	}
	done.Wait()
	require.Equal(t, []int{limit - before, 2*len(plain) - (limit - before)}, []int{count(&accepted), count(&refused)})
	require.Contains(t, b.refused(422, "operational_endpoint_limit", "POST", "/endpoints", b.live[0], body(`"hub.*"`)).text, "10 endpoints")

	// What gets them keeps them, also where there are too many; one in place of another is possible.
	_, err := b.db.Exec(context.Background(), `update hub.endpoints set event_types = '{hub.*}' where tenant_id = $1 and environment = 'live'`, b.tenant[0])
	require.NoError(t, err)
	b.ok(200, "PUT", "/endpoints/"+operational[0], b.live[0], body(`"hub.integration.*"`))
	_, err = b.db.Exec(context.Background(), `update hub.endpoints set event_types = '{*}' where tenant_id = $1 and environment = 'live' and id <> all($2::uuid[])`, b.tenant[0], operational)
	require.NoError(t, err)
	for range limit - before {
		operational = append(operational, b.endpoint(b.live[0], body(`"hub.*"`))["id"].(string))
	}
	b.refused(422, "operational_endpoint_limit", "PUT", "/endpoints/"+plain[0], b.live[0], body(`"hub.*"`))
	b.ok(200, "PUT", "/endpoints/"+operational[0], b.live[0], body(`"a.b"`))
	b.ok(200, "PUT", "/endpoints/"+plain[0], b.live[0], body(`"hub.*"`))
	b.ok(204, "DELETE", "/endpoints/"+operational[1], b.live[0], "")
	b.endpoint(b.live[0], body(`"hub.*"`))
}

// An update that changes nothing writes nothing: clients repeat them.
func TestUpdateThatChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	body := `{"url":"https://example.com/hook","event_types":["a.b","c.*"],"description":"d","rate_per_minute":60}`
	endpoint := "/endpoints/" + b.endpoint(b.live[0], body)["id"].(string)
	tenant, tenantBody := "/tenants/"+b.tenant[0].String(), `{"name":"Tenant","external_ref":"ref","limits":{"endpoints":7}}`
	b.ok(200, "PUT", tenant, b.admin, tenantBody)
	key := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`"}`)["id"].(string)
	b.ok(204, "DELETE", "/keys/"+key, b.admin, "")
	written := func() (all string) {
		require.NoError(t, b.db.QueryRow(context.Background(), `select concat_ws(' ',
			(select string_agg(xmin::text, ',' order by id) from hub.endpoints), (select string_agg(xmin::text, ',' order by id) from hub.tenants),
			(select string_agg(xmin::text, ',' order by id) from hub.keys),
			(select count(*) from hub.config_changes), (select version from hub.config_version),
			(select count(*) from hub.audit where action in ('endpoints.update', 'tenants.update')))`).Scan(&all))
		return all
	}
	before := written()
	for range 3 {
		b.ok(200, "PUT", endpoint, b.live[0], body)
		b.ok(200, "PUT", tenant, b.admin, tenantBody)
		b.ok(204, "DELETE", "/keys/"+key, b.admin, "")
	}
	require.Equal(t, before, written())
	for _, change := range []string{`"d"`, `"c.*"`, `60`, `/hook`} {
		body = strings.Replace(body, change, map[string]string{`"d"`: `"e"`, `"c.*"`: `"d.*"`, `60`: `null`, `/hook`: `/other`}[change], 1)
		b.ok(200, "PUT", endpoint, b.live[0], body)
		require.NotEqual(t, before, written(), change)
		before = written()
	}
}
