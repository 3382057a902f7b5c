package main_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/scheduling"
)

// TestSchedulingConnects: an administrator of the scheduling service connects it as
// docs/interfaces/scheduling.md has it; the other product sees the form of
// docs/interfaces/clinic.md.
func TestSchedulingConnects(t *testing.T) {
	t.Parallel()
	h := productHubOf(t, scheduling.New(), notes.New("board"))
	status, text := post(t, h.url+"/scheduling/api/v1/auth/register", http.Header{"Content-Type": {"application/json"}}, []byte(
		`{"org_name":"Studio","org_slug":"studio","name":"Bia","email":"bia@example.com","password":"a long password"}`))
	require.Equal(t, 201, status, text)
	var made struct {
		Token string              `json:"access_token"`
		Org   struct{ ID string } `json:"organization"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	studio := signUpResponse{TenantID: made.Org.ID, Token: made.Token}
	board := h.signUp("board", "Board")
	var local, remote struct {
		APIKey string `json:"api_key"`
	}
	h.callAs(studio, "/scheduling/api/v1/integrations/api-keys", "", &local)
	h.callAs(board, "/board/api/v1/integrations/api-keys", "", &remote)

	var shown map[string]any
	h.callAs(studio, "/scheduling/api/v1/integrations/connect", `{
		"product":"board","api_key_local":"`+local.APIKey+`","api_key_remote":"`+remote.APIKey+`","api_url":"`+h.url+`/board",
		"webhook_url":"`+h.url+`/scheduling/api/v1/integrations/webhook","features":["reminders","booking_bot"]}`, &shown)
	require.Equal(t, "active", shown["status"], shown)
	require.Equal(t, []any{"reminders", "booking_bot"}, shown["enabled"])
	require.Equal(t, local.APIKey[len(local.APIKey)-4:]+"****", shown["api_key_local"])
	require.Equal(t, h.url+"/board/api/v1", shown["api_url"])
	require.NotContains(t, shown, "tenant_id", "that is the form of docs/interfaces/clinic.md")

	get := func(path string, header http.Header) (body map[string]any) {
		req, err := http.NewRequest(http.MethodGet, h.url+path, nil)
		require.NoError(t, err)
		req.Header = header
		res, err := hubtest.HTTPClient.Do(req)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
		require.NoError(t, res.Body.Close())
		return body
	}
	all := get("/scheduling/api/v1/integrations/status", http.Header{"Authorization": {"Bearer " + studio.Token}})["integrations"].([]any)
	require.Len(t, all, 1)
	require.Equal(t, []any{shown["id"], "board", "active"}, []any{all[0].(map[string]any)["id"], all[0].(map[string]any)["product"], all[0].(map[string]any)["status"]})
	asked := get("/scheduling/api/v1/integrations/status", http.Header{"X-Integration-Key": {local.APIKey}})
	require.Equal(t, []any{"scheduling", studio.TenantID, "Studio", "active", "live"},
		[]any{asked["product"], asked["org_id"], asked["org_name"], asked["status"], asked["environment"]})
}
