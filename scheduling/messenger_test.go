package scheduling_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

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

// RegisterActions implements module.Actor.
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
	p := another(t, moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: monday.Add(-72 * time.Hour), OtherModules: []module.Module{product},
	})).open()
	p.ok(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"email", "whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	var peer struct {
		TenantID string `json:"tenant_id"`
	}
	p.hub.CallAPI("POST", "/messaging/api/v1/auth/register", object{"name": "Company"}, &peer)
	var made struct{ Integrations []struct{ ID string } }
	p.hub.CallAPI("POST", "/api/v1/integrations/link", object{"tenant_id": p.org, "peer_tenant_id": peer.TenantID, "features": []string{"reminders"}}, &made)
	p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	p.mails("gil@example.com", 1)
	p.hub.Clock.Advance(48 * time.Hour)
	require.Eventually(t, func() bool { // the hub's own runner finds what is due
		product.mu.Lock()
		defer product.mu.Unlock()
		return len(product.sent) > 0
	}, 30*time.Second, 50*time.Millisecond)
	p.mails("gil@example.com", 2)
	p.work("reminders")
	product.mu.Lock()
	defer product.mu.Unlock()
	require.Len(t, product.sent, 1)
	require.Equal(t, "5511987650000", product.sent[0].Number)
	require.Contains(t, product.sent[0].Body, "Lembrete de Studio: Cut")
	require.Eventually(t, func() bool { return len(types(p)) == 3 }, 30*time.Second, 50*time.Millisecond)
	require.Equal(t, []string{"appointment.created", "appointment.reminded", "appointment.reminded"}, types(p), "one for each that was sent")
}
