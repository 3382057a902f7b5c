package productapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// Two hubs, each with its own database and master key of its own data, find each
// other over HTTP.
func TestTwoHubs(t *testing.T) {
	t.Parallel()
	here, there := start(t, nil), start(t, nil)
	a, b := here.signUp("notes"), there.signUp("board")

	key := b.issue()
	got := a.do(200, "POST", "/connect", connectBody("board", key, b.base+"/api/v1"))
	require.Equal(t, "board", got.body["product"])
	require.Equal(t, "active", got.body["status"], got.text)
	require.Equal(t, []any{"note.search", "note.write"}, got.body["features"])
	require.Equal(t, a.id, got.body["owner_id"], "the tenant in the product's words")
	require.Equal(t, "…"+key[len(key)-4:], got.body["api_key_remote"])
	require.NotContains(t, got.text, key)
	require.NotContains(t, got.text, "whsec_")

	mine, theirs := a.do(200, "GET", "/", "").list, b.do(200, "GET", "", "").list
	require.Len(t, mine, 1)
	require.Len(t, theirs, 1)
	require.Equal(t, got.body["id"], mine[0]["id"])
	require.Equal(t, "notes", theirs[0]["product"])
	require.Equal(t, "active", theirs[0]["status"])
	require.Equal(t, a.base+"/api/v1", theirs[0]["api_url"])
	require.Equal(t, mine[0]["webhook_secret"], theirs[0]["webhook_secret"], "one secret")
	require.Equal(t, mine[0]["api_key_local"], theirs[0]["api_key_remote"])
	require.Equal(t, mine[0]["api_key_remote"], theirs[0]["api_key_local"])

	// The other side connects too: it ends in the same state, with the same rows.
	back := b.do(200, "POST", "/connect", connectBody("notes", a.issue(), a.base)) // the base without /api/v1
	require.Equal(t, theirs[0]["id"], back.body["id"])
	require.Equal(t, a.base+"/api/v1", back.body["api_url"])
	again, other := a.do(200, "GET", "/"+mine[0]["id"].(string), ""), b.do(200, "GET", "/"+theirs[0]["id"].(string), "")
	require.Equal(t, again.body["webhook_secret"], other.body["webhook_secret"])
	for _, entry := range []*tenant{a, b} {
		id := entry.do(200, "GET", "/", "").list[0]["id"].(string)
		tested := entry.do(200, "POST", "/"+id+"/test", "")
		require.Equal(t, true, tested.body["ok"], tested.text)
		require.Equal(t, "1.2.3", tested.body["version"])
	}

	// The end on one side is seen on the other.
	ended := a.do(200, "DELETE", "/"+mine[0]["id"].(string), "")
	require.Equal(t, "inactive", ended.body["status"])
	require.NotEmpty(t, ended.body["revoked_at"])
	require.Equal(t, ended.text, a.do(200, "DELETE", "/"+mine[0]["id"].(string), "").text)
	require.Equal(t, "inactive", b.do(200, "GET", "/"+theirs[0]["id"].(string), "").body["status"])

	// Connecting again revives the same two.
	revived := a.do(200, "POST", "/connect", connectBody("board", b.issue(), b.base+"/api/v1"))
	require.Equal(t, mine[0]["id"], revived.body["id"])
	require.Equal(t, "active", revived.body["status"])
	require.Equal(t, "active", b.do(200, "GET", "/"+theirs[0]["id"].(string), "").body["status"])
}

// Both administrators connect at once, again and again: always one row on each side,
// and one secret.
func TestBothConnectAtOnce(t *testing.T) {
	t.Parallel()
	here, there := start(t, nil), start(t, nil)
	for range 5 {
		a, b := here.signUp("notes"), there.signUp("board")
		forA, forB := b.issue(), a.issue()
		var both sync.WaitGroup
		connect := func(o *tenant, body string) {
			both.Go(func() {
				got, err := try("POST", o.integrations()+"/connect", body, bearer(o.admin)...)
				if err != nil || got.status != 200 {
					t.Errorf("connect: %v %d %s", err, got.status, got.text)
				}
			})
		}
		connect(a, connectBody("board", forA, b.base+"/api/v1"))
		connect(b, connectBody("notes", forB, a.base+"/api/v1"))
		both.Wait()
		mine, theirs := a.do(200, "GET", "/", "").list, b.do(200, "GET", "/", "").list
		require.Len(t, mine, 1)
		require.Len(t, theirs, 1)
		require.Equal(t, "active", mine[0]["status"])
		require.Equal(t, "active", theirs[0]["status"])
		require.Equal(t, mine[0]["webhook_secret"], theirs[0]["webhook_secret"])
	}
}

