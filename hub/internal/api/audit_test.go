package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestEveryWriteIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	newest := func() map[string]any { return items(b.ok(200, "GET", "/audit?limit=1", b.local, ""))[0] }
	for _, row := range b.api.Rows() {
		if row.Method == http.MethodGet || row.Public || row.KeysOnly || row.Action == "auth.logout" {
			continue
		}
		for _, credential := range []string{b.admin, b.support} {
			id := uuid.NewString()
			got := b.call(row.Method, b.path(row, id), credential, bodyFor(t, row, uuid.New()), "X-Request-Id", "req-"+id, "X-Forwarded-For", "203.0.113.9")
			entry := newest()
			require.Equal(t, row.Action, entry["action"], got.text)
			require.EqualValues(t, got.status, entry["status"])
			require.Equal(t, "req-"+id, entry["request_id"])
			require.Equal(t, "203.0.113.9", entry["ip"])
			require.Equal(t, "operator", entry["actor"].(map[string]any)["type"])
			resource, _, _ := strings.Cut(row.Action, ".")
			require.Equal(t, resource, entry["resource"])
			if strings.Contains(row.Path, "{id}") {
				require.Equal(t, id, entry["resource_id"])
			}
		}
	}
	made := b.endpoint(b.live[0], `{"url":"https://example.com/canary-url","event_types":["*"]}`)
	entry := newest()
	actor := entry["actor"].(map[string]any)
	require.Equal(t, "key", actor["type"])
	require.Equal(t, "shop_live_…"+b.live[0][len(b.live[0])-4:], actor["label"])
	require.Equal(t, made["id"], entry["resource_id"])
	require.Equal(t, b.tenant[0].String(), entry["tenant_id"])

	// Without credentials nothing is recorded, except bad logins.
	b.ok(401, "POST", "/keys", "", `{}`)
	require.Equal(t, entry["id"], newest()["id"])
	b.ok(401, "POST", "/auth/login", "", `{"email":"canary-email@example.com","password":"canary-password"}`)
	failed := newest()
	require.Equal(t, map[string]any{"type": "anonymous", "id": "", "label": ""}, failed["actor"])
	require.EqualValues(t, 401, failed["status"])
	require.Empty(t, failed["resource_id"])
	b.ok(401, "POST", "/auth/login", "", `{"email":"`+adminEmail+`","password":"canary-password"}`)
	admin := b.ok(200, "GET", "/auth/me", b.admin, "")["id"]
	require.Equal(t, admin, newest()["resource_id"], "whose account was tried")
	b.login(adminEmail, adminPassword)
	require.Equal(t, admin, newest()["actor"].(map[string]any)["id"])

	var dump string
	require.NoError(t, b.db.QueryRow(context.Background(), `select string_agg(a::text, ' ') from hub.audit a`).Scan(&dump))
	require.NotContains(t, dump, "canary")
	require.NotContains(t, dump, "whsec_")
	for _, key := range b.live {
		require.NotContains(t, dump, key)
	}
}

func TestAuditFilters(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], `{"url":"https://example.com/h","event_types":["*"]}`)
	b.endpoint(b.live[1], `{"url":"https://example.com/h","event_types":["*"]}`)
	count := func(query string) int { return len(items(b.ok(200, "GET", "/audit?"+query, b.support, ""))) }
	require.Equal(t, 2, count("action=endpoints.create"))
	require.Equal(t, 2, count("resource=endpoints"))
	require.Equal(t, 1, count("resource=endpoints&tenant_id="+b.tenant[1].String()))
	require.Equal(t, 4, count("tenant_id="+b.tenant[1].String()), "tenant, two keys, endpoint")
	admin := b.ok(200, "GET", "/auth/me", b.admin, "")["id"].(string)
	require.Equal(t, 4, count("action=keys.create&actor_id="+admin))
	require.Zero(t, count("action=nothing"))
	later := url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339))
	require.Zero(t, count("since="+later))
	require.Equal(t, 2, count("resource=endpoints&until="+later))

	total, pages, cursor := 0, 0, ""
	for {
		page := b.ok(200, "GET", fmt.Sprintf("/audit?limit=5&cursor=%s", cursor), b.admin, "")
		total, pages = total+len(items(page)), pages+1
		if page["next_cursor"] == nil {
			break
		}
		cursor = page["next_cursor"].(string)
	}
	var want int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.audit`).Scan(&want))
	require.Equal(t, want, total)
	require.Equal(t, (want+4)/5, pages)
	for _, statement := range []string{`update hub.audit set status = 200`, `delete from hub.audit`} {
		_, err := b.db.Exec(context.Background(), statement)
		require.ErrorContains(t, err, "append-only")
	}
}
