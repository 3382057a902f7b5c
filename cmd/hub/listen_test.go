package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

const (
	listenSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	listenEvent  = "evt_0123456789abcdef"
	listenBody   = `{"id":"evt_0123456789abcdef","product":"crm","event_type":"contact.created","timestamp":"2026-01-02T03:04:05Z","data":{}}`
)

var listenURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// startListen starts the receiver and returns its address.
func startListen(t *testing.T, args ...string) (*backgroundCommand, string) {
	t.Helper()
	r := newCLI(t).withEnv("HUB_WEBHOOK_SECRET", listenSecret).start(append([]string{"listen"}, args...)...)
	return r, listenURL.FindString(r.await(r.stderr, "listening on"))
}

// deliver posts the test's event, signed now with a secret, and returns the status of the response.
func deliver(t *testing.T, address, secret string, change ...func(http.Header)) int {
	t.Helper()
	header := webhookHeader(listenEvent, secret, []byte(listenBody), time.Now())
	for _, edit := range change {
		edit(header)
	}
	status, _ := post(t, address, header, []byte(listenBody))
	return status
}

func TestListenVerifies(t *testing.T) {
	t.Parallel()
	r, address := startListen(t, "-o", "json", "--body")
	old := func(h http.Header) {
		at := time.Now().Add(-hub.StandardTolerance - time.Minute)
		for name, values := range webhookHeader(listenEvent, listenSecret, []byte(listenBody), at) {
			h[name] = values
		}
	}
	without := func(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }
	mixed := func(h http.Header) { h.Set(hub.HeaderSignature, hub.SignBody("whsec_other", []byte(listenBody))) }
	for _, tc := range []struct {
		status         int
		body, standard string
		secret         string
		change         []func(http.Header)
	}{
		{200, "ok", "ok", listenSecret, nil},
		{401, "wrong", "wrong", "whsec_other", nil},
		{401, "ok", "stale", listenSecret, []func(http.Header){old}},
		{401, "wrong", "ok", listenSecret, []func(http.Header){mixed}},
		{401, "missing", "ok", listenSecret, []func(http.Header){without(hub.HeaderSignature)}},
		{401, "ok", "missing", listenSecret, []func(http.Header){without(hub.HeaderStdSignature)}},
		{401, "ok", "missing", listenSecret, []func(http.Header){without(hub.HeaderStdTimestamp)}},
	} {
		before := strings.Count(r.stdout.String(), "\n")
		require.Equal(t, tc.status, deliver(t, address, tc.secret, tc.change...))
		var line struct {
			EventID  string          `json:"event_id"`
			Attempt  int             `json:"attempt"`
			Bytes    int             `json:"bytes"`
			Verified bool            `json:"verified"`
			SHA256   string          `json:"x_webhook_signature"`
			Standard string          `json:"webhook_signature"`
			Status   int             `json:"status"`
			Body     json.RawMessage `json:"body"`
		}
		require.Eventually(t, func() bool { return strings.Count(r.stdout.String(), "\n") == before+1 }, time.Minute, time.Millisecond)
		lines := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[before]), &line))
		require.Equal(t, listenEvent, line.EventID)
		require.Equal(t, []string{tc.body, tc.standard}, []string{line.SHA256, line.Standard})
		require.Equal(t, tc.status == 200, line.Verified)
		require.Equal(t, tc.status, line.Status)
		require.Equal(t, before+1, line.Attempt)
		require.Equal(t, len(listenBody), line.Bytes)
		require.JSONEq(t, listenBody, string(line.Body))
	}
	require.Equal(t, 1, r.interrupt(), "signatures were wrong")
	require.Contains(t, r.stderr.String(), "received 7: 1 verified, 6 wrong")
}

func TestListenCount(t *testing.T) {
	t.Parallel()
	r, address := startListen(t, "--count", "2")
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Zero(t, r.wait())
	require.Contains(t, r.stdout.String(), "attempt 2  121 B  signature ok")

	r, address = startListen(t, "--count", "2")
	require.Equal(t, 401, deliver(t, address, "whsec_other"))
	require.Equal(t, 1, r.wait())
	require.Contains(t, r.stdout.String(), "signature WRONG (X-Webhook-Signature wrong, webhook-signature wrong)")

	r, address = startListen(t, "--count", "2", "--timeout", "2s")
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Equal(t, 1, r.wait())
	require.Contains(t, r.stderr.String(), "only 1 of 2 verified deliveries arrived")

	r, _ = startListen(t)
	require.Zero(t, r.interrupt())
}