// The calls of docs/interfaces/clinic.md ("Connect and status"), with their shapes.
func TestKeysAndStatus(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	o := n.signUp("notes")
	made := o.do(200, "POST", "/api-keys", "").body
	require.Regexp(t, `^not_live_[0-9A-Za-z]{36}$`, made["api_key"])
	require.NotEmpty(t, made["created_at"])
	key := made["api_key"].(string)
	status := call(t, "GET", o.integrations()+"/status", "", withKey(key)...)
	require.Equal(t, 200, status.status)
	require.Equal(t, map[string]any{
		"product": "notes", "version": "1.2.3", "owner_id": o.id, "owner_name": "Some Owner", "tenant_id": o.id, "tenant_name": "Some Owner",
		"environment": "live", "features": []any{"note.search", "note.write"}, "status": "active",
	}, status.body)
	require.Equal(t, map[string]any{"integrations": []any{}}, call(t, "GET", o.integrations()+"/status", "", bearer(o.staff)...).body)
	refused(t, 401, "unauthorized", call(t, "GET", o.integrations()+"/status", ""))
	require.Equal(t, 200, call(t, "GET", o.integrations()+"/status/", "", withKey(key)...).status)

	test := o.do(200, "POST", "/api-keys", `{"name":"sandbox","environment":"test","scopes":["note.search"]}`).body
	require.Regexp(t, `^not_test_`, test["api_key"])
	require.Equal(t, []any{"note.search"}, test["scopes"])
	require.Regexp(t, `^not_test_`, o.issue("X-Environment", "test"))
	o.do(422, "POST", "/api-keys", "", "X-Environment", "sandbox")
	o.do(422, "POST", "/api-keys", `{"scopes":["patient.search"]}`)

	items := func(headers ...string) []any {
		return o.do(200, "GET", "/api-keys", "", headers...).body["items"].([]any)
	}
	require.Len(t, items(), 1)
	require.Len(t, items("X-Environment", "test"), 2)
	require.NotContains(t, o.do(200, "GET", "/api-keys", "").text, key)

	rotated := o.do(201, "POST", "/api-keys/"+made["id"].(string)+"/rotate", `{"overlap_seconds":0}`).body
	withinASecond(t, 401, func() int { return call(t, "GET", o.integrations()+"/status", "", withKey(key)...).status })
	require.Equal(t, 200, call(t, "GET", o.integrations()+"/status", "", withKey(rotated["api_key"].(string))...).status)
	o.do(204, "DELETE", "/api-keys/"+rotated["id"].(string), "")
	withinASecond(t, 401, func() int {
		return call(t, "GET", o.integrations()+"/status", "", withKey(rotated["api_key"].(string))...).status
	})

	// Another tenant's ids do not exist, and neither do those of test data.
	other := n.signUp("notes")
	other.do(404, "DELETE", "/api-keys/"+made["id"].(string), "")
	other.do(404, "POST", "/api-keys/"+made["id"].(string)+"/rotate", "")
	o.do(404, "DELETE", "/api-keys/"+test["id"].(string), "")
	for _, path := range []string{"/api-keys", "/"} {
		require.Equal(t, 403, call(t, "GET", o.integrations()+path, "", bearer(o.staff)...).status)
		require.Equal(t, 401, call(t, "GET", o.integrations()+path, "", withKey(o.issue())...).status, "no key may administer")
	}
	require.Equal(t, 405, call(t, "PUT", o.integrations()+"/status", "", bearer(o.admin)...).status)
}

