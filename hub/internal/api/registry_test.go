package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/registry"
)

func TestProducts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := registry.New(b.db).CreateProduct(context.Background(), registry.Product{Name: "clinic", Prefix: "cli", Title: "Clinic", Hosted: true})
	require.NoError(t, err)
	made := b.ok(201, "POST", "/products", b.admin, `{"name":"shop","prefix":"shop"}`)
	require.Equal(t, "shop", made["title"])
	require.Equal(t, false, made["hosted"])
	list := items(b.ok(200, "GET", "/products", b.support, ""))
	require.Equal(t, []any{"clinic", "shop"}, []any{list[0]["name"], list[1]["name"]})
	require.Equal(t, true, list[0]["hosted"])

	b.refused(409, "name_taken", "POST", "/products", b.admin, `{"name":"shop","prefix":"other"}`)
	b.refused(409, "prefix_taken", "POST", "/products", b.admin, `{"name":"other","prefix":"cli"}`)
	for _, reserved := range []string{"hub", "hubl", "hubr", "hubs", "hubt", "whsec", "evt"} {
		b.refused(409, "prefix_reserved", "POST", "/products", b.admin, `{"name":"other","prefix":"`+reserved+`"}`)
	}
	for _, bad := range []string{
		`{"name":"Shop","prefix":"sho"}`, `{"name":"s","prefix":"sho"}`, `{"name":"1shop","prefix":"sho"}`, `{"name":"other","prefix":"s"}`,
		`{"name":"other","prefix":"with_line"}`, `{"name":"other","prefix":"elevenchars"}`, `{"name":"other"}`, `{"name":"other","prefix":"oth","hosted":true}`,
	} {
		b.refused(422, "validation_failed", "POST", "/products", b.admin, bad)
	}
	first := b.ok(200, "GET", "/products?limit=1", b.admin, "")
	require.Equal(t, "clinic", items(first)[0]["name"])
	second := b.ok(200, "GET", "/products?limit=1&cursor="+first["next_cursor"].(string), b.admin, "")
	require.Equal(t, "shop", items(second)[0]["name"])
	require.Nil(t, second["next_cursor"])
	b.refused(422, "product_hosted", "POST", "/tenants", b.admin, `{"product":"clinic","name":"x"}`)
}

func TestTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok(201, "POST", "/products", b.admin, `{"name":"shop","prefix":"shop"}`)
	b.ok(201, "POST", "/products", b.admin, `{"name":"other","prefix":"oth"}`)
	for i := range 5 {
		b.ok(201, "POST", "/tenants", b.admin, fmt.Sprintf(`{"product":"shop","name":"Tenant %d","external_ref":"ref_%d"}`, i, i))
	}
	same := b.ok(201, "POST", "/tenants", b.admin, `{"product":"other","name":"100% sure","external_ref":"ref_0"}`)
	b.refused(409, "external_ref_taken", "POST", "/tenants", b.admin, `{"product":"shop","name":"x","external_ref":"ref_0"}`)
	b.refused(422, "validation_failed", "POST", "/tenants", b.admin, `{"product":"nothing","name":"x"}`)
	b.refused(422, "validation_failed", "POST", "/tenants", b.admin, `{"product":"shop","name":""}`)
	require.Equal(t, same, b.ok(200, "GET", "/tenants/"+same["id"].(string), b.support, ""))
	for _, name := range []string{`"   "`, `"\u2003"`, `"a\nb"`, `"a\u0007"`, `"\u202etxet"`} {
		b.refused(422, "validation_failed", "POST", "/tenants", b.admin, `{"product":"shop","name":`+name+`}`)
		b.refused(422, "validation_failed", "PUT", "/tenants/"+same["id"].(string), b.admin, `{"name":`+name+`,"external_ref":"ref_0"}`)
		b.refused(422, "validation_failed", "POST", "/products", b.admin, `{"name":"third","prefix":"third","title":`+name+`}`)
		b.refused(422, "validation_failed", "PUT", "/products/shop", b.admin, `{"title":`+name+`}`)
		b.refused(422, "validation_failed", "POST", "/keys", b.admin, `{"tenant_id":"`+same["id"].(string)+`","name":`+name+`}`)
		b.refused(422, "validation_failed", "POST", "/tokens", b.admin, `{"role":"support","name":`+name+`}`)
		b.refused(422, "validation_failed", "POST", "/operators", b.admin, `{"email":"x@example.com","role":"support","password":"`+adminPassword+`","name":`+name+`}`)
	}
	b.refused(422, "validation_failed", "POST", "/tenants", b.admin, `{"product":"shop","name":"x","external_ref":""}`)
	b.refused(422, "validation_failed", "PUT", "/tenants/"+same["id"].(string), b.admin, `{"name":"x","external_ref":""}`)
	require.Nil(t, b.ok(201, "POST", "/tenants", b.admin, `{"product":"other","name":"x","external_ref":null}`)["external_ref"])
	// A back end finds its tenant by the reference it has: the whole of it, in its product.
	byRef := func(query string) []map[string]any { return items(b.ok(200, "GET", "/tenants?"+query, b.support, "")) }
	require.Len(t, byRef("external_ref=ref_0"), 2)
	require.Equal(t, same["id"], byRef("external_ref=ref_0&product=other")[0]["id"])
	require.Len(t, byRef("external_ref=ref_0&product=other"), 1)
	require.Empty(t, byRef("external_ref=ref_"))
	require.Empty(t, byRef("external_ref=ref_0&q=nothing"))
	b.refused(422, "validation_failed", "GET", "/tenants?external_ref="+strings.Repeat("x", 201), b.admin, "")
	b.refused(404, "not_found", "GET", "/tenants/"+uuid.NewString(), b.admin, "")
	b.refused(422, "validation_failed", "GET", "/tenants/1", b.admin, "")

	var seen []any
	cursor := ""
	for {
		page := b.ok(200, "GET", "/tenants?product=shop&limit=2&cursor="+cursor, b.admin, "")
		for _, item := range items(page) {
			seen = append(seen, item["name"])
		}
		if page["next_cursor"] == nil {
			break
		}
		cursor = page["next_cursor"].(string)
	}
	require.Equal(t, []any{"Tenant 4", "Tenant 3", "Tenant 2", "Tenant 1", "Tenant 0"}, seen)
	for query, count := range map[string]int{"tenant": 5, "REF_3": 1, "%": 1, "_": 6, "\\": 0, "100%": 1, "nothing": 0} {
		require.Len(t, items(b.ok(200, "GET", "/tenants?q="+url.QueryEscape(query), b.admin, "")), count, query)
	}
}

