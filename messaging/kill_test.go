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
		hub.Kill()
		hub.Restart()
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

// connectClinic connects a clinic at the same hub, which has a patient for each phone.
func connectClinic(t *testing.T, f *traffic) {
	t.Helper()
	clinic := &moduletest.Client{T: t, Hub: f.hub.Product("clinic")}
	clinic.Token = clinic.OK(201, "POST", "/auth/register", map[string]any{"clinic_name": "Sol", "name": "Bia", "email": "bia@example.com", "password": messagingtest.Password})["access_token"].(string)
	for _, phone := range f.phones {
		clinic.OK(201, "POST", "/patients", map[string]any{"name": "Ana " + phone, "phone": "+" + phone})
	}
	key := f.company.OK(200, "POST", f.company.Hub.Base+"/api/v1/integrations/api-keys", nil)["api_key"]
	connected := clinic.OK(200, "POST", "/integrations/connect", map[string]any{"product": "messaging", "api_key": key, "api_url": f.company.Hub.Base + "/api/v1", "features": []string{}})
	require.Equal(t, "active", connected["status"])
}

// A connected clinic has each message in its history once, within a minute after three kills:
// what the killed processes were asking, writing and delivering is free when their leases are
// over. A clinic takes 90 events a minute.
func TestClinicHistorySurvivesKills(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t, unlimited)
	f := newTraffic(t, hub, 2)
	connectClinic(t, f)
	far := hub.Count(`select count(*) from messaging.messages`)
	f.start(6)
	for range 3 {
		far = hub.AwaitCount(far+9, `select count(*) from messaging.messages`)
		hub.Kill()
		hub.Restart()
	}
	killed := time.Now()
	f.requireBalance(t)
	// The first messages came before the clinic was connected.
	published := func(eventType string) int {
		return hub.Count(`select count(*) from hub.deliveries where not inbound and event_type = $1 and status = 1`, eventType)
	}
	const history = `select count(*) from clinic.interactions where source = 'messaging'`
	require.Eventually(t, func() bool {
		return published("message.received") == hub.Count(`select count(*) from messaging.messages where not from_me`)-len(f.phones) &&
			published("message.sent") == hub.Count(`select count(*) from messaging.messages where from_me`) &&
			hub.Count(history) == published("message.received")+published("message.sent")
	}, 2*time.Minute, 50*time.Millisecond, "the clinic gets each once")
	t.Logf("%d messages are in the history %s after the last kill", hub.Count(history), time.Since(killed).Round(time.Millisecond))
	require.Equal(t, hub.Count(history), hub.Count(`select count(distinct source_id) from clinic.interactions where source = 'messaging'`))
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
