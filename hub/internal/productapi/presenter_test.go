package productapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// A product that presents connections in a shape of its own does so to administrators who
// connect and ask for the status. Keys get the shape of docs/interfaces/clinic.md ("Connect
// and status").
func TestPresenter(t *testing.T) {
	t.Parallel()
	n := startWith(t, []module.Module{notes.NewPresenter("memos"), notes.New("board")}, nil)
	own, peer := n.signUp("memos"), n.signUp("board")
	require.Equal(t, map[string]any{"peers": []any{}}, own.do(200, "GET", "/status", "").body)
	body := `{"product":"board","api_key":"` + peer.issue() + `","api_url":"` + peer.base + `","features":["reminders"]}`
	shown := map[string]any{"connected_to": "board", "works": true, "for": []any{"reminders"}}
	require.Equal(t, shown, own.do(200, "POST", "/connect", body).body)
	require.Equal(t, map[string]any{"peers": []any{shown}}, own.do(200, "GET", "/status", "").body)
	require.Equal(t, map[string]any{"peers": []any{}}, own.do(200, "GET", "/status", "", "X-Environment", "test").body)

	list := own.do(200, "GET", "/", "").list
	require.Len(t, list, 1)
	require.Equal(t, "active", list[0]["status"])
	require.Equal(t, list[0], own.do(200, "GET", "/"+list[0]["id"].(string), "").body)
	status := call(t, "GET", own.integrations()+"/status", "", withKey(own.issue())...).body
	require.Equal(t, []any{"memos", own.id, "active"}, []any{status["product"], status["owner_id"], status["status"]})
	require.NotContains(t, status, "peers")
}
