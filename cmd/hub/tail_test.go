package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const streamPath = "GET /api/v1/events/stream"

// eventStream answers with a part of an event stream and breaks off.
func eventStream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}
}

// sequence answers each request with the next of the handlers, and leaves those after
// the last one hanging.
func sequence(handlers ...http.HandlerFunc) http.HandlerFunc {
	next := make(chan http.HandlerFunc, len(handlers))
	for _, handler := range handlers {
		next <- handler
	}
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case request := <-next:
			request(w, r)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
}

// TestTailBreaks: streams break off in the middle, as a proxy may break them.
func TestTailBreaks(t *testing.T) {
	t.Parallel()
	o := newFakeHub(t)
	o.mux.HandleFunc(streamPath, sequence(
		eventStream(": hello\nretry: 20\n\nid: 7\nevent: delivery\ndata: {\"id\":\"d-1\",\"event_id\":\"evt_1\",\"event_type\":\"a.b\",\ndata: \"product\":\"crm\",\"status\":\"delivered\",\"status_code\":200,\"duration_ms\":3}\n\nid: 8\ndata: {\"half\":"),
		respond(503, "application/problem+json", `{"detail":"Not now.","code":"unavailable"}`),
		eventStream("retry: 20\ndata: {\"id\":\"d-2\",\"event_id\":\"evt_2\",\"status\":\"failed\"}\n\n"),
	))
	tail := newCLI(t).start("tail", "--url", o.URL, "--token", "x", "--type", "a.b")
	tail.await(tail.stdout, "evt_2")
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivered  200  evt_1  a\.b  crm  3 ms$`, tail.stdout.String())
	tail.await(tail.stderr, "Not now.")
	require.Eventually(t, func() bool { return strings.Count(tail.stderr.String(), "following") == 3 }, waitTimeout, pollInterval)
	require.Zero(t, tail.interrupt())
	requests := o.received()
	last := requests[len(requests)-1]
	require.Equal(t, "7", last.Header.Get("Last-Event-ID"), "a message cut off does not count")
	require.Equal(t, "event_type=a.b", last.URL.RawQuery)
}

func TestTailRefused(t *testing.T) {
	t.Parallel()
	o := newFakeHub(t)
	o.mux.HandleFunc(streamPath, sequence(
		respond(503, "application/problem+json", `{"detail":"Not now."}`),
		respond(200, "application/json", `{}`),
		eventStream("data: {\"b\": 1.0,\ndata: \"a\": \"\u009b<\"}\n\n"),
	))
	c := newCLI(t).withEnv("HUB_URL", o.URL).withEnv("HUB_TOKEN", "x")
	c.run("tail").requireFails(1, "Not now.")
	c.run("tail").requireFails(1, "it is not an event stream")
	tail := c.start("tail", "-o", "json")
	tail.await(tail.stdout, "\n")
	require.Equal(t, `{"b":1.0,"a":"\u009b<"}`+"\n", tail.stdout.String())
	require.Zero(t, tail.interrupt())
	c.run("tail", "--url", sharedHub(t).url).requireFails(4, "(invalid_token, request ")
}

// TestTail follows a hub that is killed and started again.
func TestTail(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	p := s.newTenant(c).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	id, email := s.createOperator(t, "support")
	away := newCLI(t)
	away.runIn(adminPassword, "login", "--url", s.url, "--email", email, "--password-stdin").requireOK()
	begin := func(c *cli, flags ...string) *backgroundCommand {
		r := c.start(append([]string{"tail"}, flags...)...)
		r.await(r.stderr, "following "+s.url)
		return r
	}
	tail, lines, other, remote := begin(c, "--tenant", p.tenant), begin(c, "-o", "json"), begin(c, "--type", "other.type"), begin(away)

	before := p.publish("a.b")
	tail.await(tail.stdout, before)
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivered  200  `+before+`  a\.b  `+p.product+`  <?\d+ ms$`, tail.stdout.String())
	lines.await(lines.stdout, before)
	var line struct {
		EventID string `json:"event_id"`
		Status  string `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(lines.stdout.String(), "\n", 2)[0]), &line))
	require.Equal(t, before, line.EventID)
	remote.await(remote.stdout, before)

	// The login of the one from away ends for good, then the hub is gone for a while
	// and has another token for this machine.
	var changed map[string]any
	s.callInto(t, &changed, 200, "PUT", "/api/v1/operators/"+id, fmt.Sprintf(`{"email":%q,"name":"Op","role":"support","disabled":true}`, email))
	s.Kill()
	tail.await(tail.stderr, "trying again in")
	env := serverEnv(c.dir, s.database, s.redis)
	env["HUB_LISTEN"] = strings.TrimPrefix(s.url, "http://")
	again := c.serve(env)
	require.NotEqual(t, s.token, again.token)
	after := p.publish("a.b")
	tail.await(tail.stdout, after)
	require.Equal(t, 1, strings.Count(tail.stdout.String(), before))
	lines.await(lines.stdout, after)
	require.Equal(t, 4, remote.wait())
	require.Contains(t, remote.stderr.String(), "the login at "+s.url+" has ended")
	require.NotContains(t, remote.stdout.String(), after)
	for _, process := range []*backgroundCommand{tail, lines, other} {
		require.Zero(t, process.interrupt())
	}
	require.Empty(t, other.stdout.String())

	// A graceful stop ends the streams at once.
	tail = begin(c)
	began := time.Now()
	require.Zero(t, again.terminate(t))
	tail.await(tail.stderr, "trying again in")
	require.Less(t, time.Since(began), 14*time.Second, "less than HUB_SHUTDOWN_GRACE")
	require.Zero(t, tail.interrupt())
}
