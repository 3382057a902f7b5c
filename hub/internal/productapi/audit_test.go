package productapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// "Every integration call is written to an audit log": each operation that the document
// names below /integrations, whatever came of it, with who made it and the status.
func TestEveryIntegrationCallIsAudited(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	type call3 struct{ action, method, url, body string }
	var byUsers, byKeys []call3
	for path, operations := range call(t, "GET", l.base+"/openapi.json", "").body["paths"].(map[string]any) {
		if !strings.HasPrefix(path, "/api/v1/integrations") {
			continue
		}
		for method, raw := range operations.(map[string]any) {
			op := raw.(map[string]any)
			entry := call3{op["operationId"].(string), strings.ToUpper(method), l.base + strings.ReplaceAll(path, "{id}", uuid.NewString()), ""}
			if op["requestBody"] != nil {
				entry.body = `{}`
			}
			for _, alternative := range op["security"].([]any) {
				if _, user := alternative.(map[string]any)["bearer"]; user {
					byUsers = append(byUsers, entry)
				} else {
					byKeys = append(byKeys, entry)
				}
			}
		}
	}
	require.Greater(t, len(byUsers), 10)
	require.Greater(t, len(byKeys), 5)
	key := l.issue() // bound to nothing, so that leaving ends nothing
	requires := func(calls []call3, actor string, credentials []string) {
		for _, call3 := range calls {
			count := func() (n, status int) {
				require.NoError(t, l.db.QueryRow(t.Context(), `select count(*), coalesce((array_agg(status order by id desc))[1], 0) from hub.audit
					where tenant_id = $1 and action = $2 and actor_type = $3 and actor_id is not null and ip = '127.0.0.1' and request_id is not null`,
					l.id, call3.action, actor).Scan(&n, &status))
				return n, status
			}
			before, _ := count()
			got := call(t, call3.method, call3.url, call3.body, credentials...)
			n, status := count()
			require.Equal(t, []int{before + 1, got.status}, []int{n, status}, "%s by a %s", call3.action, actor)
			require.Less(t, got.status, 500, call3.action)
		}
	}
	requires(byUsers, "tenant_user", bearer(l.admin))
	requires(byKeys, "key", withKey(key))
}

// Webhooks without a valid signature are counted by key, address and minute; those that are
// signed and still refused are recorded each for itself.
func TestRefusedWebhooksAreCounted(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	stranger := l.issue() // bound to no peer: there is no secret to verify with
	const attempts = 30
	for i := range attempts {
		body := envelope(newID(), "board", "note.created", fmt.Sprint(i))
		refused(t, 401, "invalid_signature", call(t, "POST", l.integrations()+"/webhook", body, append(withKey(l.key), "X-Webhook-Signature", sign("another", body))...))
		refused(t, 401, "invalid_signature", call(t, "POST", l.integrations()+"/webhook", body, append(withKey(stranger), "X-Webhook-Signature", sign("another", body))...))
		require.Equal(t, 400, call(t, "POST", l.integrations()+"/webhook", "\xff", append(withKey(stranger), "Content-Type", "text/plain")...).status/100*100)
	}
	for i := range 3 {
		refused(t, 403, "wrong_product", l.send(envelope(newID(), "clinic", "note.created", fmt.Sprint(i))))
		require.Equal(t, 422, l.send(envelope("evt_0", "board", "note.created", fmt.Sprint(i))).status)
	}
	var rows, minutes, counted, each, signed int
	require.NoError(t, l.db.QueryRow(t.Context(), `
		select count(*) filter (where not status = any($2)), count(distinct date_trunc('minute', at)) filter (where not status = any($2)),
			sum(count) filter (where status = 401), count(*) filter (where status = any($2)), sum(count) filter (where status = any($2))
		from hub.audit where tenant_id = $1 and action = 'integrations.webhook' and status <> 200 and actor_type = 'key' and ip = '127.0.0.1'`, l.id, []int{403, 422}).
		Scan(&rows, &minutes, &counted, &each, &signed))
	require.LessOrEqual(t, rows, 3*minutes)
	require.Equal(t, 2*attempts, counted)
	require.Equal(t, []int{6, 6}, []int{each, signed})
	for _, entry := range l.do(200, "GET", "/audit-log?limit=200&action=integrations.webhook", "").body["items"].([]any) {
		require.GreaterOrEqual(t, entry.(map[string]any)["count"], 1.0)
	}
}