func TestEndpointLife(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	ctx := context.Background()
	made := b.endpoint(b.live[0], `{"url":"https://example.com/hook","event_types":["appointment.*","message.sent"],"rate_per_minute":60,"description":"d"}`)
	id, secret := made["id"].(string), made["secret"].(string)
	require.Regexp(t, `^whsec_`, secret)
	require.Equal(t, b.tenant[0].String(), made["tenant_id"])
	require.Equal(t, "live", made["environment"])
	require.Equal(t, true, made["enabled"])
	require.EqualValues(t, 60, made["rate_per_minute"])

	for _, credential := range []string{b.live[0], b.admin, b.support, b.local} {
		got := b.call("GET", "/endpoints/"+id, credential, "")
		require.Equal(t, 200, got.status)
		require.NotContains(t, got.text, "secret\":\"")
		require.Len(t, items(b.ok(200, "GET", "/endpoints", credential, "")), 1)
	}
	var sealed []byte
	require.NoError(t, b.db.QueryRow(ctx, `select secret from hub.endpoints`).Scan(&sealed))
	require.NotContains(t, string(sealed), secret)
	opened, err := b.box.Open(sealed, registry.SecretContext(uuid.MustParse(id)))
	require.NoError(t, err)
	require.Equal(t, secret, string(opened))

	// PUT replaces everything but the secret; enabling forgets why it was disabled.
	_, err = b.db.Exec(ctx, `update hub.endpoints set enabled = false, disabled_reason = 'gone'`)
	require.NoError(t, err)
	b.refused(409, "endpoint_disabled", "POST", "/endpoints/"+id+"/ping", b.live[0], "")
	off := b.ok(200, "PUT", "/endpoints/"+id, b.live[0], `{"url":"https://example.com/2","event_types":["*"],"enabled":false}`)
	require.Equal(t, "gone", off["disabled_reason"])
	require.Equal(t, "https://example.com/2", off["url"])
	require.Nil(t, off["rate_per_minute"])
	require.Empty(t, off["description"])
	require.NotContains(t, off, "secret")
	require.Len(t, items(b.ok(200, "GET", "/endpoints?enabled=false", b.admin, "")), 1)
	on := b.ok(200, "PUT", "/endpoints/"+id, b.admin, `{"url":"https://example.com/2","event_types":["*"],"rate_per_minute":null}`)
	require.Equal(t, true, on["enabled"])
	require.Nil(t, on["disabled_reason"])

	ping := b.ok(202, "POST", "/endpoints/"+id+"/ping", b.live[0], "")
	require.Equal(t, "evt_0123456789abcdef", ping["id"])
	require.Equal(t, []string{b.tenant[0].String() + " live " + id + " hub.ping {}"}, b.sent.list)

	require.Empty(t, b.call("DELETE", "/endpoints/"+id, b.live[0], "").text)
	for _, credential := range []string{b.live[0], b.admin} {
		b.refused(404, "not_found", "GET", "/endpoints/"+id, credential, "")
		b.refused(404, "not_found", "DELETE", "/endpoints/"+id, credential, "")
		b.refused(404, "not_found", "PUT", "/endpoints/"+id, credential, bodies["endpoints.update"])
		b.refused(404, "not_found", "POST", "/endpoints/"+id+"/rotate-secret", credential, "")
		b.refused(409, "endpoint_deleted", "POST", "/endpoints/"+id+"/ping", credential, "")
		require.Empty(t, items(b.ok(200, "GET", "/endpoints", credential, "")))
	}
	b.refused(404, "not_found", "POST", "/endpoints/"+id+"/ping", b.live[1], "") // another tenant's
	b.refused(404, "not_found", "POST", "/endpoints/"+uuid.NewString()+"/ping", b.admin, "")
	var kept int
	require.NoError(t, b.db.QueryRow(ctx, `select count(*) from hub.endpoints`).Scan(&kept))
	require.Equal(t, 1, kept, "the log still names it")
}

func TestEndpointSecretRotation(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	given := strings.Repeat("!~", 12)
	made := b.endpoint(b.test[0], `{"url":"https://example.com/hook","event_types":["*"],"secret":"`+given+`"}`)
	require.Equal(t, given, made["secret"])
	id := made["id"].(string)
	secrets := func() (now, previous string, until *time.Time) {
		var sealed, old []byte
		require.NoError(t, b.db.QueryRow(context.Background(), `select secret, previous_secret, previous_expires_at from hub.endpoints`).Scan(&sealed, &old, &until))
		plain, err := b.box.Open(sealed, registry.SecretContext(uuid.MustParse(id)))
		require.NoError(t, err)
		if old != nil {
			opened, err := b.box.Open(old, registry.SecretContext(uuid.MustParse(id)))
			require.NoError(t, err)
			previous = string(opened)
		}
		return string(plain), previous, until
	}
	rotated := b.ok(200, "POST", "/endpoints/"+id+"/rotate-secret", b.test[0], "")
	now, previous, until := secrets()
	require.Equal(t, rotated["secret"], now)
	require.Equal(t, given, previous)
	require.True(t, until.Equal(b.clock.Now().Add(24*time.Hour)))
	require.NotEmpty(t, rotated["previous_secret_until"])

	// The response to a rotation was lost and the request is repeated: the previous secret stays.
	given = now
	for range 2 {
		b.ok(200, "POST", "/endpoints/"+id+"/rotate-secret", b.admin, `{"overlap_seconds":3600,"secret":"a secret that is repeated"}`)
		now, previous, _ = secrets()
		require.Equal(t, []string{"a secret that is repeated", given}, []string{now, previous})
	}

	b.ok(200, "POST", "/endpoints/"+id+"/rotate-secret", b.admin, `{"overlap_seconds":0,"secret":"another secret of my own"}`)
	now, previous, until = secrets()
	require.Equal(t, "another secret of my own", now)
	require.Empty(t, previous)
	require.Nil(t, until)
	for _, bad := range []string{`{"overlap_seconds":604801}`, `{"overlap_seconds":-1}`, `{"secret":"short"}`, `{"secret":"too short with spaces"}`, `{"secret":"not-ascii-é-not-ascii-not-ascii"}`, `{"switch":"later"}`} {
		b.refused(422, "validation_failed", "POST", "/endpoints/"+id+"/rotate-secret", b.admin, bad)
	}
	b.refused(403, "admin_only", "POST", "/endpoints/"+id+"/rotate-secret", b.support, "")
}

