package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testProxy is a proxy that records what it is asked for and leads every tunnel to one server.
type testProxy struct {
	url    *url.URL
	leadTo string // host:port
	answer string // instead of a tunnel
	mu     sync.Mutex
	asked  []string // first line and Proxy-Authorization
}

func newTestProxy(t *testing.T, leadTo, answer string) *testProxy {
	t.Helper()
	p := &testProxy{leadTo: leadTo, answer: answer}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.url = &url.URL{Scheme: "http", Host: listener.Addr().String(), User: url.UserPassword("hub", "a secret:word")}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	return p
}

func (p *testProxy) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	request, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, request.Method+" "+request.RequestURI+" "+request.Host+" "+request.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if p.answer != "" {
		_, _ = io.WriteString(conn, p.answer)
		return
	}
	to, err := net.Dial("tcp", p.leadTo)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\nX-Note: a header\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, in)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, to)
	_ = conn.Close()
	<-done
}

func (p *testProxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

const basic = "Basic aHViOmEgc2VjcmV0OndvcmQ="

// The guard resolves and checks, and the proxy is asked for the address that was checked. The
// name is the Host and the SNI of what goes through the tunnel, for https and for http.
func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	type seen struct{ host, sni string }
	got := make(chan seen, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s := seen{host: r.Host}
		if r.TLS != nil {
			s.sni = r.TLS.ServerName
		}
		got <- s
	})
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	resolver := &names{answers: map[string][][]string{"example.com": {{"93.184.215.14"}}, "six.example.com": {{"2606:2800:21f:cb07::1"}}}}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for _, c := range []struct{ url, leadTo, asked, host, sni string }{
		{"https://example.com/x", secure.Listener.Addr().String(), "93.184.215.14:443", "example.com", "example.com"},
		{"http://example.com:8080/x", plain.Listener.Addr().String(), "93.184.215.14:8080", "example.com:8080", ""},
		{"http://six.example.com/x", plain.Listener.Addr().String(), "[2606:2800:21f:cb07::1]:80", "six.example.com", ""},
	} {
		p := newTestProxy(t, c.leadTo, "")
		g := newGuard(t, Config{Resolver: resolver, Proxy: p.url})
		transport := &http.Transport{DialContext: g.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		res, err := client.Get(c.url)
		require.NoError(t, err, c.url)
		require.NoError(t, res.Body.Close())
		transport.CloseIdleConnections()
		require.Equal(t, seen{c.host, c.sni}, <-got)
		require.Equal(t, []string{"CONNECT " + c.asked + " " + c.asked + " " + basic}, p.requests())
	}
}

// A connection through an http proxy is the kernel's, so that an idle one can be looked at.
func TestProxyConnectionIsOfTheKernel(t *testing.T) {
	t.Parallel()
	target, accepted := listen(t, "127.0.0.1", "0")
	p := newTestProxy(t, target, "")
	g := newGuard(t, Config{Proxy: p.url})
	conn, err := g.DialContext(t.Context(), "tcp", "93.184.215.14:443")
	require.NoError(t, err)
	<-accepted
	require.IsType(t, &net.TCPConn{}, conn)
	require.NoError(t, conn.Close())
}

