package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// With HUB_EGRESS_PROXY deliveries to other machines go through the proxy, to the address that
// was checked; those to loopback do not. What fails names the proxy and not its password.
func TestEgressProxy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := newHook(t, nil)
	receiver, err := url.Parse(h.url)
	require.NoError(t, err)
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if strings.HasPrefix(r.RequestURI, "1.0.0.1:") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		hubtest.Tunnel(w, receiver.Host)
	}))
	t.Cleanup(proxy.Close)
	address := strings.TrimPrefix(proxy.URL, "http://")
	a := p.start(t, func(c *config.Config) { c.EgressProxy = config.Secret("http://hub:a-password@" + address) }).account()

	direct := a.endpoint(h, `"event_types":["direct"]`)
	a.settles(a.publish("direct", `{}`), direct, "delivered")
	require.Empty(t, asked)

	subscribe := func(to, eventType string) string {
		made := a.ok(201, "POST", "/endpoints", `{"tenant_id":"`+a.tenant+`","url":"`+to+`","event_types":["`+eventType+`"]}`)
		h.trust(made["secret"].(string))
		return made["id"].(string)
	}
	other := subscribe("http://93.184.215.14:8081/hook", "other")
	for range 3 {
		a.settles(a.publish("other", `{}`), other, "delivered")
	}
	mu.Lock()
	require.NotEmpty(t, asked)
	for _, line := range asked {
		require.Equal(t, "CONNECT 93.184.215.14:8081 Basic aHViOmEtcGFzc3dvcmQ=", line)
	}
	require.LessOrEqual(t, len(asked), 3, "connections are kept")
	mu.Unlock()

	refused := subscribe("http://1.0.0.1/hook", "refused")
	id := a.publish("refused", `{}`)
	require.Eventually(t, func() bool {
		attempts := a.delivery(id, refused)["attempts"].([]any)
		return len(attempts) > 0 && attempts[0].(map[string]any)["error"] == "connecting: the egress proxy "+address+" responded to CONNECT with 403"
	}, soon, 5*tick)
	require.Regexp(t, `\nhub_egress_proxy_failures_total [1-9]`, a.call("GET", "/metrics", "", "").text)
	require.NotContains(t, a.log.String(), "a-password")
	key := a.ok(201, "POST", "/keys", `{"tenant_id":"`+a.tenant+`","scopes":["deliveries.read"]}`)["api_key"].(string)
	shown := a.call("GET", "/deliveries/"+a.delivery(id, refused)["id"].(string), "", "", hub.HeaderKey, key)
	require.Equal(t, "connecting: host unreachable", shown.body["attempts"].([]any)[0].(map[string]any)["error"], "the proxy is the operators' affair")
	require.NotContains(t, shown.text, address)
	got := a.call("POST", "/endpoints", a.token, `{"tenant_id":"`+a.tenant+`","url":"http://10.0.0.1/x","event_types":["*"]}`)
	require.Equal(t, 422, got.status, "the rules hold before it: %s", got.text)
}
