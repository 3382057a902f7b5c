//go:build unix

package messaging_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/messagingtest"
)

// A hub that is killed again and again while messages come and go loses and repeats none:
// what was answered is stored and sent once, unread counts are exact, and webhooks get every
// event, under one id.
func TestMessagesSurviveKills(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t, unlimited)
	f := newTraffic(t, hub, 6)
	receiver := messagingtest.NewReceiver(t)
	f.company.OK(201, "POST", "/webhooks", map[string]any{"url": receiver.URL, "events": []string{"message.created"}, "includeSent": true})
	before := hub.Count(`select count(*) from messaging.messages`)
	const rounds = 20
	f.start(rounds)
	far := before
	for range 3 {
		far = hub.AwaitCount(far+50, `select count(*) from messaging.messages`)
		messagingtest.KillAndRestart(hub)
	}
	f.requireBalance(t)
	accepted, _ := f.answers()
	require.Greater(t, accepted, len(f.phones)*rounds*3, "most is answered")

	// Every message after the webhook was made is published once, and reaches it at least
	// once under that id.
	events := hub.Count(`select count(*) from messaging.messages`) - before
	require.Equal(t, events, hub.Count(`select count(*) from hub.events where event_type = 'message.created'`))
	ids, deliveries := make(map[string]string), 0
	for len(ids) < events {
		event := receiver.Next()
		var envelope struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal(event.Raw, &envelope))
		require.NotEmpty(t, envelope.ID)
		message := event.Data["message"].(map[string]any)["id"].(string)
		if known, ok := ids[message]; ok {
			require.Equal(t, known, envelope.ID, "what comes again has its id")
		}
		ids[message] = envelope.ID
		deliveries++
	}
	t.Logf("%d messages, %d accepted; %d deliveries for %d events", events, accepted, deliveries, len(ids))
}

// An import of contacts that is killed again and again goes on: each contact is stored and
// published once, and the counts are exact.
func TestContactImportSurvivesKills(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	company.OK(201, "POST", "/webhooks", map[string]any{"url": receiver.URL, "events": []string{"contact.created"}})
	const contacts = 4000
	var file strings.Builder
	file.WriteString("name,number\n")
	for i := range contacts {
		fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 70_000_001+i)
	}
	created := company.ImportContacts(file.String(), nil)
	require.Equal(t, 202, created.Status, created.Text)
	path := messagingtest.Path("/contacts/imports", created.Body)
	far := 0
	for range 2 {
		far = hub.AwaitCount(far, `select count(*) from messaging.contacts`)
		require.Less(t, far, contacts, "it was killed in the middle")
		messagingtest.KillAndRestart(hub, imports.Job)
	}
	require.Eventually(t, func() bool { return company.Get(path)["status"] == "done" }, time.Minute, 20*time.Millisecond)
	done := company.Get(path)
	require.Equal(t, []any{4000.0, 4000.0, 0.0, 0.0}, []any{done["total"], done["created"], done["updated"], done["skipped"]})
	require.Equal(t, contacts, hub.Count(`select count(distinct number_key) from messaging.contacts`))
	require.Equal(t, contacts, hub.Count(`select count(*) from hub.deliveries where event_type = 'contact.created'`))
}