// What the rules refuse is not asked for; the hub's own addresses and loopback go direct.
func TestProxyComesAfterTheRules(t *testing.T) {
	t.Parallel()
	open, accepted := listen(t, "127.0.0.1", "0")
	_, port, err := net.SplitHostPort(open)
	require.NoError(t, err)
	p := newTestProxy(t, open, "")
	resolver := &names{answers: map[string][][]string{
		"hub.example": {{"127.0.0.1"}}, "inside.example": {{"10.0.0.1"}}, "meta.example": {{"169.254.169.254"}}, "mixed.example": {{"10.0.0.1", "93.184.215.14"}},
	}}
	g := newGuard(t, Config{Resolver: resolver, Proxy: p.url, SelfURLs: []string{"http://hub.example:" + port}})
	for _, address := range []string{"inside.example:80", "meta.example:80", "10.0.0.1:80", "127.0.0.1:" + port, p.url.Host} {
		var unreachable *UnreachableError
		require.ErrorAs(t, dial(t, g, address), &unreachable, address)
		require.True(t, unreachable.Refused, address)
	}
	require.NoError(t, dial(t, g, "hub.example:"+port))
	<-accepted
	development := newGuard(t, Config{Proxy: p.url, Development: true})
	require.NoError(t, dial(t, development, open))
	<-accepted
	require.Empty(t, p.requests())
	require.NoError(t, dial(t, g, "mixed.example:443"))
	require.Equal(t, []string{"CONNECT 93.184.215.14:443 93.184.215.14:443 " + basic}, p.requests(), "only what was allowed")
	allowed := newGuard(t, Config{Resolver: resolver, Proxy: p.url, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	require.NoError(t, dial(t, allowed, "inside.example:80"))
	require.Len(t, p.requests(), 2, "an opened network is behind the proxy, too")
}

// An https proxy is spoken to by TLS, with its name checked.
func TestProxyOverTLS(t *testing.T) {
	t.Parallel()
	p := newTestProxy(t, "", "")
	front := httptest.NewUnstartedServer(nil)
	front.StartTLS() // for its certificate
	t.Cleanup(front.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", front.TLS)
	require.NoError(t, err)
	p.answer = "HTTP/1.1 200 OK\r\n\r\n"
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	g := newGuard(t, Config{Proxy: &url.URL{Scheme: "https", Host: listener.Addr().String()}})
	var failure *ProxyError
	require.ErrorAs(t, dial(t, g, "93.184.215.14:443"), &failure)
	require.Equal(t, "the egress proxy "+listener.Addr().String()+" has no valid TLS session", failure.Error())
	g.proxy.tls.RootCAs = x509.NewCertPool()
	g.proxy.tls.RootCAs.AddCert(front.Certificate())
	require.NoError(t, dial(t, g, "93.184.215.14:443"))
	require.Equal(t, []string{"CONNECT 93.184.215.14:443 93.184.215.14:443 "}, p.requests())
}

// Errors name the proxy, without its credentials and without the address.
func TestProxyErrors(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	nobody := &url.URL{Scheme: "http", Host: closed.Addr().String(), User: url.UserPassword("hub", "secret")}
	for answer, want := range map[string]string{
		"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 6\r\n\r\nsecret": "responded to CONNECT with 407",
		"HTTP/1.1 502 Bad Gateway\r\n\r\n":                                              "responded to CONNECT with 502",
		"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n":                                     "responded to CONNECT with 301",
		"garbage": "did not respond to CONNECT",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxProxyAnswer): "did not respond to CONNECT",
		"HTTP/1.1 200 OK\r\n\r\nearly":                                 "sent data before the tunnel was used",
		"":                                                             "cannot be reached",
	} {
		at := nobody
		if answer != "" {
			at = newTestProxy(t, "", answer).url
		}
		g := newGuard(t, Config{Proxy: at})
		var failure *ProxyError
		require.ErrorAs(t, dial(t, g, "93.184.215.14:443"), &failure, want)
		require.Equal(t, "the egress proxy "+at.Host+" "+want, failure.ProxyFailure())
		require.NotContains(t, failure.Error(), "secret")
		require.False(t, failure.Timeout())
	}
	name, err := newGuard(t, Config{Proxy: nobody}).CheckProxy(t.Context())
	require.Equal(t, nobody.Host, name)
	require.EqualError(t, err, "the egress proxy "+nobody.Host+" cannot be reached")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	g := newGuard(t, Config{Proxy: &url.URL{Scheme: "http", Host: silent.Addr().String()}})
	name, err = g.CheckProxy(t.Context())
	require.NoError(t, err)
	require.Equal(t, silent.Addr().String(), name)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = g.DialContext(ctx, "tcp", "93.184.215.14:443")
	var failure *ProxyError
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.Timeout())
}
