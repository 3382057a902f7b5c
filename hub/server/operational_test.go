package server_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// envelope is an event as a receiver reads it.
type envelope struct {
	ID        string
	Product   string
	EventType string `json:"event_type"`
	Data      map[string]any
}

func envelopesOf(t *testing.T, h *hook) (list []envelope) {
	t.Helper()
	for _, arrival := range h.arrivals() {
		var e envelope
		require.NoError(t, json.Unmarshal(arrival.body, &e))
		list = append(list, e)
	}
	return list
}

// ofType returns the envelopes of a type that a hook got.
func ofType(t *testing.T, h *hook, eventType string) (list []envelope) {
	t.Helper()
	for _, e := range envelopesOf(t, h) {
		if e.EventType == eventType {
			list = append(list, e)
		}
	}
	return list
}

// waitType waits for events of a type and returns them.
func waitType(t *testing.T, h *hook, eventType string, n int) []envelope {
	t.Helper()
	require.Eventually(t, func() bool { return len(ofType(t, h, eventType)) >= n }, 2*soon, 5*tick, "%d of %s", n, eventType)
	return ofType(t, h, eventType)
}

// An endpoint that responds 410 is disabled: an endpoint of its tenant that subscribed to hub.*
// gets to know of it, once; one that subscribed to * does not, and neither does another tenant.
func TestDisabledEndpointIsPublished(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a, other := n.account(), n.account()
	gone := newHook(t, answering(http.StatusGone))
	watching, named, plain, foreign := newHook(t, nil), newHook(t, nil), newHook(t, nil), newHook(t, nil)
	a.endpoint(watching, `"event_types":["hub.*"]`)
	a.endpoint(named, `"event_types":["hub.endpoint.disabled"]`)
	a.endpoint(plain, `"event_types":["*"]`)
	other.endpoint(foreign, `"event_types":["hub.*","*"]`)
	endpoint := a.endpoint(gone, `"event_types":["a.*"]`)
	a.publish("a.b", `{}`)

	got := waitType(t, watching, "hub.endpoint.disabled", 1)[0]
	require.Equal(t, "hub", got.Product)
	require.Equal(t, endpoint, got.Data["endpoint_id"])
	require.Equal(t, gone.url, got.Data["url"])
	require.Equal(t, "gone", got.Data["reason"])
	require.Equal(t, []any{a.tenant, "Tenant", "shop", "live"}, []any{got.Data["tenant_id"], got.Data["tenant_name"], got.Data["product"], got.Data["environment"]})
	waitType(t, named, "hub.endpoint.disabled", 1)
	parked := waitType(t, watching, "hub.delivery.parked", 1)[0]
	require.Equal(t, []any{endpoint, "a.b", "gone"}, []any{parked.Data["endpoint_id"], parked.Data["event_type"], parked.Data["reason"]})
	for range 3 { // parked at once: the endpoint is disabled
		a.publish("a.b", `{}`)
	}
	require.Eventually(t, func() bool { return p.count(t, `status = 2`) == 4 }, soon, tick)
	p.noSignals(t)
	require.Len(t, envelopesOf(t, watching), 2)
	require.Len(t, envelopesOf(t, named), 1)
	for _, e := range envelopesOf(t, plain) {
		require.Equal(t, "a.b", e.EventType)
	}
	require.Empty(t, foreign.arrivals())
	require.Contains(t, a.call("GET", "/metrics", "", "").text, `hub_operational_events_total{type="hub.endpoint.disabled"} 1`)
}

// noSignals waits until every signal is published and delivered.
func (p place) noSignals(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var signals, pending int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select (select count(*) from hub.signals), (select count(*) from hub.deliveries where status = 0)`).Scan(&signals, &pending))
		return signals+pending == 0
	}, 2*soon, 5*tick)
}

// A tenant's endpoint gets to know that an integration failed and recovered, and that another
// endpoint was abandoned.
func TestIntegrationsAndAbandonedEndpointsArePublished(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	watching := newHook(t, nil)
	a.endpoint(watching, `"event_types":["hub.*"]`)
	unused := a.endpoint(newHook(t, nil), `"event_types":["a.*"]`)
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := p.pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	integration := uuid.NewString()
	exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ($1, $2, 'live', 'clinic', 'inactive', 'https://hub.example.com/w')`, integration, a.tenant)
	exec(`update hub.integrations set status = 'error', last_error = 'the peer answered 503', error_at = now() where id = $1`, integration)
	failed := waitType(t, watching, "hub.integration.error", 1)[0]
	require.Equal(t, []any{integration, "clinic", "the peer answered 503", a.tenant, "live"},
		[]any{failed.Data["integration_id"], failed.Data["peer"], failed.Data["error"], failed.Data["tenant_id"], failed.Data["environment"]})
	require.NotEmpty(t, failed.Data["error_since"])
	exec(`update hub.integrations set status = 'active' where id = $1`, integration)
	recovered := waitType(t, watching, "hub.integration.recovered", 1)[0]
	require.Equal(t, []any{integration, "clinic"}, []any{recovered.Data["integration_id"], recovered.Data["peer"]})
	require.NotEmpty(t, recovered.Data["recovered_at"])

	exec(`update hub.endpoints set enabled = false, disabled_at = now() - interval '15 days', abandoned_at = now() where id = $1`, unused)
	abandoned := waitType(t, watching, "hub.endpoint.abandoned", 1)[0]
	require.Equal(t, []any{unused, "Tenant"}, []any{abandoned.Data["endpoint_id"], abandoned.Data["tenant_name"]})
	require.NotEmpty(t, abandoned.Data["abandoned_at"])
	p.noSignals(t)
	require.Len(t, envelopesOf(t, watching), 3)
}

// An endpoint at which every attempt fails is published as failing, once. It recovers when
// deliveries succeed and none fails for a while: flapping does not publish more.
func TestFailingEndpointIsPublishedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, func(c *config.Config) { c.EndpointFailingAfter = 10 * time.Second }).account()
	var isDown atomic.Bool
	isDown.Store(true)
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if isDown.Load() {
			w.WriteHeader(500)
		}
	})
	watching := newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["a.*","hub.*"]`) // it gets the events about itself, and those are no failure
	a.endpoint(watching, `"event_types":["hub.endpoint.*"]`)
	a.batch(5, "a.b")
	got := waitType(t, watching, "hub.endpoint.failing", 1)[0]
	require.Equal(t, endpoint, got.Data["endpoint_id"])
	require.GreaterOrEqual(t, got.Data["attempts"].(float64), 5.0)
	isDown.Store(false)
	a.publish("a.b", `{}`)
	recovered := waitType(t, watching, "hub.endpoint.recovered", 1)[0]
	require.Equal(t, got.Data["failing_since"], recovered.Data["failing_since"])
	require.Len(t, envelopesOf(t, watching), 2)
}
