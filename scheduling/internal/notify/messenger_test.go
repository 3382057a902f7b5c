package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
	"integrationhub/scheduling/internal/schedulingtest"
)

// messenger stands for the messaging product that an organization is connected to.
type messenger struct {
	module.Peers
	mu    sync.Mutex
	uses  []string // of the connection; nil: reminders
	sent  []map[string]string
	asked []map[string]string // the appointment of each message; nil: none
	fails []error
}

// List implements module.Peers.
func (m *messenger) List(_ context.Context, tenant uuid.UUID, _ hub.Environment) ([]module.Integration, error) {
	uses := m.uses
	if uses == nil {
		uses = []string{"reminders"}
	}
	return []module.Integration{
		{ID: uuid.New(), TenantID: tenant, Product: "clinic", Status: "active", EnabledUses: uses},
		{ID: uuid.New(), TenantID: tenant, Product: "messaging", Status: "active", EnabledUses: uses},
	}, nil
}

// Call implements module.Peers.
func (m *messenger) Call(_ context.Context, _ uuid.UUID, call hub.Call) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var message struct {
		Number, Body string
		Appointment  map[string]string
	}
	if err := json.Unmarshal(call.Body, &message); err != nil || call.Name != "action/send-message" {
		return nil, errors.New("an unexpected call")
	}
	m.sent, m.asked = append(m.sent, map[string]string{"number": message.Number, "body": message.Body}), append(m.asked, message.Appointment)
	if len(m.fails) > 0 {
		err := m.fails[0]
		m.fails = m.fails[1:]
		return nil, err
	}
	return json.RawMessage(`{"id":"m-1"}`), nil
}

func (m *messenger) messages() []map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

// texting is a product that sends messages.
type texting struct {
	module.Module
	mu   sync.Mutex
	sent []message
}

type message struct {
	Number string `json:"number"`
	Body   string `json:"body"`
}

// Open implements module.Module.
func (p *texting) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	opened, err := p.Module.Open(ctx, host)
	return textingInstance{opened, p}, err
}

type textingInstance struct {
	module.Instance
	product *texting
}

// RegisterActions implements module.ActionProvider.
func (i textingInstance) RegisterActions(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "messages.send", Method: http.MethodPost, Path: "/send-message",
		Security: []map[string][]string{{module.SchemeKey: {"note.write"}}},
	}, func(_ context.Context, in *struct{ Body message }) (*struct{ Body message }, error) {
		i.product.mu.Lock()
		defer i.product.mu.Unlock()
		i.product.sent = append(i.product.sent, in.Body)
		return &struct{ Body message }{in.Body}, nil
	})
}

// The whole way: two products of one hub, connected for reminders, over HTTP.
func TestRemindersGoThroughTheConnectedMessagingProduct(t *testing.T) {
	t.Parallel()
	product := &texting{Module: notes.New("messaging")}
	org := schedulingtest.RegisterOrganization(t, moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: schedulingtest.Monday.Add(-72 * time.Hour), OtherModules: []module.Module{product},
	})).MakeBookable()
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"email", "whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	var peer struct {
		TenantID string `json:"tenant_id"`
	}
	org.Hub.CallAPI("POST", "/messaging/api/v1/auth/register", object{"name": "Company"}, &peer)
	var created struct{ Integrations []struct{ ID string } }
	org.Hub.CallAPI("POST", "/api/v1/integrations/link", object{"tenant_id": org.ID, "peer_tenant_id": peer.TenantID, "features": []string{"reminders"}}, &created)
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.WaitForEmails("gil@example.com", 1)
	org.Hub.Clock.Advance(48 * time.Hour)
	require.Eventually(t, func() bool { // the hub's own runner finds what is due
		product.mu.Lock()
		defer product.mu.Unlock()
		return len(product.sent) > 0
	}, time.Minute, 50*time.Millisecond)
	org.WaitForEmails("gil@example.com", 2)
	org.RunJob("reminders")
	org.RunJob("message-reminders")
	product.mu.Lock()
	defer product.mu.Unlock()
	require.Len(t, product.sent, 1)
	require.Equal(t, "5511987650000", product.sent[0].Number)
	require.Contains(t, product.sent[0].Body, "Lembrete de Studio: Cut")
	require.Eventually(t, func() bool { return len(org.EventTypes()) == 3 }, time.Minute, 50*time.Millisecond)
	require.Equal(t, []string{"appointment.created", "appointment.reminded", "appointment.reminded"}, org.EventTypes(), "one for each that was sent")
}
