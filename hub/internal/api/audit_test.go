package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
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
		if row.Method == http.MethodGet || row.Public || row.KeysOnly || endsLogin(row) {
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
	failed := func(resourceID any) map[string]any { // counted: in a row of its minute's beginning
		for _, entry := range items(b.ok(200, "GET", "/audit?limit=200&action=auth.login", b.local, "")) {
			if entry["actor"].(map[string]any)["type"] == "anonymous" && entry["resource_id"] == resourceID {
				return entry
			}
		}
		return nil
	}
	require.Equal(t, map[string]any{"type": "anonymous", "id": "", "label": ""}, failed("")["actor"])
	require.EqualValues(t, 401, failed("")["status"])
	require.EqualValues(t, 1, failed("")["count"])
	require.EqualValues(t, 1, entry["count"])
	b.ok(401, "POST", "/auth/login", "", `{"email":"`+adminEmail+`","password":"canary-password"}`)
	admin := b.ok(200, "GET", "/auth/me", b.admin, "")["id"]
	require.NotNil(t, failed(admin), "whose account was tried")
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
	email := b.ok(200, "GET", "/auth/me", b.admin, "")["email"].(string)
	require.Equal(t, 4, count("action=keys.create&actor_id="+url.QueryEscape(strings.ToUpper(email))))
	require.Zero(t, count("actor_id=nobody@example.com"))
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

// Strangers cannot fill the audit log. Wrong logins are a row by account, address and minute,
// until the limit of the address; from then on, like malformed ones, a row by address and
// minute. Each is counted.
func TestFailedLoginsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const attempts = 948
	try := func(address func(i int) string, body func(i int) string) map[int]int {
		statuses := make([]int, attempts)
		var done sync.WaitGroup
		for worker := range 16 {
			done.Go(func() {
				for i := worker; i < attempts; i += 16 {
					statuses[i] = b.call("POST", "/auth/login", "", body(i), "X-Forwarded-For", address(i)).status
				}
			})
		}
		done.Wait()
		counts := map[int]int{}
		for _, status := range statuses {
			counts[status]++
		}
		return counts
	}
	login := func(email string) string { return `{"email":"` + email + `","password":"canary-password"}` }
	for _, test := range []struct {
		name    string
		address func(i int) string
		body    func(i int) string
		rows    int // in a minute
	}{
		{"random accounts", func(int) string { return "203.0.113.1" }, func(i int) string { return login(fmt.Sprintf("canary%d@example.com", i)) }, 30 + 15 + 1},
		{"an account", func(int) string { return "203.0.113.2" }, func(int) string { return login(adminEmail) }, 2},
		{"a network", func(i int) string { return fmt.Sprintf("2001:db8::%x", i+1) }, func(i int) string { return login(fmt.Sprintf("canary%d@example.com", i)) }, 30 + 15 + 1},
		{"malformed", func(int) string { return "203.0.113.3" }, func(int) string { return `{}` }, 1},
	} {
		counts := try(test.address, test.body)
		require.Zero(t, counts[200]+counts[500], test.name)
		entries := items(b.ok(200, "GET", "/audit?limit=200&action=auth.login", b.support, ""))
		require.Less(t, len(entries), 200)
		counted, minutes, rows := map[int]int{}, []string{}, 0
		for _, entry := range entries {
			if !strings.HasPrefix(entry["ip"].(string), strings.TrimSuffix(test.address(0), "::1")) || entry["actor"].(map[string]any)["type"] != "anonymous" {
				continue
			}
			rows++
			counted[int(entry["status"].(float64))] += int(entry["count"].(float64))
			minutes = append(minutes, entry["at"].(string)[:16])
			if entry["status"] != 401.0 {
				require.Empty(t, entry["resource_id"], test.name)
			}
		}
		require.Equal(t, counts, counted, "%s: each is counted", test.name)
		slices.Sort(minutes)
		require.LessOrEqual(t, rows, test.rows*len(slices.Compact(minutes)), test.name)
	}
	var dump string
	require.NoError(t, b.db.QueryRow(t.Context(), `select string_agg(a::text, ' ') from hub.audit a`).Scan(&dump))
	require.NotContains(t, dump, "canary")
}
