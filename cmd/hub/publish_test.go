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
	c := newCLI(t).withEnv("HUB_DATA_DIR", sharedHub(t).dataDir)

	require.Equal(t, "crm", c.run("products", "create", "crm", "--prefix", "crm", "-q").requireOK())
	require.Len(t, c.run("tenants", "create", "Acme", "--product", "crm", "-q").requireOK(), 36)
	listen := c.start("listen", "--tenant", "acme", "--count", "1", "--timeout", "60s", "--body")
	listen.await(listen.stderr, "listening on http://127.0.0.1:")

	key := c.run("keys", "create", "--tenant", "Acme", "-q").requireOK()
	require.Regexp(t, `^crm_live_[0-9A-Za-z]{20,}$`, key)
	c = c.withEnv("HUB_KEY", key)
	event := c.run("publish", "--type", "contact.created", "--data", `{"name":"Ana <&>"}`).requireOK()
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, event)

	require.Zero(t, listen.wait(), listen.stderr.String())
	require.Regexp(t, event+`  contact\.created  crm  attempt 1  \d+ B  signature ok \(X-Webhook-Signature ok, webhook-signature ok\)  responded 200`, listen.stdout.String())
	require.Contains(t, listen.stdout.String(), `"name": "Ana <&>"`)
	require.Empty(t, c.run("endpoints", "list", "--tenant", "Acme", "-q").requireOK(), "the temporary endpoint is removed")

	var shown string
	require.Eventually(t, func() bool {
		shown = c.run("deliveries", "show", "--event", event).requireOK()
		return strings.Contains(shown, "delivered after 1 attempt")
	}, waitTimeout, 50*time.Millisecond)
	require.Regexp(t, `(?m)^attempt 1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z  200$`, shown)
	require.Regexp(t, `phases      queue [\d.]+ ms \| dns [\d.]+ ms \| connect [\d.]+ ms \| tls 0\.0 ms \| first byte [\d.]+ ms \| total [\d.]+ ms`, shown)
	require.NotContains(t, shown, "X-Webhook-Signature")
	require.Regexp(t, `X-Webhook-Signature: sha256=[0-9a-f]{8}`, c.run("deliveries", "show", "--event", event, "--headers").requireOK())
	require.Regexp(t, `(?m)^\S+ \S+  \S+  `+event+`  contact\.created  crm      Acme    outbound   http://127\.0\.0\.1:\S+ +delivered  -       200          1`, c.run("deliveries", "list", "--tenant", "Acme").requireOK())
	require.Contains(t, c.run("events", "show", event).requireOK(), `"data":{"name":"Ana <&>"}`, "data is kept as it was given")
}

func TestPublish(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	key := p.run("keys", "create", "--tenant", p.tenant, "--rate", "0", "-q").requireOK()
	c := newCLI(t).withEnv("HUB_URL", p.hub.url)
	c.run("publish", "--type", "a.b").requireFails(4, "publishing needs a tenant's key", "HUB_KEY")
	c.withEnv("HUB_KEY", "wrong").run("publish", "--type", "a.b").requireFails(4, "(invalid_key, request ", "check HUB_KEY")

	c.writeFile("key", key+"\n")
	c.writeFile("data.json", `{"n":12345678901234567890}`)
	args := []string{"publish", "--key", "@key", "--type", "a.b", "--data", "@data.json", "--correlation-id", "c-1", "--idempotency-key", "once"}
	event := c.run(args...).requireOK()
	require.Equal(t, event, c.run(args...).requireOK(), "publishing again is safe")
	var stored struct {
		Type          string          `json:"event_type"`
		CorrelationID string          `json:"correlation_id"`
		Payload       json.RawMessage `json:"payload"`
	}
	p.run("events", "show", event, "-o", "json").decode(&stored)
	require.Equal(t, "a.b", stored.Type)
	require.Equal(t, "c-1", stored.CorrelationID)
	require.Contains(t, string(stored.Payload), "12345678901234567890", "data is kept as it was given")
	c.run("publish", "--key", "@key", "--type", "a.c", "--idempotency-key", "once").requireFails(1, "(idempotency_")

	c = c.withEnv("HUB_KEY", key)
	out := c.runIn(`{"x":1}`, "publish", "--type", "a.b", "--data", "-", "--id", "evt_0123456789abcdef")
	require.Equal(t, "evt_0123456789abcdef", out.requireOK())
	require.Contains(t, out.stderr, "nobody is subscribed")
	c.run("publish", "--type", "a.b", "--data", `[1]`).requireFails(1, "body.data must be a JSON object")
	c.run("publish", "--type", "a.b", "--data", `{"x":`).requireFails(2, "--data is not JSON: unexpected end of JSON input at character 5")
	c.run("publish", "--data", "{}").requireFails(2, "--type is needed")
	c.run("publish", "--batch", "x", "--type", "a").requireFails(2, "none of the others can be")
	c.run("publish", "--batch", "nowhere").requireFails(2, "no such file")
}

func TestPublishBatch(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	line := `{"event_type":"a.b","data":{"x":"<&>"}}` + "\n"
	stored := func() (n int) {
		p.hub.queryRow(t, []any{&n}, `select count(*) from hub.events where tenant_id = $1`, p.tenantID)
		return n
	}

	ids := p.runIn(strings.Repeat(line, 501)+"\n", "publish", "--batch", "-").requireOK()
	require.Len(t, strings.Split(ids, "\n"), 501)
	require.Equal(t, 501, stored())
	require.Contains(t, p.run("events", "show", ids[:20]).requireOK(), `{"x":"<&>"}`)

	// Calls stay below the hub's 1 MiB.
	big := `{"event_type":"a.b","data":{"x":"` + strings.Repeat("x", 300_000) + `"}}` + "\n"
	p.runIn(strings.Repeat(big, 7), "publish", "--batch", "-").requireOK()
	require.Equal(t, 508, stored())

	bad := strings.Repeat(line, 500) + "\n" + `{"event_type":"poi son","data":{}}` + "\n"
	partly := p.runIn(bad, "publish", "--batch", "-", "-q")
	require.Equal(t, 6, partly.code)
	require.Len(t, strings.Split(strings.TrimSpace(partly.stdout), "\n"), 500)
	require.Contains(t, partly.stderr, "publishing lines 502 to 502")
	require.Contains(t, partly.stderr, "500 events up to line 501 are stored; go on with: tail -n +502 FILE")
	p.runIn(`{"event_type":"poi son","data":{}}`, "publish", "--batch", "-").requireFails(1, "body.events[0].event_type must be")
	p.runIn(line+"nonsense", "publish", "--batch", "-").requireFails(2, "line 2 is not a JSON object")
	p.runIn("\n\n", "publish", "--batch", "-").requireFails(2, "there are no events")
	require.Equal(t, 1008, stored())
}
