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
			one := call3{op["operationId"].(string), strings.ToUpper(method), l.base + strings.ReplaceAll(path, "{id}", uuid.NewString()), ""}
			if op["requestBody"] != nil {
				one.body = `{}`
			}
			for _, alternative := range op["security"].([]any) {
				if _, user := alternative.(map[string]any)["bearer"]; user {
					byUsers = append(byUsers, one)
				} else {
					byKeys = append(byKeys, one)
				}
			}
		}
	}
	require.Greater(t, len(byUsers), 10)
	require.Greater(t, len(byKeys), 5)
	key := l.issue() // bound to nothing, so that leaving ends nothing
	requires := func(calls []call3, actor string, credentials []string) {
		for _, one := range calls {
			count := func() (n, status int) {
				require.NoError(t, l.db.QueryRow(t.Context(), `select count(*), coalesce((array_agg(status order by id desc))[1], 0) from hub.audit
					where tenant_id = $1 and action = $2 and actor_type = $3 and actor_id is not null and ip = '127.0.0.1' and request_id is not null`,
					l.id, one.action, actor).Scan(&n, &status))
				return n, status
			}
			before, _ := count()
			got := call(t, one.method, one.url, one.body, credentials...)
			n, status := count()
			require.Equal(t, []int{before + 1, got.status}, []int{n, status}, "%s by a %s", one.action, actor)
			require.Less(t, got.status, 500, one.action)
		}
	}
	requires(byUsers, "tenant_user", bearer(l.admin))
	requires(byKeys, "key", withKey(key))
}
