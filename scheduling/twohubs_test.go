package scheduling_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// peerProduct is another product in a hub of its own: it remembers what it is sent.
type peerProduct struct {
	module.Module
	spec     module.Spec
	received chan hub.Event
}

// newPeerProduct makes a product that takes in what the scheduling service sends.
func newPeerProduct(name string) peerProduct {
	t := peerProduct{Module: notes.New(name), spec: notes.New(name).Spec(), received: make(chan hub.Event, 100)}
	t.spec.Receives = []string{"appointment.created", "appointment.cancelled", "appointment.reminded", "appointment.noshow"}
	t.spec.Sends = []string{"patient.deleted", "patient.updated", "payment.received"}
	return t
}

// Spec implements [module.Module].
func (p peerProduct) Spec() module.Spec { return p.spec }

// Open implements [module.Module].
func (p peerProduct) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	instance, err := p.Module.Open(ctx, host)
	return peerInstance{instance, p.received}, err
}

type peerInstance struct {
	module.Instance
	received chan hub.Event
}

// Handle implements [module.Instance].
func (i peerInstance) Handle(_ context.Context, _ pgx.Tx, e hub.Event) error {
	i.received <- e
	return nil
}

// The integrations of docs/interfaces/scheduling.md (Integrations), with the peer in another hub: connecting as the
// document has it, status, every event, what the peer sends, its searches and bookings,
// and the end of it.
func TestTwoConnectedHubs(t *testing.T) {
	t.Parallel()
	clinic := newPeerProduct("clinic")
	peerHub := moduletest.Start(t, clinic, moduletest.Options{})
	org := schedulingtest.NewBookable(t)
	var account struct {
		TenantID uuid.UUID `json:"tenant_id"`
		Token    string    `json:"token"`
	}
	peerHub.CallAPI("POST", "/clinic/api/v1/auth/register", object{"name": "Clínica"}, &account)
	peer := &moduletest.Client{T: t, Hub: peerHub, Token: account.Token}
	key := peer.OK(200, "POST", "/integrations/api-keys", nil)["api_key"].(string)

	// The document's request; the key that this service issues is made where none is given.
	created := org.OK(200, "POST", "/integrations/connect", object{
		"product": "clinic", "api_key_remote": key, "api_url": peerHub.Base + "/api/v1",
		"webhook_url": org.Hub.Base + "/api/v1/integrations/webhook", "features": []string{"reminders", "booking_bot"},
	})
	require.Equal(t, "active", created["status"], "%v", created)
	require.Equal(t, "clinic", created["product"])
	require.Equal(t, []any{"reminders", "booking_bot"}, created["enabled"])
	require.NotContains(t, created["api_key_remote"], key)
	status := org.OK(200, "GET", "/integrations/status", nil)["integrations"].([]any)
	require.Len(t, status, 1)
	require.Equal(t, "active", status[0].(object)["status"])
	known := org.As(org.Hub.CreateKey(org.ID, hub.Live)).OK(200, "GET", "/integrations/status", nil)
	require.Equal(t, "scheduling", known["product"])
	require.Equal(t, org.ID.String(), known["org_id"])
	require.Equal(t, "Studio", known["org_name"])

	kept, missed := org.Book(0), org.Book(time.Hour)
	org.Transition(200, "cancel", kept, object{"reason": "ill"})
	org.Transition(200, "noshow", missed, nil)
	received := clinic.next(t, 4)
	for _, e := range received {
		require.Equal(t, "scheduling", e.Product)
		require.Equal(t, account.TenantID, e.TenantID)
	}
	require.ElementsMatch(t, []string{"appointment.created", "appointment.created", "appointment.cancelled", "appointment.noshow"},
		[]string{received[0].Type, received[1].Type, received[2].Type, received[3].Type})
	for _, e := range received {
		var data object
		require.NoError(t, json.Unmarshal(e.Data, &data))
		switch e.Type {
		case "appointment.created":
			require.Subset(t, data, object{"client_phone": "+5511987654321", "service": "Cut", "professional": "Ana"})
			require.Contains(t, data["datetime"], "2026-03-02T1")
		case "appointment.cancelled":
			require.Equal(t, object{"appointment_id": kept, "reason": "ill"}, data)
		case "appointment.noshow":
			require.Equal(t, object{"appointment_id": missed, "client_phone": "+5511987654321"}, data)
		}
	}

	// What the peer asks and does, with the key it was given.
	peers := peerHub.Host.Peers
	links, err := peers.List(t.Context(), account.TenantID, hub.Live)
	require.NoError(t, err)
	require.Len(t, links, 1)
	ask := func(call hub.Call) (answer object) {
		raw, err := peers.Call(t.Context(), links[0].ID, call)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &answer))
		return answer
	}
	phone := url.Values{"phone": {"11 98765-4321"}}
	require.Equal(t, "Caio", ask(hub.Call{Name: "search/clients", Query: phone})["client"].(object)["name"])
	require.Len(t, ask(hub.Call{Name: "search/appointments", Query: phone})["appointments"], 2)
	body, err := json.Marshal(object{"phone": "+5511987654321", "service": "Cut", "datetime": org.At(2 * time.Hour), "source_id": "t-1"})
	require.NoError(t, err)
	booked := ask(hub.Call{Name: "action/book", Body: body})
	require.Equal(t, "integration", org.OK(200, "GET", "/appointments/"+booked["appointment_id"].(string), nil)["source"])
	require.Equal(t, "appointment.created", clinic.next(t, 1)[0].Type, "it hears of its own booking as well")

	// What the peer sends.
	send := func(kind string, data object) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		require.NoError(t, pgx.BeginFunc(t.Context(), peerHub.Host.Pool, func(tx pgx.Tx) error {
			_, err := peerHub.Host.Events.Publish(t.Context(), tx, hub.Event{TenantID: account.TenantID, Environment: hub.Live, Type: kind, Data: raw})
			return err
		}))
	}
	requireSoon := func(what string, condition func() bool) {
		require.Eventually(t, condition, time.Minute, 20*time.Millisecond, what)
	}
	send("payment.received", object{"appointment_id": booked["appointment_id"], "amount": 80, "description": "Cut"})
	requireSoon("the payment is recorded", func() bool {
		return org.OK(200, "GET", "/clients/"+org.ClientID, nil)["total_spent"] == 80.0
	})
	send("patient.deleted", object{"phone": "+5511987654321"})
	requireSoon("the client is forgotten", func() bool { return org.Call("GET", "/clients/"+org.ClientID, nil).Status == 404 })
	logs := org.OK(200, "GET", "/integrations/webhook-logs?direction=inbound", nil)["items"].([]any)
	require.Len(t, logs, 2)
	requireSoon("nor does the log know the phone any more, but for the deletion itself", func() bool {
		for _, item := range org.OK(200, "GET", "/integrations/webhook-logs", nil)["items"].([]any) {
			raw, err := json.Marshal(item)
			require.NoError(t, err)
			if item.(object)["event_type"] != "patient.deleted" && strings.Contains(string(raw), "987654321") {
				return false
			}
		}
		return true
	})

	// The end: neither side sends or asks any more.
	org.OK(200, "DELETE", "/integrations/"+created["id"].(string), nil)
	requireSoon("the peer knows", func() bool {
		list, err := peers.List(t.Context(), account.TenantID, hub.Live)
		return err == nil && list[0].Status == "inactive"
	})
	_, err = peers.Call(t.Context(), links[0].ID, hub.Call{Name: "search/clients", Query: phone})
	require.Error(t, err)
}

// next waits for some events.
func (p peerProduct) next(t *testing.T, n int) (list []hub.Event) {
	t.Helper()
	limit := time.After(time.Minute)
	for range n {
		select {
		case e := <-p.received:
			list = append(list, e)
		case <-limit:
			require.FailNow(t, "events are missing", "%d of %d came", len(list), n)
		}
	}
	return list
}
