package productapi_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// openNotes is the product "notes" whose host the test keeps.
type openNotes struct {
	notes.Module
	host chan module.Host
}

func (m openNotes) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	m.host <- host
	return m.Module.Open(ctx, host)
}

// note is an event with its place in an order.
type note struct {
	key, text string
	priority  hub.Priority
}

// publishNotes publishes each note in a transaction of its own.
func (o *tenant) publishNotes(host module.Host, list ...note) {
	o.t.Helper()
	for _, n := range list {
		data, err := json.Marshal(map[string]string{"text": n.text})
		require.NoError(o.t, err)
		require.NoError(o.t, pgx.BeginFunc(o.t.Context(), host.Pool, func(tx pgx.Tx) error {
			_, err := host.Events.Publish(o.t.Context(), tx, hub.Event{
				TenantID: uuid.MustParse(o.id), Environment: hub.Live, Type: notes.EventCreated, Data: data, OrderingKey: n.key, Priority: n.priority,
			})
			return err
		}))
	}
}

// A peer gets the events of one ordering key one at a time, in the order of their
// acceptance, whatever their priority; what has no key goes by priority, before them. An
// administrator can turn that off.
func TestPeersGetEventsInOrder(t *testing.T) {
	t.Parallel()
	product := openNotes{notes.New("notes"), make(chan module.Host, 1)}
	o, p := startWith(t, []module.Module{product, notes.New("board")}, nil, crm(6000)).signUp("notes"), newPeerOfDocuments(t)
	host := <-product.host
	id := o.do(200, "POST", "/connect", connectBody("crm", "crm_live_key", p.URL+"/api/v1")).body["id"].(string)
	path := "/api/v1/integrations/" + id
	require.Equal(t, true, o.ok(200, "GET", path, "").body["ordered"])
	count := func(status string) int { return len(o.deliveries("&status=" + status)) }

	o.ok(200, "POST", path+"/disable", "")
	o.publishNotes(host, note{"a", "a1", hub.PriorityNormal}, note{"a", "a2", hub.PriorityBulk}, note{"b", "b1", hub.PriorityBulk},
		note{"a", "a3", hub.PriorityHigh}, note{"b", "b2", hub.PriorityNormal}, note{"a", "a4", hub.PriorityNormal}, note{"", "deletion", hub.PriorityHigh})
	require.Eventually(t, func() bool { return count("parked") == 3 }, soon, tick, "the first of each key, and the deletion")
	require.Equal(t, 4, count("pending"), "those behind wait")
	o.ok(200, "POST", path+"/enable", "")
	require.Eventually(t, func() bool { return len(p.texts()) == 7 }, 2*soon, tick)
	require.Equal(t, "deletion", p.texts()[0])
	for key, want := range map[string][]string{"a": {"a1", "a2", "a3", "a4"}, "b": {"b1", "b2"}} {
		got := slices.DeleteFunc(p.texts(), func(text string) bool { return !strings.HasPrefix(text, key) })
		require.Equal(t, want, got)
	}

	o.ok(200, "POST", path+"/disable", "")
	o.publishNotes(host, note{"a", "a5", hub.PriorityNormal})
	o.ok(200, "PUT", path, `{"ordered":false}`)
	o.publishNotes(host, note{"a", "a6", hub.PriorityNormal}, note{"a", "a7", hub.PriorityNormal})
	require.Eventually(t, func() bool { return count("parked") == 3 }, soon, tick, "none is behind another")
	o.ok(200, "PUT", path, `{"ordered":false}`)
	require.Equal(t, false, o.ok(200, "GET", path, "").body["ordered"])
	audited := o.ok(200, "GET", "/api/v1/audit?action=integrations.update&resource_id="+id, "").body["items"].([]any)
	require.Len(t, audited, 1, "what changes nothing is not recorded")
	require.Equal(t, []any{"ordered"}, audited[0].(map[string]any)["changed"])
}
