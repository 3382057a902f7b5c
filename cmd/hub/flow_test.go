package main_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMainJob is the README's way from nothing to a delivered, verified webhook.
func TestMainJob(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)

	require.Equal(t, "crm", c.run("products", "create", "crm", "--prefix", "crm", "-q").ok())
	tenant := c.run("tenants", "create", "Acme", "--product", "crm", "-q").ok()
	require.Len(t, tenant, 36)
	key := c.run("keys", "create", "--tenant", "Acme", "-q").ok()
	require.True(t, strings.HasPrefix(key, "crm_live_"), key)
	c = c.with("HUB_KEY", key)

	listen := c.start("listen", "--tenant", "acme", "--count", "1", "--timeout", "30s", "--body")
	listen.await(listen.errs, "listening on http://127.0.0.1:")
	event := c.run("publish", "--type", "contact.created", "--data", `{"name":"Ana <&>"}`).ok()
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, event)
	require.Zero(t, listen.end(), listen.errs.String())
	require.Regexp(t, event+`  contact\.created  crm  attempt 1  \d+ B  signature ok \(X-Webhook-Signature ok, webhook-signature ok\)  answered 200`, listen.out.String())
	require.Contains(t, listen.out.String(), `"name": "Ana <&>"`)
	require.Zero(t, s.count("endpoints"), "the temporary endpoint is removed")
	require.Contains(t, s.last("/api/v1/events").body, `"name":"Ana <&>"`, "data goes out as it was given")
	require.Empty(t, s.last("/api/v1/events").header.Get("Authorization"))

	require.Eventually(t, func() bool {
		return strings.Contains(c.run("deliveries", "list", "--tenant", "Acme").ok(), "delivered")
	}, 10*time.Second, 50*time.Millisecond)
	shown := c.run("deliveries", "show", "--event", event).ok()
	require.Contains(t, shown, "delivered after 1 attempt")
	require.Contains(t, shown, "phases      queue 0.4 ms | dns 0.0 ms | connect 0.2 ms | tls 0.0 ms | first byte 1.5 ms | total 2.2 ms")
	require.NotContains(t, shown, "X-Webhook-Signature")
	require.Contains(t, c.run("deliveries", "show", "--event", event, "--headers").ok(), "X-Webhook-Signature: sha256=")
}

func TestDemo(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	first := c.run("demo").ok()
	for _, text := range []string{
		"1. A product", "$ hub products create demo --prefix demo", "attempt 1  signature ok", "answered 500",
		"attempt 2  signature ok", "delivered after 2 attempts", "4 delivered and verified",
	} {
		require.Contains(t, first, text)
	}
	require.Zero(t, s.count("endpoints"))
	require.Zero(t, s.count("keys"))

	require.Contains(t, c.run("demo").ok(), "It is there already.")
	require.Equal(t, 1, s.count("products"))
	require.Equal(t, 1, s.count("tenants"))

	var log struct {
		Items []struct {
			Attempts []json.RawMessage `json:"attempts"`
		} `json:"items"`
	}
	c.run("demo", "-o", "json").into(&log)
	require.Len(t, log.Items, 4)
	require.Len(t, log.Items[3].Attempts, 2)
}

// TestDemoLeftovers: what a killed demo left behind goes, what may be running stays.
func TestDemoLeftovers(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.put("tenants", object{"id": "5f0e1d3c-0000-7000-8000-000000000001", "product": "demo", "name": "Demo Bakery"})
	for id, age := range map[string]time.Duration{"old": time.Hour, "young": time.Minute} {
		at := time.Now().Add(-age).UTC().Format(time.RFC3339)
		s.put("keys", object{"id": "key-" + id, "tenant_id": "5f0e1d3c-0000-7000-8000-000000000001", "name": "hub demo", "created_at": at})
		s.put("endpoints", object{"id": "end-" + id, "tenant_id": "5f0e1d3c-0000-7000-8000-000000000001", "description": "hub demo",
			"created_at": at, "url": "http://127.0.0.1:1/", "event_types": []any{"none"}})
	}
	s.operator(t).run("demo").ok()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Nil(t, s.find("keys", "id", "key-old"))
	require.Nil(t, s.find("endpoints", "id", "end-old"))
	require.NotNil(t, s.find("keys", "id", "key-young"))
	require.NotNil(t, s.find("endpoints", "id", "end-young"))
}

