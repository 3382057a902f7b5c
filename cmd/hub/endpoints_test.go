package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKeysAndEndpoints(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	type key struct {
		ID        string     `json:"id"`
		APIKey    string     `json:"api_key"`
		Scopes    []string   `json:"scopes"`
		Rate      string     `json:"rate"`
		ExpiresAt *time.Time `json:"expires_at"`
		RevokedAt *time.Time `json:"revoked_at"`
	}
	var made key
	p.run("keys", "create", "--tenant", p.tenant, "--scope", "events.publish", "--rate", "7-H", "--expires", "90d", "-o", "json").decode(&made)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), *made.ExpiresAt, 5*time.Minute)
	require.Equal(t, []string{"events.publish"}, made.Scopes)
	require.Equal(t, "7-H", made.Rate)
	p.withEnv("HUB_KEY", made.APIKey).run("publish", "--type", "a.b").requireOK()
	newCLI(t).withEnv("HUB_URL", p.hub.url).withEnv("HUB_KEY", made.APIKey).run("endpoints", "list").requireFails(4, "(missing_scope, request ", "the key lacks the scope")

	second := p.run("keys", "create", "--tenant", p.tenant)
	require.Contains(t, second.requireOK(), "api_key      "+p.product+"_live_")
	require.Contains(t, second.stderr, "shown this once")
	list := p.run("keys", "list", "--tenant", p.tenant).requireOK()
	require.Contains(t, list, p.product+"_live_…"+made.APIKey[len(made.APIKey)-4:])
	require.NotContains(t, list, made.APIKey)

	require.Contains(t, p.run("keys", "rotate", made.ID, "--overlap", "7d").requireOK(), p.product+"_live_")
	var page struct{ Items []key }
	p.run("keys", "list", "--tenant", p.tenant, "-o", "json").decode(&page)
	require.Len(t, page.Items, 3)
	for _, key := range page.Items {
		if key.ID == made.ID {
			ends := key.ExpiresAt
			if key.RevokedAt != nil {
				ends = key.RevokedAt
			}
			require.WithinDuration(t, time.Now().Add(7*24*time.Hour), *ends, 5*time.Minute)
		}
	}
	p.run("keys", "revoke", made.ID).requireOK()
	p.withEnv("HUB_KEY", made.APIKey).run("publish", "--type", "a.b").requireFails(4, "check HUB_KEY")
	p.run("keys", "revoke", "0198aaaa-0000-7000-8000-000000000000").requireFails(5, "(not_found, request ")
	other := p.run("keys", "list", "--tenant", p.tenant, "-q", "--limit", "1").requireOK()
	p.run("keys", "revoke", "0198aaaa-0000-7000-8000-000000000000", other).requireFails(6, "1 of 2 failed", "0198aaaa")
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	receiver := newReceiver(t, 200, "thanks")
	secret := p.run("endpoints", "create", receiver.URL, "--tenant", p.tenant, "--events", "contact.*,ticket.*", "-q").requireOK()
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	id := p.run("endpoints", "list", "--tenant", p.tenant, "-q").requireOK()
	require.Contains(t, p.run("endpoints", "update", id, "--enabled=false", "--rate-per-minute", "50").requireOK(), "50 a minute")
	shown := p.run("endpoints", "show", id).requireOK()
	require.Contains(t, shown, "disabled")
	require.Contains(t, shown, "contact.*,ticket.*", "what is not given stays")
	require.NotContains(t, shown, secret)
	require.NotEqual(t, secret, p.run("endpoints", "rotate-secret", id, "--overlap", "2h", "-q").requireOK())
	rotated := p.run("endpoints", "rotate-secret", id, "--overlap", "1h", "--switch", "end")
	rotated.requireOK()
	require.Contains(t, rotated.stderr, "X-Webhook-Signature has room for one signature: it is made with the previous secret until")
	p.run("endpoints", "rotate-secret", id, "--switch", "later").requireFails(2, "--switch is now or end")
	p.run("endpoints", "rotate-secret", id, "--secret", "my-very-secret-string-1").requireFails(1, "24")
	var endpoint struct {
		Until  time.Time `json:"previous_secret_until"`
		Switch string
	}
	p.run("endpoints", "show", id, "-o", "json").decode(&endpoint)
	require.WithinDuration(t, time.Now().Add(time.Hour), endpoint.Until, 5*time.Minute)
	require.Equal(t, "end", endpoint.Switch)

	p.run("endpoints", "update", id, "--enabled").requireOK()
	ping := p.run("endpoints", "ping", id)
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, ping.requireOK())
	require.Contains(t, ping.stderr, "on its way")
	p.awaitSettled(1, "delivered")
	require.Contains(t, p.run("deliveries", "show", "--event", ping.requireOK()).requireOK(), "response    thanks")

	// A tenant manages its own with its key; the operator's right is not needed.
	tenant := newCLI(t).withEnv("HUB_URL", p.hub.url).withEnv("HUB_KEY", p.run("keys", "create", "--tenant", p.tenant, "-q").requireOK())
	tenant.run("endpoints", "create", "https://example.com/two").requireOK()
	require.Contains(t, tenant.run("endpoints", "list").requireOK(), "https://example.com/two")
	tenant.run("endpoints", "delete", id).requireOK()
	require.NotContains(t, tenant.run("endpoints", "list").requireOK(), id)
	tenant.run("endpoints", "delete", id).requireFails(5, "(not_found, request ")
	another := newTenant(t)
	foreign := another.subscribe(receiver.URL)
	tenant.run("endpoints", "show", foreign).requireFails(5, "(not_found, request ")
}
