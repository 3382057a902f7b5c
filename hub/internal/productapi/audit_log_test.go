package productapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An administrator reads who did what with the tenant, page by page, and of nobody
// else's.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	o, stranger := n.signUp("notes"), n.signUp("notes")
	key := stranger.issue()
	o.issue()
	require.Equal(t, 403, call(t, "GET", o.integrations()+"/audit-log", "", bearer(o.staff)...).status)
	require.Equal(t, 401, call(t, "GET", o.integrations()+"/audit-log", "", withKey(key)...).status)
	list := o.do(200, "GET", "/audit-log", "").body["items"].([]any)
	require.NotEmpty(t, list)
	var actions []any
	for _, entry := range list {
		entry := entry.(map[string]any)
		require.Equal(t, o.id, entry["tenant_id"])
		actions = append(actions, entry["action"])
	}
	require.Contains(t, actions, "api-keys.create")
	require.Contains(t, actions, "audit-log.list", "who is refused is on record too")
	first := o.do(200, "GET", "/audit-log?limit=1&action=api-keys.create", "").body
	require.Len(t, first["items"], 1)
	require.Nil(t, first["next_cursor"])
	require.Empty(t, o.do(200, "GET", "/audit-log?since=2999-01-01T00:00:00Z", "").body["items"])
	o.do(422, "GET", "/audit-log?limit=0", "")
}
