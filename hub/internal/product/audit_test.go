package product_test

import (
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
