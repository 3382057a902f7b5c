package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListPages(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	for n := range 450 {
		s.put("events", object{"id": fmt.Sprintf("evt_%03d", n), "event_type": "a.b", "unknown": "kept"})
	}
	first := c.run("events", "list", "-q").ok()
	require.Len(t, strings.Split(first, "\n"), 50)
	require.True(t, strings.HasPrefix(first, "evt_449\nevt_448\n"), "newest first")
	note := c.run("events", "list", "--limit", "3")
	require.Len(t, strings.Split(note.ok(), "\n"), 4)
	require.Contains(t, note.err, "there is more: --all, or --cursor 3")
	require.True(t, strings.HasPrefix(c.run("events", "list", "--cursor", "3", "-q").ok(), "evt_446\n"))
	require.Len(t, strings.Split(c.run("events", "list", "--all", "-q").ok(), "\n"), 450)
	require.Len(t, strings.Split(c.run("events", "list", "--limit", "201", "-q").ok(), "\n"), 201)
	require.Equal(t, "cursor=200&limit=1", s.last("/api/v1/events").query)
	c.run("events", "list", "--limit", "0").fails(2, "--limit is at least 1")

	// JSON is the API's answer: one page as it came, several as one.
	type page struct {
		Items      []map[string]string `json:"items"`
		NextCursor *string             `json:"next_cursor"`
	}
	var got page
	c.run("events", "list", "-o", "json").into(&got)
	require.Len(t, got.Items, 50)
	require.Equal(t, "kept", got.Items[0]["unknown"])
	require.Equal(t, "50", *got.NextCursor)
	got = page{}
	c.run("events", "list", "--all", "-o", "json").into(&got)
	require.Len(t, got.Items, 450)
	require.Equal(t, "kept", got.Items[449]["unknown"])
	require.Nil(t, got.NextCursor)
}

func TestLogFilters(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	s.put("tenants", object{"id": "t-1", "product": "crm", "name": "Acme"})
	c.run("deliveries", "list", "--direction", "outbound", "--product", "crm", "--tenant", "Acme", "--integration", "i", "--endpoint", "e",
		"--type", "a.b", "--status", "failed", "--status-code", "500", "--correlation-id", "c", "--event", "evt_1", "--query", "x y",
		"--since", "2026-01-31", "--until", "2026-02-01T12:00:00.5+02:00", "--limit", "7", "--cursor", "z").ok()
	require.Equal(t, "correlation_id=c&cursor=z&direction=outbound&endpoint_id=e&event_id=evt_1&event_type=a.b&integration_id=i&limit=7"+
		"&product=crm&q=x+y&since=2026-01-31T00%3A00%3A00Z&status=failed&status_code=500&tenant_id=t-1&until=2026-02-01T10%3A00%3A00.5Z",
		s.last("/api/v1/deliveries").query)

	c.run("audit", "--tenant", "Acme", "--actor", "o", "--action", "keys.create", "--resource", "keys").ok()
	require.Equal(t, "action=keys.create&actor_id=o&limit=50&resource=keys&tenant_id=t-1", s.last("/api/v1/audit").query)
	c.run("deliveries", "list", "--since", "7d").ok()
	query, err := url.ParseQuery(s.last("/api/v1/deliveries").query)
	require.NoError(t, err)
	since, err := time.Parse(time.RFC3339Nano, query.Get("since"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-7*24*time.Hour), since, time.Minute)
}

