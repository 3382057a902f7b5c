package api_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// token makes an API token and returns its text and its id.
func (b *bundle) token(role, fields string) (secret, id string) {
	b.t.Helper()
	made := b.ok(201, "POST", "/tokens", b.admin, `{"name":"back end","role":"`+role+`"`+fields+`}`)
	return made["token"].(string), made["id"].(string)
}

// A program with a token makes a tenant and its key: what a SaaS back end needs. The token is
// shown once and stored as a hash, and the audit log names it.
func TestTokenActsAsAnOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.ok(201, "POST", "/tokens", b.admin, `{"name":"back end","role":"admin"}`)
	secret := made["token"].(string)
	require.True(t, strings.HasPrefix(secret, "hubt_"), "leak scanners know the prefix")
	require.Equal(t, secret[len(secret)-4:], made["last4"])
	require.Equal(t, "admin@example.com", made["created_by"])
	require.Nil(t, made["last_used_at"])
	var hash []byte
	require.NoError(t, b.db.QueryRow(t.Context(), `select hash from hub.tokens`).Scan(&hash))
	sum := sha256.Sum256([]byte(secret))
	require.Equal(t, sum[:], hash)

	b.ok(201, "POST", "/products", secret, `{"name":"shop","prefix":"shop"}`)
	tenant := b.ok(201, "POST", "/tenants", secret, `{"product":"shop","name":"Acme"}`)["id"].(string)
	b.ok(201, "POST", "/keys", secret, `{"tenant_id":"`+tenant+`"}`)
	me := b.ok(200, "GET", "/auth/me", secret, "")
	require.Equal(t, map[string]any{"id": made["id"], "email": "", "name": "back end", "role": "admin"}, me)
	page := b.ok(200, "GET", "/tokens", secret, "")
	require.NotContains(t, b.call("GET", "/tokens", b.admin, "").text, secret)
	listed := page["items"].([]any)[0].(map[string]any)
	require.Equal(t, b.clock.Now().UTC().Format(time.RFC3339), listed["last_used_at"])
	require.NotContains(t, listed, "token")

	var actions int
	require.NoError(t, b.db.QueryRow(t.Context(), `select count(*) from hub.audit where actor_type = 'token' and actor_id = $1 and actor_label = 'back end' and action in ('products.create', 'tenants.create', 'keys.create')`, made["id"]).Scan(&actions))
	require.Equal(t, 3, actions)
	require.NoError(t, b.db.QueryRow(t.Context(), `select count(*) from hub.audit where actor_type = 'operator' and action = 'tokens.create' and resource_id = $1`, made["id"]).Scan(&actions))
	require.Equal(t, 1, actions)
	require.NotContains(t, b.log.String(), secret)
}

// A token of support does what support does, and sees no tokens. No token makes or ends
// tokens or operators, even an administrator's.
func TestTokensLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin, id := b.token("admin", "")
	support, _ := b.token("support", "")
	b.ok(200, "GET", "/deliveries", support, "")
	b.refused(403, "admin_only", "POST", "/products", support, `{"name":"shop","prefix":"shop"}`)
	b.refused(403, "admin_only", "GET", "/tokens", support, "")
	b.refused(403, "admin_only", "GET", "/tokens", b.support, "")
	b.refused(403, "admin_only", "POST", "/tokens", b.support, `{"name":"mine","role":"support"}`)

	var operator uuid.UUID
	require.NoError(t, b.db.QueryRow(t.Context(), `select id from hub.operators where role = 'support'`).Scan(&operator))
	for _, call := range [][3]string{
		{"POST", "/tokens", `{"name":"another","role":"support"}`}, {"DELETE", "/tokens/" + id, ""},
		{"POST", "/operators", `{"email":"new@example.com","name":"New","role":"admin","password":"long enough to pass"}`},
		{"PUT", "/operators/" + operator.String(), `{"email":"s@example.com","name":"S","role":"admin"}`},
		{"DELETE", "/operators/" + operator.String(), ""},
	} {
		b.refused(403, "people_only", call[0], call[1], admin, call[2])
	}
	b.ok(200, "GET", "/operators", admin, "")

	past := b.clock.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	b.refused(422, "validation_failed", "POST", "/tokens", b.admin, `{"name":"late","role":"support","expires_at":"`+past+`"}`)
	b.refused(422, "validation_failed", "POST", "/tokens", b.admin, `{"name":"x","role":"owner"}`)
	b.refused(422, "validation_failed", "POST", "/tokens", b.admin, `{"name":"","role":"admin"}`)
	require.Len(t, b.ok(200, "GET", "/tokens", b.admin, "")["items"], 2, "nothing was made")
}

// A deleted token ends at once, an expired one in time; who made it may be gone. What it
// watches ends too. Its use is written down once a minute.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expires := b.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	short, _ := b.token("support", `,"expires_at":"`+expires+`"`)
	other := b.ok(201, "POST", "/operators", b.admin, `{"email":"ada@example.com","name":"Ada","role":"admin","password":"long enough to pass"}`)["id"].(string)
	ada := b.login("ada@example.com", "long enough to pass")["access_token"].(string)
	made := b.ok(201, "POST", "/tokens", ada, `{"name":"Ada's","role":"support"}`)
	require.Equal(t, "ada@example.com", made["created_by"])
	lasting := made["token"].(string)
	b.ok(204, "DELETE", "/operators/"+other, b.admin, "")

	used := func() (at *time.Time) {
		require.NoError(t, b.db.QueryRow(t.Context(), `select last_used_at from hub.tokens where id = $1`, made["id"]).Scan(&at))
		return at
	}
	require.Nil(t, used())
	b.ok(200, "GET", "/deliveries", lasting, "")
	first := *used()
	b.clock.Advance(59 * time.Second)
	b.ok(200, "GET", "/deliveries", lasting, "")
	require.Equal(t, first, *used())
	b.clock.Advance(time.Second)
	b.ok(200, "GET", "/deliveries", lasting, "")
	require.Equal(t, time.Minute, used().Sub(first))

	b.ok(200, "GET", "/deliveries", short, "")
	b.clock.Advance(time.Hour)
	b.refused(401, "invalid_token", "GET", "/deliveries", short, "")
	b.ok(204, "POST", "/auth/logout", lasting, "")
	messages := b.listenAs(lasting, "") // after a logout too: a token has no login to end
	admin := b.login("admin@example.com", adminPassword)["access_token"].(string)
	b.ok(204, "DELETE", "/tokens/"+made["id"].(string), admin, "")
	b.refused(401, "invalid_token", "GET", "/deliveries", lasting, "")
	b.refused(404, "not_found", "DELETE", "/tokens/"+made["id"].(string), admin, "")
	b.clock.Advance(10 * time.Second)
	_, open := b.receive(messages)
	require.False(t, open, "the live tail ends")
	b.refused(401, "invalid_token", "GET", "/deliveries", "hubt_"+strings.Repeat("A", 43), "")
}
