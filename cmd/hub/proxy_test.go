package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// newProxy starts a proxy that wants the name hub and the password a-password. It leads
// connections to any port 80 to a receiver that accepts everything, and refuses others.
func newProxy(t *testing.T) (address string) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(receiver.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		name, password, _ := r.BasicAuth()
		switch {
		case name != "hub" || password != "a-password":
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.Method != http.MethodConnect || !strings.HasSuffix(r.RequestURI, ":80"):
			w.WriteHeader(http.StatusForbidden)
		default:
			hubtest.Tunnel(w, receiver.Listener.Addr().String())
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// The example of an egress proxy in docs/receivers.md does what it says: the ping arrives
// through the proxy, and what the proxy refuses is the attempt's error.
func TestProxyExample(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	address := newProxy(t)
	env := serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t))
	env["HUB_EGRESS_PROXY"] = fmt.Sprintf("http://hub:a-password@%s", address)
	s := c.serve(env)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)

	printed := c.runExampleUnder("### An example of a proxy", "docs/receivers.md",
		"hub deliveries show", "until hub deliveries list | grep -q delivered; do sleep 0.1; done; hub deliveries show")
	require.Regexp(t, `hub\.ping .*http://93\.184\.215\.14/orders +delivered `, printed)

	var refused struct{ ID string }
	c.run("endpoints", "create", "http://93.184.215.14:8443/orders", "--tenant", "Juniper", "-o", "json").decode(&refused)
	c.ok("endpoints", "ping", refused.ID)
	awaitCondition(t, func() bool {
		deliveries := strings.Fields(c.ok("deliveries", "list", "--endpoint", refused.ID, "-q"))
		return len(deliveries) == 1 && strings.Contains(c.ok("deliveries", "show", deliveries[0]), "the egress proxy "+address+" responded to CONNECT with 403")
	})
	require.NotContains(t, s.Output(), "a-password")
}