func TestTables(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	s.put("deliveries", object{"id": "d-1", "event_id": "evt_1", "event_type": "a.b\x1b[2J", "product": "crm", "status": "failed", "status_code": 500,
		"retries": 3, "duration_ms": 1234.5, "created_at": "2026-01-02T03:04:05.678+02:00", "next_attempt_at": nil})
	s.put("deliveries", object{"id": "d-2", "event_id": "evt_2", "event_type": "contact.created", "status": "pending",
		"retries": 0, "created_at": "2026-01-02T03:04:05Z", "next_attempt_at": "2026-01-02T03:04:10Z"})
	require.Equal(t, strings.Join([]string{
		"TIME                  ID   EVENT  TYPE             PRODUCT  STATUS   CODE  ATTEMPTS     TOOK  NEXT ATTEMPT",
		"2026-01-02 03:04:05Z  d-2  evt_2  contact.created  -        pending  -            -        -  2026-01-02 03:04:10Z",
		`2026-01-02 01:04:05Z  d-1  evt_1  a.b\x1b[2J       crm      failed   500          4  1234 ms  -`,
	}, "\n"), c.run("deliveries", "list").ok())
	require.Equal(t, strings.Join([]string{
		"FROM                  ACCEPTED  DELIVERED  FAILED  PARKED     P50      P95     P99",
		"2026-01-01 00:00:00Z        10          8       1       1  4.5 ms  20.0 ms  12.5 s",
		"total                       10          8       1       1       -        -       -",
	}, "\n"), c.run("stats").ok())
	s.put("audit", object{"id": "a-1", "at": "2026-01-02T03:04:05Z", "actor": object{"type": "operator", "label": "ana@example.com"},
		"action": "key.create", "resource": "key", "resource_id": "k", "ip": "127.0.0.1", "request_id": "r", "status": 201})
	require.Contains(t, c.run("audit").ok(), "2026-01-02 03:04:05Z  operator ana@example.com  key.create  key       k   201     127.0.0.1  r")
}

func TestRetry(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	s.put("deliveries", object{"id": "d-1", "status": "failed"})
	s.put("deliveries", object{"id": "d-2", "status": "failed"})
	require.Equal(t, "d-1  pending\nd-2  pending", c.run("deliveries", "retry", "d-1", "d-2").ok())
	require.JSONEq(t, `{"id":"d-1","status":"pending"}`, c.run("deliveries", "retry", "d-1", "-o", "json").ok())
	some := c.run("deliveries", "retry", "d-1", "gone")
	require.Equal(t, 6, some.code)
	require.Equal(t, "d-1  pending\n", some.out)
	c.run("deliveries", "retry", "gone", "too").fails(5, "gone: There is nothing here.")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	require.Equal(t, "12", c.run("replay", "--status", "failed", "--dry-run").ok())
	require.JSONEq(t, `{"filter":{"status":"failed"},"dry_run":true}`, s.last("/api/v1/replays").body)
	c.run("replay", "--yes").fails(2, "at least one filter")
	c.run("replay", "--status", "failed").fails(2, "--yes is needed")
	require.Zero(t, s.count("replays"))

	id := c.run("replay", "--status", "failed", "--yes", "--detach", "-q").ok()
	require.Len(t, id, 36)
	require.JSONEq(t, `{"filter":{"status":"failed"},"dry_run":false}`, s.last("/api/v1/replays").body)

	watched := c.run("replay", "--endpoint", "e", "--status-code", "500", "--since", "2026-01-01", "--yes")
	require.Contains(t, watched.ok(), "status  done\ntotal   12\ndone    12\nfailed  0")
	require.Contains(t, watched.err, ": 5 of 12, 0 failed")
	require.JSONEq(t, `{"filter":{"endpoint_id":"e","status_code":500,"since":"2026-01-01T00:00:00Z"},"dry_run":false}`, s.last("/api/v1/replays").body)
}

// TestReplayInterrupted: without a terminal to ask on, the job goes on.
func TestReplayInterrupted(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.replayStep = 0
	r := s.operator(t).start("replay", "--status", "failed", "--yes")
	r.await(r.errs, "0 of 12")
	require.Equal(t, 1, r.interrupt())
	require.Contains(t, r.errs.String(), "goes on in the hub")
	require.Equal(t, "running", s.field("replays", "status"))
}