// Searches and actions are for keys with their scope.
func TestSearchAndAction(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	require.Equal(t, 200, call(t, "POST", l.integrations()+"/action/write", `{"author":"","text":"written"}`, withKey(l.key)...).status)
	found := call(t, "GET", l.integrations()+"/search/notes", "", withKey(l.key)...)
	require.Equal(t, "board", found.body["peer"], found.text)
	require.Equal(t, []any{map[string]any{"author": "board", "text": "written"}}, found.body["notes"])
	refused(t, 401, "invalid_key", call(t, "GET", l.integrations()+"/search/notes", ""))
	refused(t, 401, "invalid_key", call(t, "GET", l.integrations()+"/search/notes", "", bearer(l.admin)...))
	narrow := l.do(200, "POST", "/api-keys", `{"scopes":["note.search"]}`).body["api_key"].(string)
	require.Equal(t, 200, call(t, "GET", l.integrations()+"/search/notes", "", withKey(narrow)...).status)
	refused(t, 403, "missing_scope", call(t, "POST", l.integrations()+"/action/write", `{"author":"","text":"x"}`, withKey(narrow)...))
	require.Equal(t, 400, call(t, "POST", l.integrations()+"/action/write", `{"author":"","author":"","text":"x"}`, withKey(l.key)...).status)

	// A peer does not act for the tenant at the hub.
	refused(t, 403, "missing_scope", call(t, "POST", n.url+"/api/v1/events", `{"event_type":"a.b","data":{}}`, withKey(l.key)...))
	refused(t, 403, "missing_scope", call(t, "GET", n.url+"/api/v1/endpoints", "", withKey(l.key)...))
	for _, entry := range n.ok(200, "GET", "/api/v1/keys?limit=200", "").body["items"].([]any) {
		require.NotContains(t, entry.(map[string]any)["scopes"], "events.publish", "keys that a handshake made included")
	}

	// What is switched off answers nobody.
	n.ok(200, "POST", "/api/v1/integrations/"+l.integration+"/disable", "")
	withinASecond(t, 403, func() int { return call(t, "GET", l.integrations()+"/search/notes", "", withKey(l.key)...).status })
	refused(t, 403, "integration_inactive", l.send(envelope(newID(), "board", "note.created", "x")))
	require.Equal(t, 200, call(t, "GET", l.integrations()+"/status", "", withKey(l.key)...).status)
	n.ok(200, "POST", "/api/v1/integrations/"+l.integration+"/enable", "")
	require.Equal(t, 200, call(t, "GET", l.integrations()+"/search/notes", "", withKey(l.key)...).status)
}

// Live and test data never mix.
func TestTestData(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	owner, peer := n.signUp("notes"), n.signUp("board")
	sandbox := connectTenants(owner, peer, "notes", "X-Environment", "test")
	require.Empty(t, owner.do(200, "GET", "/", "").list, "nothing of it is live")
	owner.do(404, "GET", "/"+sandbox.integration, "")
	require.Equal(t, 200, sandbox.send(envelope(newID(), "board", "note.created", "play")).status)
	require.Empty(t, owner.notes())
	require.Equal(t, []string{"play"}, owner.notes("X-Environment", "test"))
	status := call(t, "GET", owner.integrations()+"/status", "", withKey(sandbox.key)...)
	require.Equal(t, "test", status.body["environment"])
	refused(t, 422, "environment_mismatch", peer.do(422, "POST", "/connect", connectBody("notes", owner.issue(), owner.base), "X-Environment", "test"))
	refused(t, 422, "environment_mismatch", peer.do(422, "POST", "/connect", connectBody("notes", owner.issue("X-Environment", "test"), owner.base)))
}

// 100 a minute per key, and the same for an integration with several keys.
func TestKeysAreLimitedTo100AMinute(t *testing.T) {
	t.Parallel()
	n := start(t, func(cfg *config.Config) { cfg.KeyRate = "100-M" })
	l := pair(n)
	second := l.do(201, "POST", "/api-keys/"+keyID(l.tenant, l.key)+"/rotate", "").body["api_key"].(string)
	allowed := 0
	var last answer
	for { // pairing took some
		key := l.key
		if allowed%2 == 0 {
			key = second
		}
		if last = call(t, "GET", l.integrations()+"/search/notes", "", withKey(key)...); last.status != 200 {
			break
		}
		allowed++
		require.LessOrEqual(t, allowed, 100+n.uncounted(), "either key alone had 100 to itself")
	}
	require.GreaterOrEqual(t, allowed, 95)
	refused(t, 429, "rate_limited", last)
	require.NotEmpty(t, last.header.Get("Retry-After"))
	body := envelope(newID(), "board", "note.created", "x")
	got := l.send(body)
	refused(t, 429, "rate_limited", got)
	require.Equal(t, 200, l.do(200, "GET", "/", "").status, "administrators are not counted")
}