func TestListenAnswers(t *testing.T) {
	t.Parallel()
	r, address := startListen(t, "--fail-first", "2", "--count", "1")
	require.Equal(t, 500, deliver(t, address, listenSecret))
	require.Equal(t, 500, deliver(t, address, listenSecret))
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Zero(t, r.wait())

	r, address = startListen(t, "--status", "410", "--count", "1")
	resp, err := hubtest.HTTPClient.Get(address)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 405, resp.StatusCode)
	status, _ := post(t, address, nil, make([]byte, 2<<20+1))
	require.Equal(t, 413, status)
	require.Equal(t, 410, deliver(t, address, listenSecret))
	require.Zero(t, r.wait())
}

func TestListenForwards(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got = r.Clone(r.Context())
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(429)
		_, _ = w.Write([]byte("slow down"))
	}))
	defer peer.Close()
	r, address := startListen(t, "--forward", peer.URL+"/hooks?x=1")
	header := webhookHeader(listenEvent, listenSecret, []byte(listenBody), time.Now())
	header.Set("X-Other", "kept")
	status, text := post(t, address, header, []byte(listenBody))
	require.Equal(t, 429, status)
	require.Equal(t, "slow down", text)
	require.Equal(t, "/hooks?x=1", got.URL.String())
	require.Equal(t, listenBody, string(body))
	for name := range header {
		require.Equal(t, header.Get(name), got.Header.Get(name), name)
	}
	require.Equal(t, 429, deliver(t, address, "whsec_other"), "wrong signatures are passed on too")
	peer.Close()
	require.Equal(t, 502, deliver(t, address, listenSecret))
	r.await(r.stderr, "forwarding:")
	require.Equal(t, 1, r.interrupt())
}

func TestListenUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.run("listen", "--count", "1").requireFails(2, "--count needs a secret")
	c.run("listen", "--forward", "nowhere").requireFails(2, "--forward")
	c.run("listen", "--status", "99").requireFails(2, "--status is an HTTP status")
	c.run("listen", "--tenant", "x", "--secret", "y").requireFails(2, "none of the others can be")
	c.run("listen", "--tenant", "Acme").requireFails(4, "not logged in")

	c.writeFile("secret", listenSecret+"\n")
	r := c.start("listen", "--secret", "@secret", "--secret", "whsec_other", "--count", "2")
	address := listenURL.FindString(r.await(r.stderr, "listening on"))
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Equal(t, 200, deliver(t, address, "whsec_other"))
	require.Zero(t, r.wait())

	r = c.start("listen")
	address = listenURL.FindString(r.await(r.stderr, "signatures stay unchecked"))
	require.Equal(t, 200, deliver(t, address, "anything"))
	r.await(r.stdout, "signature unchecked")
	require.Zero(t, r.interrupt())
}

// TestListenCleansUp: the temporary endpoint goes however listening ends.
func TestListenCleansUp(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	r := p.start("listen", "--tenant", p.tenant, "--events", "contact.*", "--environment", "test")
	r.await(r.stderr, "listening on")
	var list struct {
		Items []struct {
			URL         string   `json:"url"`
			Environment string   `json:"environment"`
			EventTypes  []string `json:"event_types"`
		} `json:"items"`
	}
	p.run("endpoints", "list", "--tenant", p.tenant, "-o", "json").decode(&list)
	require.Len(t, list.Items, 1)
	require.Equal(t, "test", list.Items[0].Environment)
	require.Equal(t, []string{"contact.*"}, list.Items[0].EventTypes)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/$`, list.Items[0].URL)
	require.Zero(t, r.interrupt())
	require.Empty(t, p.run("endpoints", "list", "--tenant", p.tenant, "-q").requireOK())

	require.Equal(t, 1, p.run("listen", "--tenant", p.tenant, "--timeout", "10ms", "--count", "1").code)
	require.Empty(t, p.run("endpoints", "list", "--tenant", p.tenant, "-q").requireOK())
}
