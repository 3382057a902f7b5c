package server_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"integrationhub/hub/config"
)

// span is one span as a collector gets it.
type span struct {
	name, trace, id, parent string
	failed                  bool
	took                    time.Duration
	attributes              map[string]string
}

// collector is a real OTLP receiver that keeps what arrives.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []span
	raw   []byte
	bad   []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(func() {
		c.Close()
		require.Empty(t, c.bad)
	})
	return c
}

func (c *collector) take(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	var data tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.bad = append(c.bad, fmt.Sprint(err, r.URL, r.Header))
	}
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				entry := span{
					name: s.GetName(), trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()),
					parent: hex.EncodeToString(s.GetParentSpanId()), failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
					took: time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano()), attributes: make(map[string]string),
				}
				for _, a := range append(resource.GetResource().GetAttributes(), s.GetAttributes()...) {
					entry.attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				c.spans = append(c.spans, entry)
			}
		}
	}
}

// named returns the spans with a name, in the order of their arrival.
func (c *collector) named(name string) []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []span
	for _, recorded := range c.spans {
		if recorded.name == name {
			list = append(list, recorded)
		}
	}
	return list
}

// Publications, commits and attempts are traced, in the publisher's trace where it
// has one; receivers do not see the trace, and no span holds a secret.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	n := newPlace(t).start(t, func(cfg *config.Config) { cfg.OTLPEndpoint = c.URL })
	a := n.account()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.WriteHeader(500)
		}
	})
	const secret = "whsec_dHJhY2VjYW5hcnl0cmFjZWNhbmFyeXRyYWNl"
	endpoint := a.endpoint(h, `"secret":"`+secret+`"`)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	got := a.call("POST", "/events", a.live, `{"event_type":"a.b","data":{"text":"payloadcanary"}}`, "traceparent", "00-"+trace+"-"+parent+"-01")
	require.Equal(t, 202, got.status, got.text)
	id := got.body["id"].(string)
	a.settles(id, endpoint, "delivered")
	a.batch(3, "a.c")
	h.wait(5)
	for _, received := range h.arrivals() {
		require.Empty(t, received.header.Get("traceparent"), "a trace ends at the hub's border")
	}
	a.refused(422, "validation_failed", "POST", "/events", a.live, `{"event_type":"payloadcanary a","data":{}}`)
	n.stop() // sends what is left

	publications := c.named("publish")
	require.Len(t, publications, 3)
	first := publications[0]
	require.Equal(t, trace, first.trace)
	require.Equal(t, parent, first.parent)
	require.False(t, first.failed)
	require.Equal(t, "integrationhub", first.attributes["service.name"])
	require.Equal(t, "shop", first.attributes["hub.product"])
	require.Equal(t, "a.b", first.attributes["hub.event_type"])
	require.Equal(t, id, first.attributes["hub.event_id"])
	require.NotEqual(t, trace, publications[1].trace, "without a traceparent a trace of its own")
	require.Empty(t, publications[1].parent)
	require.True(t, publications[2].failed)

	commits := c.named("commit")
	require.Len(t, commits, 2, "what was refused was not committed")
	require.Equal(t, first.id, commits[0].parent)
	require.Positive(t, commits[0].took)
	require.LessOrEqual(t, commits[0].took, first.took)

	var ofFirst []span
	for _, received := range c.named("attempt") {
		if received.attributes["hub.event_id"] == id {
			ofFirst = append(ofFirst, received)
		} else {
			require.Equal(t, publications[1].trace, received.trace)
		}
	}
	require.Len(t, ofFirst, 2)
	attempt, retry := ofFirst[0], ofFirst[1]
	require.Equal(t, trace, attempt.trace)
	require.Equal(t, first.id, attempt.parent)
	require.True(t, attempt.failed)
	require.NotEqual(t, trace, retry.trace, "a retry has a trace of its own")
	require.False(t, retry.failed)
	require.Equal(t, attempt.attributes["hub.delivery_id"], retry.attributes["hub.delivery_id"])
	require.Equal(t, endpoint, retry.attributes["hub.target_id"])
	require.Positive(t, retry.took)
	for _, canary := range []string{secret, a.live, n.token, "payloadcanary", masterKey} {
		require.NotContains(t, string(c.raw), canary)
	}
}

// A collector that never answers slows nobody: not publishers, not the end.
func TestTracingWithoutACollector(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hanging(release)(w, r, 0) }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	n := newPlace(t).start(t, func(cfg *config.Config) { cfg.OTLPEndpoint = silent.URL })
	a := n.account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	h.waitAll(a.batch(2000, "a.b")) // more than the exporter's queue holds
	began := time.Now()
	n.stop()
	require.Less(t, time.Since(began), 10*time.Second)
}
