package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// The hub's log has nothing of a contact after anonymizing it, neither of what was delivered nor
// of what waits, which is not sent. The event that closes its ticket has nothing of it from the start.
func TestAnonymizeErasesTheLog(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, calendar := company.Connect(), company.ConnectCalendar("Haircut")
	receiver, later := messagingtest.NewReceiver(t), messagingtest.NewReceiver(t)
	all := []string{"message.created", "ticket.created", "ticket.updated", "contact.created"}
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": all})
	disabled := "/webhooks/" + company.OK(201, "POST", "/webhooks", object{"url": later.URL, "events": all, "enabled": false})["id"].(string)
	integration := "/api/v1/integrations/" + company.List("/api/v1/integrations")[0]["id"].(string)
	company.OK(200, "POST", integration+"/disable", nil)
	ana, caio := company.AddPhone("Zoraide Quintela"), company.AddPhone("Caio Prado")
	company.SendFromPhone(ana, line, "quintessential words")
	receiver.NextOf("contact.created", "ticket.created", "message.created")
	company.SendFromPhone(caio, line, "Good morning")
	receiver.NextOf("contact.created", "ticket.created", "message.created")
	// In order: one is parked, those behind it wait.
	const waiting = `hub.deliveries where tenant_id = $1 and status in (0, 2) and integration = $2`
	require.Eventually(t, func() bool {
		return company.Hub.Count(waiting, company.Tenant, false) == 6 && company.Hub.Count(waiting, company.Tenant, true) == 2
	}, time.Minute, 10*time.Millisecond)
	naming := func(term string) int {
		return company.Hub.Count(`hub.events where tenant_id = $1 and convert_from(body, 'UTF8') ~* $2`, company.Tenant, term)
	}
	hers := "quintela|quintessential|" + ana
	require.Greater(t, naming(hers), 3)
	others := naming("Caio Prado")

	contact := company.Tickets("searchParam=" + ana)[0]["contact"].(object)
	company.OK(200, "POST", messagingtest.Path("/contacts", contact)+"/anonymize", nil)
	closed := receiver.Next()
	require.Equal(t, "ticket.updated", closed.Type)
	require.NotRegexp(t, "(?i)"+hers, string(closed.Raw))
	ticket := closed.Data["ticket"].(object)
	require.Equal(t, []any{"closed", "", "Anonymized", ""}, []any{ticket["status"], ticket["lastMessage"], ticket["contact"].(object)["name"], ticket["contact"].(object)["number"]})

	require.Eventually(t, func() bool {
		return company.Hub.Count(`hub.erasures where tenant_id = $1 and finished_at is not null`, company.Tenant) == 1
	}, time.Minute, 10*time.Millisecond)
	require.Zero(t, naming(hers))
	require.Equal(t, others, naming("Caio Prado"), "what is about others stays")
	erased := []object{}
	for _, delivery := range company.Get(disabled + "/deliveries")["deliveries"].([]any) {
		if delivery.(object)["reason"] == "erased" {
			erased = append(erased, delivery.(object))
		}
	}
	require.Len(t, erased, 3)
	for _, delivery := range erased {
		require.Equal(t, "failed", delivery["status"])
		require.Equal(t, "erased", company.OK(409, "POST", "/api/v1/integrations/webhook-logs/"+delivery["id"].(string)+"/retry", nil)["code"])
	}
	company.OK(200, "PUT", disabled, object{"enabled": true})
	company.OK(200, "POST", integration+"/enable", nil)
	require.Eventually(t, func() bool { return len(calendar.Events("contact.created")) == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "Caio Prado", calendar.Events("contact.created")[0].Data["name"])
	require.Equal(t, 1, company.Hub.Count(`hub.deliveries where tenant_id = $1 and integration and status = 3 and reason = 'erased'`, company.Tenant))
	for range 4 { // of the other contact, and that the ticket was closed
		require.NotRegexp(t, "(?i)"+hers, string(later.Next().Raw))
	}
	require.Empty(t, calendar.Events("patient.deleted"), "that the company forgets a contact is no matter of others")
	require.Zero(t, company.Hub.Count(`hub.erasure_traces where tenant_id = $1`, company.Tenant))
}
