package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// An organization's administrator finds what concerns a client in the log, by number and
// by id, and pauses and resumes the integration.
func TestWebhookLogsOfAClient(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	integration := org.LinkPeer()
	appointment := org.Book(0)
	org.Transition(200, "cancel", appointment, object{"reason": "ill"}) // names the appointment only
	search := func(query string) (types []any) {
		for _, entry := range org.OK(200, "GET", "/integrations/webhook-logs?direction=outbound&"+query, nil)["items"].([]any) {
			types = append(types, entry.(object)["event_type"])
		}
		return types
	}
	require.Equal(t, []any{"appointment.cancelled", "appointment.created"}, search("client_id="+org.ClientID))
	require.Equal(t, []any{"appointment.created"}, search("phone=11987654321"))
	require.Empty(t, search("phone=11900000000"))

	stranger := schedulingtest.NewBookable(t)
	require.Empty(t, stranger.OK(200, "GET", "/integrations/webhook-logs?client_id="+org.ClientID, nil)["items"])

	id := org.OK(200, "GET", "/integrations/webhook-logs?client_id="+org.ClientID, nil)["items"].([]any)[0].(object)["id"].(string)
	require.Contains(t, org.OK(200, "GET", "/integrations/webhook-logs/"+id, nil), "attempts")
	require.Equal(t, object{"id": id, "status": "pending"}, org.OK(202, "POST", "/integrations/webhook-logs/"+id+"/retry", nil))
	require.Equal(t, "inactive", org.OK(200, "POST", "/integrations/"+integration+"/disable", nil)["status"])
	require.NotEqual(t, "inactive", org.OK(200, "POST", "/integrations/"+integration+"/enable", nil)["status"])
}