// Connecting in the form of docs/interfaces/scheduling.md ends in the same state.
func TestConnectInTheSchedulingForm(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	a, b := n.signUp("notes"), n.signUp("board")
	local, remote := a.issue(), b.issue()
	body, err := json.Marshal(map[string]any{
		"product": "board", "api_key_local": local, "api_key_remote": remote, "api_url": b.base + "/api/v1",
		"webhook_url": a.base + "/api/v1/integrations/webhook", "features": []string{"reminders"},
	})
	require.NoError(t, err)
	got := a.do(200, "POST", "/connect", string(body))
	require.Equal(t, "active", got.body["status"], got.text)
	require.Equal(t, []any{"reminders"}, got.body["enabled"])
	require.Equal(t, "…"+local[len(local)-4:], got.body["api_key_local"])
	theirs := b.do(200, "GET", "/", "").list
	require.Equal(t, "…"+local[len(local)-4:], theirs[0]["api_key_remote"])
	require.Equal(t, got.body["webhook_secret"], theirs[0]["webhook_secret"])
	a.do(422, "POST", "/connect", `{"product":"board","api_url":"`+b.base+`"}`)
	a.do(422, "POST", "/connect", `{"product":"board","api_key":"x","api_key_remote":"y","api_url":"`+b.base+`"}`)
}

// Operators see all tenants' integrations; support may only look.
func TestOperators(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	a, b := n.signUp("notes"), n.signUp("board")
	key := b.issue()
	made := n.ok(200, "POST", "/api/v1/integrations/connect",
		`{"tenant_id":"`+a.id+`","product":"board","api_key":"`+key+`","api_url":"`+b.base+`/api/v1","features":["reminders"]}`).body
	id := made["id"].(string)
	require.Equal(t, "active", made["status"])
	require.Equal(t, "notes", made["own_product"])
	require.Len(t, n.ok(200, "GET", "/api/v1/integrations", "").body["items"], 2)
	require.Len(t, n.ok(200, "GET", "/api/v1/integrations?tenant_id="+a.id+"&status=active&product=board&environment=live", "").body["items"], 1)
	require.Empty(t, n.ok(200, "GET", "/api/v1/integrations?environment=test", "").body["items"])
	page := n.ok(200, "GET", "/api/v1/integrations?limit=1", "").body
	require.Len(t, n.ok(200, "GET", "/api/v1/integrations?limit=1&cursor="+page["next_cursor"].(string), "").body["items"], 1)
	require.Equal(t, true, n.ok(200, "POST", "/api/v1/integrations/"+id+"/test", "").body["ok"])
	secret := n.ok(200, "POST", "/api/v1/integrations/"+id+"/rotate-secret", `{"overlap_seconds":60}`).body["secret"].(string)
	shown := n.ok(200, "GET", "/api/v1/integrations/"+id, "")
	require.NotContains(t, shown.text, secret)
	require.NotContains(t, shown.text, key)

	n.ok(201, "POST", "/api/v1/operators", `{"email":"s@example.com","name":"S","role":"support","password":"a long password"}`)
	login := call(t, "POST", n.url+"/api/v1/auth/login", `{"email":"s@example.com","password":"a long password"}`)
	support := bearer(login.body["access_token"].(string))
	require.Equal(t, 200, call(t, "GET", n.url+"/api/v1/integrations/"+id, "", support...).status)
	for _, path := range []string{"/connect", "/link", "/" + id + "/test", "/" + id + "/rotate-secret", "/" + id + "/enable", "/" + id + "/disable"} {
		require.Equal(t, 403, call(t, "POST", n.url+"/api/v1/integrations"+path, `{}`, support...).status, path)
	}
	require.Equal(t, 403, call(t, "DELETE", n.url+"/api/v1/integrations/"+id, "", support...).status)
	refused(t, 401, "unauthorized", call(t, "GET", n.url+"/api/v1/integrations", "", withKey(key)...))

	require.Equal(t, "inactive", n.ok(200, "DELETE", "/api/v1/integrations/"+id, "").body["status"])
	n.ok(409, "POST", "/api/v1/integrations/"+id+"/enable", "")
	n.ok(404, "GET", "/api/v1/integrations/"+a.id, "")
	n.ok(422, "POST", "/api/v1/integrations/link", `{"tenant_id":"`+a.id+`","peer_tenant_id":"`+a.id+`"}`)
	n.ok(404, "POST", "/api/v1/integrations/link", `{"tenant_id":"`+a.id+`","peer_tenant_id":"019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11"}`)
	var left int
	require.NoError(t, n.db.QueryRow(context.Background(), `select count(*) from hub.keys where tenant_id = $1 and revoked_at is null and integration_id is null`, a.id).Scan(&left))
	require.Zero(t, left, "a key made for a link that failed is revoked")
	actions := fmt.Sprint(n.ok(200, "GET", "/api/v1/audit?limit=200&resource=integrations", "").body["items"])
	for _, action := range []string{"integrations.connect", "integrations.test", "integrations.rotate-secret", "integrations.revoke"} {
		require.Contains(t, actions, action)
	}
}
