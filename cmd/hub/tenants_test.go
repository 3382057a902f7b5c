package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

func TestTenantNames(t *testing.T) {
	t.Parallel()
	first, two := newTenant(t), newTenant(t)
	first.run("tenants", "create", "Twins", "--product", first.product, "--external-ref", "4711-"+first.product).requireOK()
	second := first.run("tenants", "create", "Twins", "--product", two.product, "-q").requireOK()
	first.run("tenants", "create", "Twins and Sons", "--product", two.product).requireOK()
	first.run("keys", "list", "--tenant", "Twins").requireFails(2, `several tenants are called "Twins"`, first.product, second+"  "+two.product)
	first.run("keys", "list", "--tenant", "Nobody").requireFails(5, "no tenant has the name", "hub tenants list")
	first.run("keys", "create", "--tenant", "twins", "--product", two.product).requireOK()
	require.Len(t, strings.Split(first.run("keys", "list", "--tenant", second, "-q").requireOK(), "\n"), 1)
	require.Empty(t, first.run("keys", "list", "--tenant", "4711-"+first.product, "-q").requireOK())
}

func TestTenantUpdate(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	require.Regexp(t, `endpoints +default`, p.run("tenants", "show", p.tenant).requireOK())
	require.Regexp(t, `endpoints +2000`, p.run("tenants", "update", p.tenant, "--endpoints", "2000", "--queue", "50").requireOK())
	updated := p.run("tenants", "update", p.tenant, "--name", p.tenant+" Ltd", "--endpoints", "default", "--external-ref", "ref-"+p.product).requireOK()
	require.Regexp(t, `name +`+p.tenant+` Ltd`, updated)
	require.Regexp(t, `(?s)external_ref +ref-.*endpoints +default.*queue +50`, updated, "what is not given stays")
	p.run("tenants", "update", p.tenantID, "--queue", "many").requireFails(2, "--queue is a number from 1, or default")
	p.run("tenants", "update", p.tenantID, "--queue", "1000001").requireFails(1, "validation_failed")
}

func TestTenantSuspend(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	require.Regexp(t, `state +active\nsuspended_at +-`, p.run("tenants", "show", p.tenant).requireOK())
	p.run("tenants", "suspend", p.tenantID).requireFails(2, "--yes is needed")
	p.run("tenants", "suspend", "0198f3a0-0000-7000-8000-000000000000", "--yes").requireFails(5, "(not_found, ")
	suspended := p.run("tenants", "suspend", p.tenant, "--yes")
	require.Regexp(t, `state +suspended\nsuspended_at +\d{4}-`, suspended.requireOK())
	require.Contains(t, suspended.stderr, "is suspended; its users and keys are refused within a second")
	require.Equal(t, p.tenantID, p.run("tenants", "suspend", p.tenant, "--yes", "-q").requireOK(), "again it changes nothing")
	require.Regexp(t, `state +suspended`, p.run("tenants", "show", p.tenant).requireOK())
	require.Regexp(t, p.tenant+` .* suspended `, p.run("tenants", "list", "--product", p.product).requireOK())
	require.Eventually(t, func() bool { return p.run("publish", "--type", "a.b").code != 0 }, waitTimeout, pollInterval)
	p.run("publish", "--type", "a.b").requireFails(4, "(tenant_suspended, ", "operators end a suspension with: hub tenants resume TENANT")

	var resumed map[string]any
	p.run("tenants", "resume", p.tenant, "-o", "json").decode(&resumed)
	require.Equal(t, p.tenantID, resumed["id"])
	require.Nil(t, resumed["suspended_at"])
	require.Contains(t, p.run("tenants", "resume", p.tenantID).requireOK(), "active")
	require.Equal(t, p.tenantID, p.run("tenants", "resume", p.tenantID, "-q").requireOK())
	p.run("tenants", "resume", "Nobody").requireFails(5, "no tenant has the name")
	require.Eventually(t, func() bool { return p.run("publish", "--type", "a.b").code == 0 }, waitTimeout, pollInterval)
}

func TestTenantDelete(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.run("products", "delete", p.product).requireFails(1, "has tenants: 1", "(product_has_tenants, ")
	p.run("tenants", "delete", p.tenantID).requireFails(2, "--yes is needed")
	deleted := p.run("tenants", "delete", p.tenant, "--yes")
	require.Regexp(t, `(?s)^id +`+p.tenantID+`.*keys +1\s+endpoints +1$`, deleted.requireOK())
	require.Contains(t, deleted.stderr, "with its keys (1) and endpoints (1); its data is being erased")
	p.run("publish", "--type", "a.b").requireFails(4, "(invalid_key, ")
	p.run("tenants", "delete", p.tenantID, "--yes").requireFails(5, "(not_found, ")
	require.Equal(t, p.product, p.run("products", "delete", p.product, "-q").requireOK())
	p.run("products", "delete", p.product).requireFails(5, "(not_found, ")
	p.run("products", "delete", "scheduling").requireFails(1, "(product_hosted, ")
}

// The example of docs/tenants.md does what it says.
func TestTenantExample(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	printed := c.withEnv("HUB_URL", s.url).runExample("docs/tenants.md")
	require.Regexp(t, `(?s)as it may have: 1 of 1.*exit code 1\n.*endpoints +default\n.*\(too_many_deliveries, .*exit code 1\n.*deleted Willow.*\(invalid_key, .*exit code 4\n.*deleted books`, printed)
}

// The example of docs/tenants.md stops a tenant and lets it go on.
func TestSuspensionExample(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	printed := c.withEnv("HUB_URL", s.url).runExampleUnder("## Suspending", "docs/tenants.md")
	require.Regexp(t, `(?s)state +suspended.*\(tenant_suspended, .*state +active.*\nevt_`, printed)
}

// The example of docs/tenants.md closes sign-up.
func TestSignUpExample(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t))
	env["HUB_SIGN_UP"] = "operators"
	s := c.serve(env)
	printed := c.withEnv("HUB_DATA_DIR", s.dataDir).withEnv("HUB_URL", s.url).runExampleUnder("## Closing sign-up", "docs/tenants.md")
	require.Regexp(t, `(?s)"code":"user_creation_disabled".*"name":"Clinica Sol".*token new clinics +auth\.register`, printed)
	status, refused := post(t, s.url+"/messaging/auth/signup", http.Header{"Content-Type": {"application/json"}}, []byte(`{"name":"Bia","email":"bia@sol.example","password":"correct horse"}`))
	require.Equal(t, 403, status)
	require.Contains(t, refused, `"error":"ERR_USER_CREATION_DISABLED"`)
}