// stream serves the live tail: each connection takes the next script.
func (s *standIn) stream(scripts ...func(w http.ResponseWriter, flush func())) {
	connections := make(chan func(http.ResponseWriter, func()), len(scripts))
	for _, script := range scripts {
		connections <- script
	}
	s.mux.HandleFunc("GET /api/v1/events/stream", func(w http.ResponseWriter, r *http.Request) {
		if s.mu.Lock(); r.Header.Get("Authorization") != "Bearer "+s.access {
			s.mu.Unlock()
			refuse(w, 401, "unauthorized", "Valid credentials are needed.")
			return
		}
		s.mu.Unlock()
		select {
		case script := <-connections:
			script(w, w.(http.Flusher).Flush)
		default: // the last one stays open
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-s.ended:
			}
		}
	})
}

func events(text string) func(http.ResponseWriter, func()) {
	return func(w http.ResponseWriter, flush func()) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write([]byte(text))
		flush()
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	busy := func(w http.ResponseWriter, _ func()) { refuse(w, 503, "unavailable", "Not now.") }
	s.stream(
		events(": hello\nretry: 20\n\nid: 7\nevent: delivery\ndata: {\"id\":\"d-1\",\"event_id\":\"evt_1\",\"event_type\":\"a.b\",\ndata: \"product\":\"crm\",\"status\":\"delivered\",\"status_code\":200,\"duration_ms\":3}\n\nid: 8\ndata: {\"half\":"),
		busy,
		events("retry: 20\ndata: {\"id\":\"d-2\",\"event_id\":\"evt_2\",\"status\":\"failed\"}\n\n"),
	)
	tail := s.operator(t).start("tail", "--type", "a.b")
	tail.await(tail.out, "evt_2")
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivered  200  evt_1  a\.b  crm  3 ms$`, tail.out.String())
	tail.await(tail.errs, "Not now.")
	require.Eventually(t, func() bool { return strings.Count(tail.errs.String(), "following") == 3 }, 10*time.Second, 10*time.Millisecond)
	require.Zero(t, tail.interrupt())
	last := s.last("/api/v1/events/stream")
	require.Equal(t, "7", last.header.Get("Last-Event-ID"), "a message cut off does not count")
	require.Equal(t, "event_type=a.b", last.query)
}

func TestTailJSON(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.stream(events("data: {\"b\": 1.0,\ndata: \"a\": \"\u009b<\"}\n\n"))
	tail := s.operator(t).start("tail", "-o", "json")
	tail.await(tail.out, "\n")
	require.Equal(t, `{"b":1.0,"a":"\u009b<"}`+"\n", tail.out.String())
	require.Zero(t, tail.interrupt())
}

func TestTailRefused(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.stream(
		func(w http.ResponseWriter, _ func()) { refuse(w, 401, "unauthorized", "Valid credentials are needed.") },
		func(w http.ResponseWriter, _ func()) { refuse(w, 503, "unavailable", "Not now.") },
		func(w http.ResponseWriter, _ func()) { answer(w, 200, object{}) },
	)
	c := s.operator(t)
	c.run("tail").fails(4, "Valid credentials are needed.")
	c.run("tail").fails(1, "Not now.")
	c.run("tail").fails(1, "it is not an event stream")
}

// TestTailLoginEnds: a login that ended for good ends the tail, a restarted hub does not.
func TestTailLoginEnds(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := newCLI(t)
	c.runIn("correct horse", "login", "--url", s.URL, "--email", "ana@example.com", "--password-stdin").ok()
	s.stream(func(w http.ResponseWriter, flush func()) {
		events("retry: 20\n\n")(w, flush)
		s.endLogin("", true)
	})
	c.run("tail").fails(4, "the login at "+s.URL+" has ended")

	s = newStandIn(t)
	c = s.operator(t)
	s.stream(func(w http.ResponseWriter, flush func()) {
		events("retry: 20\n\n")(w, flush)
		s.endLogin("new", true) // the hub started again, with another token for this machine
		c.write("data/local.json", `{"url":"`+s.URL+`","token":"new"}`)
	}, events("data: {\"event_id\":\"evt_1\"}\n\n"))
	tail := c.start("tail")
	tail.await(tail.out, "evt_1")
	require.Zero(t, tail.interrupt())
}