func TestEndpointRules(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	create := func(fields string) string {
		return `{"url":"https://example.com/h","event_types":["*"],` + fields + `}`
	}
	tenant := `"tenant_id":"` + b.tenant[0].String() + `"`
	require.Equal(t, "live", b.endpoint(b.admin, create(tenant))["environment"])
	require.Equal(t, "test", b.endpoint(b.admin, create(tenant+`,"environment":"test"`))["environment"])
	require.Equal(t, "test", b.endpoint(b.test[0], create(tenant+`,"environment":"test"`))["environment"])
	b.refused(422, "validation_failed", "POST", "/endpoints", b.admin, `{"url":"https://example.com/h","event_types":["*"]}`)
	// What can be published can be subscribed to.
	longest := strings.Repeat("t", 128)
	subscribed := b.ok(201, "POST", "/endpoints", b.live[0], `{"url":"https://example.com/longest","event_types":["`+longest+`"]}`)["id"].(string)
	b.ok(202, "POST", "/events", b.live[0], `{"event_type":"`+longest+`","data":{}}`)
	b.ok(204, "DELETE", "/endpoints/"+subscribed, b.admin, "")
	tooLong := b.refused(422, "validation_failed", "POST", "/endpoints", b.live[0], `{"url":"https://example.com/h","event_types":["`+longest+`t"]}`)
	require.Contains(t, tooLong.text, "must have at most 128 characters")
	b.refused(404, "tenant_not_found", "POST", "/endpoints", b.admin, create(`"tenant_id":"`+uuid.NewString()+`"`))
	for _, types := range []string{`[]`, `null`, `[""]`, `["a b"]`, `["*.created"]`, `["a.*.b"]`, `["a..b"]`, `["a."]`, `[".a"]`, `["a*"]`, `["` + strings.Repeat("a", 129) + `"]`, `["*",1]`} {
		b.refused(422, "validation_failed", "POST", "/endpoints", b.live[0], `{"url":"https://example.com/h","event_types":`+types+`}`)
	}
	for _, fields := range []string{`"rate_per_minute":0`, `"rate_per_minute":1000001`, `"rate_per_minute":1.5`, `"enabled":"yes"`, `"id":"x"`, `"disabled_reason":"x"`, `"secret":"short"`} {
		b.refused(422, "validation_failed", "POST", "/endpoints", b.live[0], create(fields))
	}
	for _, address := range []string{"http://127.0.0.1/", "http://169.254.169.254/latest", "https://10.0.0.1/", "ftp://example.com/", "https://u:p@example.com/", "//example.com", "https://127.1/", "http://[::1]/"} {
		b.refused(422, "url_not_allowed", "POST", "/endpoints", b.live[0], `{"url":"`+address+`","event_types":["*"]}`)
	}
	require.Len(t, items(b.ok(200, "GET", "/endpoints?tenant_id="+b.tenant[0].String()+"&environment=test", b.admin, "")), 2)
	require.Len(t, items(b.ok(200, "GET", "/endpoints?product=shop", b.admin, "")), 3)
	require.Empty(t, items(b.ok(200, "GET", "/endpoints?product=other", b.admin, "")))
	require.Len(t, items(b.ok(200, "GET", "/endpoints", b.test[0], "")), 2)
}

