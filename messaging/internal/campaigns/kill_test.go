//go:build unix

package campaigns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

const (
	tick    = 20 * time.Millisecond
	timeout = 4 * time.Minute
)

// A hub that is killed again and again during a campaign goes on with it: each contact gets
// the message once, no matter at what moment, and the counters are exact.
func TestCampaignSurvivesKills(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	connection := company.Connect()
	const contacts = 1000
	var file strings.Builder
	file.WriteString("name,number\n")
	for i := range contacts {
		fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 70_000_001+i)
	}
	list := company.OK(201, "POST", "/contact-lists", object{"name": "Everybody"})["id"]
	imported := company.ImportContacts(file.String(), map[string]string{"contactListId": fmt.Sprint(list)})
	require.Equal(t, 200, imported.Status, imported.Text)
	path := messagingtest.Path("/campaigns", company.OK(201, "POST", "/campaigns", object{
		"name": "Offers", "message1": "Hi {nome}", "whatsappId": connection.ID, "contactListId": list, "messageInterval": 0, "longerIntervalAfter": 0,
	}))
	company.OK(200, "POST", path+"/start", nil)
	far := 0
	for range 4 {
		far = hub.AwaitCount(far+50, `select count(*) from messaging.sandbox_messages`)
		require.Less(t, far, contacts, "it was killed in the middle")
		messagingtest.KillAndRestart(hub, "campaigns")
	}
	require.Eventually(t, func() bool {
		return hub.Count(`select count(*) from messaging.campaigns where status = 'finished'`) == 1
	}, timeout, tick)
	require.Equal(t, contacts, hub.Count(`select count(*) from messaging.sandbox_messages`))
	require.Equal(t, contacts, hub.Count(`select count(distinct recipient) from messaging.sandbox_messages`))
	require.Equal(t, contacts, hub.Count(`select count(*) from messaging.messages where origin = 'campaign' and ack >= 1`))
	require.Equal(t, contacts, hub.Count(`select count(*) from hub.events where event_type = 'message.sent'`))
	require.Equal(t, object{"total": 1000.0, "pending": 0.0, "sent": 1000.0, "delivered": 0.0, "read": 0.0, "failed": 0.0, "skipped": 0.0}, company.Get(path)["counters"])
	require.Zero(t, hub.Count(`select count(*) from messaging.campaign_progress p, lateral (
			select count(*) as total, count(*) filter (where status in ('pending', 'confirming', 'confirmed', 'queued')) as pending,
				count(*) filter (where status in ('sent', 'delivered', 'read')) as sent, count(*) filter (where status in ('delivered', 'read')) as delivered,
				count(*) filter (where status = 'read') as read, count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'skipped') as skipped
			from messaging.campaign_shipments s where s.campaign_id = p.campaign_id) c
		where (p.total, p.pending, p.sent, p.delivered, p.read, p.failed, p.skipped) is distinct from (c.total, c.pending, c.sent, c.delivered, c.read, c.failed, c.skipped)`),
		"the counters are those of the rows")
}
