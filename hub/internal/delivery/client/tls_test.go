package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen is what a TLS server saw of a request.
type seen struct {
	host, body, alpn, sni string
	resumed               bool
}

// tlsServer records requests; hijack, when set, takes the connection over.
func tlsServer(t *testing.T, cfg *tls.Config, got chan<- seen, hijack func(net.Conn)) *httptest.Server {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hijack != nil {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				hijack(conn)
			}
			return
		}
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Host, string(body), r.TLS.NegotiatedProtocol, r.TLS.ServerName, r.TLS.DidResume}
		w.WriteHeader(201)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg.NextProtos = []string{"h2", "http/1.1"} // h2 is offered, and must not be taken
	srv.TLS = cfg
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func roots(srv *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return &tls.Config{RootCAs: pool}
}

// dialTo connects to a server whatever the address asked for.
func dialTo(srv *httptest.Server) DialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, time.Duration, time.Duration, error) {
		return dialPlain(ctx, network, srv.Listener.Addr().String())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	got := make(chan seen, 1)
	srv := tlsServer(t, new(tls.Config), got, nil)
	c := newClient(t, Config{TLS: roots(srv), Dial: dialTo(srv)})
	tg := target(t, "https://Example.com/x")
	var resp Response
	want := seen{host: "example.com", body: `{"a":1}`, alpn: "http/1.1", sni: "example.com"}

	require.NoError(t, post(c, tg, &resp))
	require.Equal(t, 201, resp.Status)
	require.Equal(t, want, <-got)
	require.Positive(t, resp.Phases.TLS)
	require.Positive(t, resp.Phases.FirstByte)

	for range 3 { // the probe digests the session tickets and finds nothing else
		require.NoError(t, post(c, tg, &resp))
		require.True(t, resp.Phases.Reused)
		require.Zero(t, resp.Phases.TLS)
		require.Equal(t, want, <-got)
	}

	closeAll(c.idle.takeOlder(time.Now().Add(time.Hour)))
	require.NoError(t, post(c, tg, &resp))
	want.resumed = true
	require.Equal(t, want, <-got)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	closeAll(c.idle.takeOlder(time.Now().Add(time.Hour)))
	require.NoError(t, c.Post(ctx, tg, nil, make([]byte, 100<<10), &resp))
	require.Len(t, (<-got).body, 100<<10)
}

func TestTLSFailures(t *testing.T) {
	t.Parallel()
	srv := tlsServer(t, new(tls.Config), make(chan seen, 9), nil)
	modern := tlsServer(t, &tls.Config{MinVersion: tls.VersionTLS13}, make(chan seen, 9), nil)
	mutual := tlsServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, make(chan seen, 9), nil)
	expired, old := roots(srv), roots(modern)
	expired.Time = func() time.Time { return time.Now().AddDate(1000, 0, 0) }
	old.MaxVersion = tls.VersionTLS12
	plain := serve(t, func(p *peer) { p.send("HTTP/1.1 400 Bad Request\r\n\r\n") })
	closing := serve(t, func(p *peer) { _, _ = p.Read(make([]byte, 1)); p.reset() })
	hanging := serve(t, func(p *peer) { p.hang() })
	https := func(s *rawServer) string { return strings.Replace(s.url, "http", "https", 1) }

	for name, tc := range map[string]struct {
		url  string
		cfg  *tls.Config
		kind Kind
		text string
	}{
		"unknown authority":  {srv.URL, nil, KindTLS, "setting up TLS: the certificate is signed by an unknown authority"},
		"another name":       {"https://peer.invalid/", roots(srv), KindTLS, "setting up TLS: the certificate is not valid for this host"},
		"expired":            {srv.URL, expired, KindTLS, "setting up TLS: the certificate has expired or is not yet valid"},
		"plain HTTP":         {https(plain), nil, KindTLS, "setting up TLS: the peer does not speak TLS"},
		"reset":              {https(closing), nil, KindReset, "setting up TLS: the peer reset the connection"},
		"hang":               {https(hanging), nil, KindTimeout, "setting up TLS: timed out"},
		"no common version":  {modern.URL, old, KindTLS, "setting up TLS: the peer refused: protocol version not supported"},
		"client certificate": {mutual.URL, roots(mutual), KindTLS, "waiting for the response: the peer refused: certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{TLS: tc.cfg, Timeout: 5 * time.Second}
			if tc.kind == KindTimeout {
				cfg.Timeout = short
			}
			if name == "another name" {
				cfg.Dial = dialTo(srv)
			}
			c := newClient(t, cfg)
			var resp Response
			requireKind(t, post(c, target(t, tc.url), &resp), tc.kind, tc.text)
			require.Positive(t, resp.Phases.TLS)
		})
	}
}

// The refusal is reported even when the sending broke before it could be read.
func TestTLSRefusalWhileSending(t *testing.T) {
	t.Parallel()
	srv := tlsServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, nil, nil)
	c := newClient(t, Config{TLS: roots(srv)})
	var resp Response
	err := c.Post(t.Context(), target(t, srv.URL), nil, make([]byte, 16<<20), &resp)
	requireKind(t, err, KindTLS, "waiting for the response: the peer refused: certificate required")
}

func TestCancelDuringTLS(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	srv := serve(t, func(p *peer) {
		_, _ = p.Read(make([]byte, 1))
		cancel()
		p.hang()
	})
	c := newClient(t, Config{})
	var resp Response
	err := c.Post(ctx, target(t, strings.Replace(srv.url, "http", "https", 1)), nil, nil, &resp)
	requireKind(t, err, KindCanceled, "setting up TLS: canceled")
	require.Less(t, resp.Phases.Total, 5*time.Second)
}

func TestStrayBytesInsideTLS(t *testing.T) {
	t.Parallel()
	next, done := make(chan struct{}), make(chan struct{})
	conns := 0
	srv := tlsServer(t, new(tls.Config), nil, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		conns++
		_, _ = conn.Write([]byte(okAnswer))
		if conns == 1 {
			<-next
			_, _ = conn.Write([]byte("HTTP/1.1 500 Stray\r\nContent-Length: 0\r\n\r\n"))
			<-done
		}
	})
	defer close(done)
	c := newClient(t, Config{TLS: roots(srv)})
	tg := target(t, srv.URL)
	var resp Response
	require.NoError(t, post(c, tg, &resp))
	close(next)
	awaitInput(t, c)
	require.NoError(t, post(c, tg, &resp))
	require.Equal(t, 200, resp.Status)
	require.False(t, resp.Phases.Reused)
}