func TestKeysAndEndpoints(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	c.run("tenants", "create", "Acme", "--product", "crm", "--external-ref", "4711").ok()

	var key struct {
		ID        string    `json:"id"`
		APIKey    string    `json:"api_key"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	c.run("keys", "create", "--tenant", "4711", "--scope", "events.publish", "--expires", "90d", "-o", "json").into(&key)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), key.ExpiresAt, time.Minute)
	made := c.run("keys", "create", "--tenant", "4711")
	require.Contains(t, made.ok(), "api_key      crm_live_")
	require.Contains(t, made.err, "shown this once")
	list := c.run("keys", "list").ok()
	require.Contains(t, list, "crm_live_…0000")
	require.NotContains(t, list, key.APIKey)
	require.Contains(t, c.run("keys", "rotate", key.ID, "--overlap", "7d").ok(), "crm_live_")
	require.JSONEq(t, `{"overlap_seconds":604800}`, s.last("/api/v1/keys/"+key.ID+"/rotate").body)
	c.run("keys", "revoke", key.ID).ok()
	c.run("keys", "revoke", key.ID).fails(5, "There is nothing here. (not_found, request req-1)")
	other := c.run("keys", "list", "-q", "--limit", "1").ok()
	c.run("keys", "revoke", key.ID, other).fails(6, "1 of 2 failed", key.ID)

	secret := c.run("endpoints", "create", "https://example.com/hook", "--tenant", "Acme", "--events", "contact.*,ticket.*", "-q").ok()
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	id := c.run("endpoints", "list", "-q").ok()
	require.Contains(t, c.run("endpoints", "update", id, "--enabled=false", "--rate-per-minute", "50").ok(), "50 a minute")
	shown := c.run("endpoints", "show", id).ok()
	require.Contains(t, shown, "disabled")
	require.Contains(t, shown, "contact.*,ticket.*", "what is not given stays")
	require.NotEqual(t, secret, c.run("endpoints", "rotate-secret", id, "--overlap", "1h", "-q").ok())
	require.JSONEq(t, `{"overlap_seconds":3600}`, s.last("/api/v1/endpoints/"+id+"/rotate-secret").body)
	ping := c.run("endpoints", "ping", id)
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, ping.ok())
	require.Contains(t, ping.err, "on its way")

	// A tenant manages its own with its key; the operator's right is not needed.
	tenant := newCLI(t).with("HUB_URL", s.URL).with("HUB_KEY", c.run("keys", "create", "--tenant", "Acme", "-q").ok())
	tenant.run("endpoints", "create", "https://example.com/two").ok()
	require.Contains(t, tenant.run("endpoints", "list").ok(), "https://example.com/two")
	tenant.run("endpoints", "delete", id).ok()
}

func TestTenantNames(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	s.put("tenants", object{"id": "t-1", "product": "crm", "name": "Acme"})
	s.put("tenants", object{"id": "t-2", "product": "erp", "name": "Acme"})
	s.put("tenants", object{"id": "t-3", "product": "erp", "name": "Acme Two"})
	c.run("keys", "list", "--tenant", "Acme").fails(2, `several tenants are called "Acme"`, "t-1  crm", "t-2  erp")
	c.run("keys", "list", "--tenant", "Nobody").fails(5, "no tenant has the name", "hub tenants list")
	c.run("keys", "create", "--tenant", "acme", "--product", "erp").ok()
	require.Contains(t, s.last("/api/v1/keys").body, `"tenant_id":"t-2"`)
	c.run("keys", "list", "--tenant", "0198aaaa-0000-7000-8000-000000000000").ok()
	require.Equal(t, "limit=50&tenant_id=0198aaaa-0000-7000-8000-000000000000", s.last("/api/v1/keys").query)
}

func TestPublish(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.put("keys", object{"id": "k", "api_key": "crm_live_x", "tenant_id": "t"})
	c := newCLI(t).with("HUB_URL", s.URL)
	c.run("publish", "--type", "a.b").fails(4, "publishing needs a tenant's key", "HUB_KEY")
	c.with("HUB_KEY", "wrong").run("publish", "--type", "a.b").fails(4, "Valid credentials are needed. (unauthorized, request req-1)", "check HUB_KEY")

	c.write("key", "crm_live_x\n")
	c.write("data.json", `{"n":12345678901234567890}`)
	c.run("publish", "--key", "@key", "--type", "a.b", "--data", "@data.json", "--correlation-id", "c-1", "--idempotency-key", "once").ok()
	sent := s.last("/api/v1/events")
	require.Equal(t, `{"event_type":"a.b","data":{"n":12345678901234567890},"correlation_id":"c-1"}`, sent.body)
	require.Equal(t, "once", sent.header.Get("Idempotency-Key"))
	require.Equal(t, "crm_live_x", sent.header.Get("X-Integration-Key"))

	c = c.with("HUB_KEY", "crm_live_x")
	out := c.runIn(`{"x":1}`, "publish", "--type", "a.b", "--data", "-", "--id", "evt_0123456789abcdef")
	require.Equal(t, "evt_0123456789abcdef", out.ok())
	require.Contains(t, out.err, "nobody is subscribed")
	c.run("publish", "--type", "a.b", "--data", `{"x":`).fails(2, "--data is not JSON: unexpected end of JSON input at character 5")
	c.run("publish", "--data", "{}").fails(2, "--type is needed")
	c.run("publish", "--batch", "x", "--type", "a").fails(2, "none of the others can be")
	c.run("publish", "--batch", "nowhere").fails(2, "no such file")
}

func TestPublishBatch(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.put("keys", object{"id": "k", "api_key": "crm_live_x", "tenant_id": "t"})
	c := newCLI(t).with("HUB_URL", s.URL).with("HUB_KEY", "crm_live_x")
	line := `{"event_type":"a.b","data":{"x":"<&>"}}` + "\n"

	ids := c.runIn(strings.Repeat(line, 501)+"\n", "publish", "--batch", "-").ok()
	require.Len(t, strings.Split(ids, "\n"), 501)
	require.Equal(t, 501, s.count("events"))
	require.Equal(t, `{"events":[`+strings.TrimSpace(line)+`]}`, s.last("/api/v1/events/batch").body)

	// Calls stay below the hub's 1 MiB.
	big := `{"event_type":"a.b","data":"` + strings.Repeat("x", 300_000) + `"}` + "\n"
	c.runIn(strings.Repeat(big, 7), "publish", "--batch", "-").ok()
	require.Equal(t, 508, s.count("events"))

	bad := strings.Repeat(line, 500) + "\n" + `{"event_type":"poison"}` + "\n"
	partly := c.runIn(bad, "publish", "--batch", "-", "-q")
	require.Equal(t, 6, partly.code)
	require.Len(t, strings.Split(strings.TrimSpace(partly.out), "\n"), 500)
	require.Contains(t, partly.err, "publishing lines 502 to 502")
	require.Contains(t, partly.err, "500 events up to line 501 are stored; go on with: tail -n +502 FILE")
	c.runIn(`{"event_type":"poison"}`, "publish", "--batch", "-").fails(1, "is not allowed")
	c.runIn(line+"nonsense", "publish", "--batch", "-").fails(2, "line 2 is not a JSON object")
	c.runIn("\n\n", "publish", "--batch", "-").fails(2, "there are no events")
	require.Equal(t, 1008, s.count("events"))
}
