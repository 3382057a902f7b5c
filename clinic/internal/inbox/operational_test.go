package inbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

// lookInterval is how often the hub looks into the inboxes, by its clock of operational events.
const lookInterval = time.Minute

// operationalEvent is an operational event as an endpoint reads it.
type operationalEvent struct {
	Product string
	Type    string `json:"event_type"`
	Data    object
}

// operationalEvents subscribes a receiver to a clinic's operational events of the live environment,
// and returns what it got of a type.
func operationalEvents(clinic *clinictest.Clinic) func(eventType string) []operationalEvent {
	t := clinic.T
	t.Helper()
	var mu sync.Mutex
	got := make(map[string][]operationalEvent)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event operationalEvent
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			event.Type = err.Error()
		}
		got[event.Type] = append(got[event.Type], event)
	}))
	t.Cleanup(receiver.Close)
	clinic.Hub.CallAPI("POST", "/api/v1/endpoints", object{"tenant_id": clinic.ID, "url": receiver.URL, "event_types": []string{"hub.*"}}, &object{})
	return func(eventType string) []operationalEvent {
		mu.Lock()
		defer mu.Unlock()
		return got[eventType]
	}
}

// A clinic's endpoint gets to know that received events wait in the inbox: once, until none waits,
// and only of its environment.
func TestWaitingInboxIsPublished(t *testing.T) {
	t.Parallel()
	clock := hubtest.NewClock(time.Now())
	c := clinictest.RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Operational: clock, Connectors: []hub.Connector{clinictest.AnyPeer("messaging")}}))
	published := operationalEvents(c)
	await := func(eventType string, n int) []operationalEvent {
		t.Helper()
		require.Eventually(t, func() bool { return len(published(eventType)) >= n }, clinictest.Timeout, clinictest.Tick, "%d of %s", n, eventType)
		return published(eventType)
	}
	ticks := 0
	tick := func() { // waits until the hub publishes that a delivery to one more endpoint was parked, after it looked for what is due
		t.Helper()
		ticks++
		c.Hub.CallAPI("POST", "/api/v1/endpoints", object{"tenant_id": c.ID, "url": "http://127.0.0.1:9/patients", "event_types": []string{"patient.created"}, "enabled": false}, &object{})
		c.AddPatient(clinictest.Phone)
		await("hub.delivery.parked", ticks)
	}
	messaging, inTest := c.ConnectPeer("messaging"), c.InEnvironment("test").ConnectPeer("messaging")
	message := object{"phone": stranger, "name": "Rui", "body": "Hi", "ticket_id": 7}
	tick() // the first look, into empty inboxes
	messaging.Send("ignored", "message.received", message)
	inTest.Send("ignored", "message.received", message)
	entry := c.Get("/integrations/inbox")["items"].([]any)[0].(object)

	clock.Advance(lookInterval - time.Second)
	tick()
	require.Empty(t, published("hub.inbox.waiting"), "there was no other look")

	clock.Advance(time.Second)
	waiting := await("hub.inbox.waiting", 1)[0]
	require.Equal(t, "hub", waiting.Product)
	received, err := time.Parse(time.RFC3339, entry["received_at"].(string))
	require.NoError(t, err)
	require.Equal(t, object{
		"tenant_id": c.ID.String(), "tenant_name": "Clínica Sol", "product": "clinic", "environment": "live",
		"waiting": 1.0, "oldest_since": received.UTC().Truncate(time.Second).Format(time.RFC3339),
	}, waiting.Data)

	// The look that finds the key finds one more event in the same inbox.
	messaging.Send("ignored", "message.received", message)
	var key object
	c.Hub.CallAPI("POST", "/api/v1/keys", object{"tenant_id": c.ID, "name": "old server", "expires_at": clock.Now().Add(time.Hour)}, &key)
	clock.Advance(lookInterval)
	require.Equal(t, key["id"], await("hub.key.expiring", 1)[0].Data["key_id"])
	var page struct{ Items []object }
	c.Hub.CallAPI("GET", "/api/v1/deliveries?event_type=hub.inbox.waiting", nil, &page)
	require.Len(t, page.Items, 1)
}

// A number that forms are filled with identifies nobody, whoever has it.
func TestFillerNumbersIdentifyNobody(t *testing.T) {
	t.Parallel()
	const filler = "+5511999999999"
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": filler})["id"].(string)
	messaging.Send("ignored", "message.received", object{"phone": filler, "name": "Rui", "body": "Hi", "ticket_id": 1})
	messaging.Send("ignored", "message.received", object{"phone": filler, "name": "Eva", "body": "Hello", "ticket_id": 2})
	require.Empty(t, clinic.History(id))
	entries := clinic.Items("/integrations/inbox")
	require.Len(t, entries, 2)
	require.Nil(t, entries[0]["suggested_patient_id"])

	// Linking one links no other, and the number is not the patient's from then on.
	rui := clinic.AddPatient("+5511900001111")
	require.EqualValues(t, 0, clinic.OK(200, "POST", InboxEntry(clinic, "name = 'Rui'")+"/link", object{"patient_id": rui})["also_linked"])
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.linked_phones where clinic_id = $1`))
	messaging.Send("accepted", "message.received", object{"phone": "", "name": "Rui", "body": "Again", "ticket_id": 1})
	require.Len(t, clinic.History(rui), 2)

	// Who is erased leaves the entries of others with the number, and their events.
	clinic.WaitForDeletion(clinic.RequestDeletion(id), "completed")
	require.Equal(t, true, messaging.Received("patient.deleted")[0].Data["phone_shared"])
	require.Len(t, clinic.Items("/integrations/inbox"), 1)
	messaging.Send("ignored", "message.received", object{"phone": filler, "name": "Davi", "body": "Hey", "ticket_id": 3})
	require.Len(t, clinic.Items("/integrations/inbox"), 2)
}