// Only null and {} are no client certificate. Half of one, or an empty one, is refused where
// it stands: it would leave a receiver without mTLS.
func TestClientCertificateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	chain, key := hubtest.NewAuthority(t).Issue("hub", time.Now().Add(time.Hour))
	certificate, err := json.Marshal(map[string]string{"certificate": chain, "key": key})
	require.NoError(t, err)
	with := func(value string) string {
		return `{"url":"https://example.com/hook","event_types":["*"],"client_certificate":` + value + `}`
	}
	id := b.endpoint(b.live[0], with(string(certificate)))["id"].(string)
	for _, value := range []string{
		`{"certificate":""}`, `{"key":""}`, `{"certificate":"","key":""}`, `{"certificate":null,"key":null}`, `{"certificate":1,"key":2}`,
		`{"certificate":` + quoted(chain) + `}`, `{"certificate":` + quoted(chain) + `,"key":""}`, `{"key":` + quoted(key) + `}`,
		`{"certificates":""}`, strings.TrimSuffix(string(certificate), "}") + `,"chain":""}`, `""`, `[]`,
	} {
		for _, request := range []string{"POST /endpoints", "PUT /endpoints/" + id} {
			method, path, _ := strings.Cut(request, " ")
			got := b.call(method, path, b.live[0], with(value))
			require.Equal(t, 422, got.status, "%s %s: %s", method, value, got.text)
			require.Contains(t, got.text, `"location":"body.client_certificate`, "%s %s", method, value)
		}
	}
	require.NotNil(t, b.ok(200, "GET", "/endpoints/"+id, b.live[0], "")["client_certificate"])
	require.Len(t, items(b.ok(200, "GET", "/endpoints", b.live[0], "")), 1)
	for _, none := range []string{`null`, `{}`} {
		b.ok(200, "PUT", "/endpoints/"+id, b.live[0], with(string(certificate)))
		require.Nil(t, b.ok(200, "PUT", "/endpoints/"+id, b.live[0], with(none))["client_certificate"], none)
	}
}

func quoted(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// What something depends on is not deleted, and the answer says what it is.
func TestDeletionsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	ctx := context.Background()
	_, err := registry.New(b.db).CreateProduct(ctx, registry.Product{Name: "clinic", Prefix: "cli", Title: "Clinic", Hosted: true})
	require.NoError(t, err)
	hosted, connected := uuid.New(), uuid.New()
	exec := func(sql string, args ...any) {
		_, err := b.db.Exec(ctx, sql, args...)
		require.NoError(t, err)
	}
	exec(`insert into hub.tenants (id, product, name) values ($1, 'clinic', 'Hosted'), ($2, 'shop', 'Connected')`, hosted, connected)
	exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values
		(gen_random_uuid(), $1, 'live', 'crm', 'active', ''), (gen_random_uuid(), $2, 'live', 'clinic', 'inactive', '')`, hosted, connected)
	b.ok(201, "POST", "/products", b.admin, `{"name":"crm","prefix":"crm"}`)
	b.endpoint(b.live[0], bodies["endpoints.update"])
	before := b.owned()

	b.refused(403, "admin_only", "DELETE", "/tenants/"+b.tenant[0].String(), b.support, "")
	b.refused(422, "product_hosted", "DELETE", "/tenants/"+hosted.String(), b.admin, "")
	b.refused(409, "tenant_connected", "DELETE", "/tenants/"+connected.String(), b.admin, "")
	b.refused(422, "product_hosted", "DELETE", "/products/clinic", b.admin, "")
	b.refused(404, "not_found", "DELETE", "/products/nothing", b.admin, "")
	require.Contains(t, b.refused(409, "product_has_tenants", "DELETE", "/products/shop", b.admin, "").text, "3")
	require.Contains(t, b.refused(409, "product_connected", "DELETE", "/products/crm", b.admin, "").text, "1 integrations")
	require.Equal(t, before, b.owned())

	exec(`update hub.integrations set revoked_at = now() where product = 'crm'`)
	require.Equal(t, "crm", b.ok(200, "DELETE", "/products/crm", b.admin, "")["name"])
	deleted := b.ok(200, "DELETE", "/tenants/"+b.tenant[0].String(), b.admin, "")
	require.EqualValues(t, 2, deleted["keys"])
	require.EqualValues(t, 1, deleted["endpoints"])
	b.refused(401, "invalid_key", "GET", "/endpoints", b.live[0], "")
	b.refused(404, "tenant_not_found", "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`"}`)
}
