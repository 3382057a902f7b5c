package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// mtlsReceiver is a receiver that records whose certificates it was shown, by path.
type mtlsReceiver struct {
	url  string
	mu   sync.Mutex
	seen map[string][]string // "" = none
	from map[string]string   // address of the last connection, by path
}

func newMTLSReceiver(t *testing.T, a *hubtest.Authority) *mtlsReceiver {
	t.Helper()
	r := &mtlsReceiver{seen: make(map[string][]string), from: make(map[string]string)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		name := ""
		if len(req.TLS.PeerCertificates) > 0 {
			name = req.TLS.PeerCertificates[0].Subject.CommonName
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen[req.URL.Path] = append(r.seen[req.URL.Path], name)
		r.from[req.URL.Path] = req.RemoteAddr
	}))
	certificate, key := a.Issue("receiver", time.Now().Add(time.Hour))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	require.NoError(t, err)
	clients := x509.NewCertPool()
	clients.AddCert(a.Certificate)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// waitFor waits for so many requests of a path and returns whose certificates they had.
func (r *mtlsReceiver) waitFor(t *testing.T, path string, n int) (names []string) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		names = append([]string(nil), r.seen[path]...)
		return len(names) >= n
	}, waitTimeout, pollInterval)
	return names
}

// A client certificate is shown to its endpoint's receiver alone, on connections of its own,
// and another one from the next attempt on. Its key is shown nowhere.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	a, c := hubtest.NewAuthority(t), newCLI(t)
	receiver := newMTLSReceiver(t, a)
	env := serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t))
	env["SSL_CERT_FILE"] = c.writeFile("authority.pem", a.PEM)
	s := c.serve(env)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	write := func(name string, ends time.Duration) (certificate, key string) {
		chain, plain := a.Issue(name, time.Now().Add(ends))
		return c.writeFile(name+".pem", chain), c.writeFile(name+".key", plain)
	}
	firstEnd := time.Now().Add(time.Hour).Truncate(time.Second)
	firstChain, firstPlain := a.Issue("first", firstEnd)
	firstCert, firstKey := c.writeFile("first.pem", firstChain), c.writeFile("first.key", firstPlain)
	secondCert, secondKey := write("second", 2*time.Hour)
	c.ok("products", "create", "crm", "--prefix", "crm")
	c.ok("tenants", "create", "Acme", "--product", "crm")
	create := func(path string, args ...string) (id string) {
		c.ok(append([]string{"endpoints", "create", receiver.url + path, "--tenant", "Acme"}, args...)...)
		return strings.Fields(c.ok("endpoints", "list", "-q"))[0]
	}
	mine := create("/mine", "--client-certificate", firstCert, "--client-key", firstKey)
	other := create("/other")
	twin := create("/twin", "--client-certificate", firstCert, "--client-key", firstKey)
	for n := range 2 {
		for id, path := range map[string]string{mine: "/mine", other: "/other", twin: "/twin"} {
			c.ok("endpoints", "ping", id)
			receiver.waitFor(t, path, n+1)
		}
	}
	require.Equal(t, []string{"first", "first"}, receiver.waitFor(t, "/mine", 2))
	require.Equal(t, []string{"", ""}, receiver.waitFor(t, "/other", 2))
	require.Equal(t, []string{"first", "first"}, receiver.waitFor(t, "/twin", 2))
	receiver.mu.Lock()
	require.NotEqual(t, receiver.from["/mine"], receiver.from["/other"])
	require.NotEqual(t, receiver.from["/mine"], receiver.from["/twin"])
	receiver.mu.Unlock()
	create("/later", "--client-certificate", secondCert, "--client-key", secondKey)
	_, metrics := s.call(t, "GET", "/metrics", "")
	require.Contains(t, metrics, fmt.Sprintf("\nhub_client_certificate_expiry_timestamp_seconds{product=\"crm\"} %s\n", strconv.FormatFloat(float64(firstEnd.Unix()), 'g', -1, 64)))

	require.Contains(t, c.ok("endpoints", "update", mine, "--client-certificate", secondCert, "--client-key", secondKey), "CN=second, until ")
	c.ok("endpoints", "ping", mine)
	require.Equal(t, "second", receiver.waitFor(t, "/mine", 3)[2])
	require.NotContains(t, c.ok("endpoints", "update", mine, "--client-certificate", ""), "CN=")
	c.ok("endpoints", "ping", mine)
	require.Empty(t, receiver.waitFor(t, "/mine", 4)[3])

	expiredCert, expiredKey := write("expired", -time.Hour)
	encrypted := c.writeFile("encrypted.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	for _, wrong := range []struct {
		certificate, key, says string
	}{
		{firstCert, secondKey, "body.client_certificate.key is not the key of the certificate"},
		{expiredCert, expiredKey, "body.client_certificate.certificate expired on"},
		{firstCert, encrypted, "body.client_certificate.key is encrypted"},
		{firstKey, firstKey, "body.client_certificate.certificate must be a certificate"},
		{firstCert, firstCert, "body.client_certificate.key must be a private key"},
		{firstCert, "", "go together"},
		{c.writeFile("empty.pem", ""), c.writeFile("empty.key", ""), "empty.pem: it is empty"},
	} {
		got := c.run("endpoints", "update", twin, "--client-certificate", wrong.certificate, "--client-key", wrong.key)
		require.NotZero(t, got.code, filepath.Base(wrong.key))
		require.Contains(t, got.stderr, wrong.says)
	}
	require.Contains(t, c.run("endpoints", "update", twin, "--endpoint-url", "http://127.0.0.1:9/plain").stderr, "must be an https address")
	require.Contains(t, c.ok("endpoints", "show", twin), "CN=first")
	for _, text := range []string{c.ok("endpoints", "list", "-o", "json"), c.ok("endpoints", "show", twin, "-o", "json"), c.ok("audit", "-o", "json"), s.Output()} {
		require.NotContains(t, text, "PRIVATE KEY")
	}
}

// The example of docs/receivers.md does what it says.
func TestReceiverExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	removed := "hub endpoints update \"$ENDPOINT\" --header ''"
	printed, after, found := strings.Cut(c.runExample("docs/receivers.md", removed, "echo ===\n"+removed), "===\n")
	require.True(t, found)
	require.Regexp(t, `headers +Authorization: \*\*\*x7Qz, X-Tenant: \*\*\*`, printed)
	require.Regexp(t, `client certificate +CN=hub.example.com, until `, printed)
	require.NotContains(t, printed, "Bearer")
	require.NotContains(t, after, "X-Tenant")
	require.NotContains(t, after, "CN=")
}
