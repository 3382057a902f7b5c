package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withKey()
	p.subscribe(newPeer(t, 200, "").URL)
	p.batch(450, "a.b")
	p.settled(450, "delivered")
	list := func(flags ...string) []string {
		return strings.Split(p.run(append([]string{"deliveries", "list", "--tenant", p.tenantID, "-q"}, flags...)...).ok(), "\n")
	}
	all := list("--all")
	require.Len(t, all, 450)
	require.Len(t, slices.Compact(slices.Clone(all)), 450)
	require.True(t, slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }), "newest first")
	require.Equal(t, all[:50], list())
	require.Equal(t, all[:201], list("--limit", "201"))

	some := p.run("deliveries", "list", "--tenant", p.tenantID, "--limit", "3")
	require.Len(t, strings.Split(some.ok(), "\n"), 4)
	_, cursor, more := strings.Cut(strings.TrimSpace(some.err), "there is more: --all, or --cursor ")
	require.True(t, more, some.err)
	require.Equal(t, all[3:53], list("--cursor", cursor))
	p.run("deliveries", "list", "--cursor", "nonsense").fails(1, "cursor")

	// JSON is the API's answer: one page as it came, several as one.
	type page struct {
		Items      []json.RawMessage `json:"items"`
		NextCursor *string           `json:"next_cursor"`
	}
	_, raw := p.hub.call(t, "GET", "/api/v1/deliveries?limit=50&tenant_id="+p.tenantID, "")
	require.JSONEq(t, raw, p.run("deliveries", "list", "--tenant", p.tenantID, "-o", "json").ok())
	var got page
	p.run("deliveries", "list", "--tenant", p.tenantID, "--all", "-o", "json").into(&got)
	require.Len(t, got.Items, 450)
	require.Nil(t, got.NextCursor)
	var first page
	require.NoError(t, json.Unmarshal([]byte(raw), &first))
	require.JSONEq(t, string(first.Items[0]), string(got.Items[0]))
	require.NotNil(t, first.NextCursor)

	events := strings.Split(p.run("events", "list", "--since", "1h", "--limit", "3", "-q").ok(), "\n")
	require.Len(t, events, 3)
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, events[0])
}

// outcomes gives a tenant one event delivered to one endpoint and one that another
// endpoint answers 410 too: three deliveries.
func outcomes(t *testing.T) (p *place, paid, gone string) {
	t.Helper()
	p = newPlace(t).withKey()
	p.subscribe(newPeer(t, 200, "").URL)
	gone = p.subscribe(newPeer(t, 410, "gone \x1b[2J").URL, "--events", "order.paid")
	p.publish("order.created", "--correlation-id", "c-1-"+p.product)
	paid = p.publish("order.paid")
	require.Eventually(t, func() bool {
		return len(p.run("deliveries", "list", "--tenant", p.tenantID, "--status", "delivered", "-q").ok()) > 37 &&
			len(p.run("deliveries", "list", "--tenant", p.tenantID, "--status", "parked", "-q").ok()) == 36
	}, soon, 10*tick)
	return p, paid, gone
}

func TestLogFilters(t *testing.T) {
	t.Parallel()
	p, paid, gone := outcomes(t)
	nothing := "0198aaaa-0000-7000-8000-000000000000"
	for _, tc := range []struct {
		count int
		flags []string
	}{
		{3, nil},
		{3, []string{"--direction", "outbound"}},
		{0, []string{"--direction", "inbound"}},
		{3, []string{"--product", p.product}},
		{0, []string{"--product", "other"}},
		{1, []string{"--endpoint", gone}},
		{0, []string{"--integration", nothing}},
		{2, []string{"--type", "order.paid"}},
		{2, []string{"--status", "delivered"}},
		{1, []string{"--status", "parked"}},
		{1, []string{"--status-code", "410"}},
		{1, []string{"--correlation-id", "c-1-" + p.product}},
		{2, []string{"--event", paid}},
		{1, []string{"--query", "c-1-" + p.product}},
		{2, []string{"--query", paid}},
		{0, []string{"--query", "x y"}},
		{3, []string{"--since", "1h"}},
		{3, []string{"--since", "2026-01-31"}},
		{0, []string{"--since", "2126-01-31"}},
		{3, []string{"--until", "2126-02-01T12:00:00.5+02:00"}},
		{0, []string{"--until", "7d"}},
		{1, []string{"--type", "order.paid", "--status", "parked", "--status-code", "410", "--endpoint", gone, "--since", "1h"}},
		{2, []string{"--limit", "2"}},
	} {
		ids := p.run(append([]string{"deliveries", "list", "--tenant", p.tenant, "-q"}, tc.flags...)...).ok()
		require.Len(t, strings.Fields(ids), tc.count, "%q", tc.flags)
	}
	p.run("deliveries", "list", "--status", "lost").fails(1, "status")
	p.run("deliveries", "list", "--event", "evt_1").fails(1, "event_id")
	p.run("deliveries", "list", "--endpoint", "e").fails(1, "endpoint_id")

	audit := func(flags ...string) string {
		return p.run(append([]string{"audit", "--tenant", p.tenant}, flags...)...).ok()
	}
	require.Regexp(t, `(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  operator local command line  keys\.create +keys +\S{36}  201 +127\.0\.0\.1  [0-9a-f]{24}$`, audit())
	require.Contains(t, audit(), "endpoints.create")
	require.NotContains(t, audit("--action", "keys.create"), "endpoints.create")
	require.NotContains(t, audit("--resource", "endpoints"), "keys.create")
	require.Empty(t, audit("--actor", "nobody"))
	require.Empty(t, audit("--until", "1h"))
}

func TestTables(t *testing.T) {
	t.Parallel()
	p, _, gone := outcomes(t)
	rows := strings.Split(p.run("deliveries", "list", "--tenant", p.tenant).ok(), "\n")
	require.Len(t, rows, 4)
	require.Regexp(t, `^TIME +ID +EVENT +TYPE +PRODUCT +STATUS +CODE  ATTEMPTS +TOOK  NEXT ATTEMPT$`, rows[0])
	for _, row := range rows[1:] {
		require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  \S{36}  evt_\S{16}  order\.(created|paid) +`+p.product+` +(delivered  200|parked     410) +1 +<?\d+ ms  -$`, row)
		require.Equal(t, strings.Index(rows[0], "STATUS"), strings.Index(row, p.product)+len(fmt.Sprintf("%-7s", p.product))+2)
	}
	parked := p.run("deliveries", "list", "--endpoint", gone, "-q").ok()
	shown := p.run("deliveries", "show", parked).ok()
	require.Contains(t, shown, `answered    gone \x1b[2J`)
	require.NotContains(t, shown, "\x1b")
	require.Contains(t, p.run("endpoints", "show", gone).ok(), "disabled (gone)")

	var stats []string
	require.Eventually(t, func() bool { // rollups are counted with each change
		stats = strings.Split(p.run("stats", "--tenant", p.tenant, "--bucket", "12h", "--from", "12h").ok(), "\n")
		return strings.HasPrefix(strings.Join(strings.Fields(stats[len(stats)-1]), " "), "total 3 2 0 1 - - -")
	}, soon, 10*tick, "%q", stats)
	require.Regexp(t, `^FROM +ACCEPTED  DELIVERED  FAILED  PARKED +P50 +P95 +P99$`, stats[0])
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ .* ms$`, stats[len(stats)-2])
	var json struct {
		Bucket string `json:"bucket"`
		Items  []struct {
			Accepted int `json:"accepted"`
		} `json:"items"`
	}
	p.run("stats", "--endpoint", gone, "--bucket", "1m", "-o", "json").into(&json)
	require.Equal(t, "1m", json.Bucket)
	accepted := 0
	for _, delivery := range json.Items {
		accepted += delivery.Accepted
	}
	require.Equal(t, 1, accepted)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	p, _, gone := outcomes(t)
	nothing := "0198aaaa-0000-7000-8000-000000000000"
	delivered := strings.Fields(p.run("deliveries", "list", "--tenant", p.tenant, "--status", "delivered", "-q").ok())
	require.Equal(t, delivered[0]+"  pending\n"+delivered[1]+"  pending", p.run("deliveries", "retry", delivered[0], delivered[1]).ok())
	require.Eventually(t, func() bool {
		return strings.Contains(p.run("deliveries", "show", delivered[0]).ok(), "delivered after 2 attempts")
	}, soon, 10*tick)
	some := p.run("deliveries", "retry", delivered[1], nothing)
	require.Equal(t, 6, some.code, some.err)
	require.Equal(t, delivered[1]+"  pending\n", some.out)
	p.run("deliveries", "retry", nothing, nothing).fails(5, nothing+": There is no such delivery.")

	parked := p.run("deliveries", "list", "--endpoint", gone, "-q").ok()
	p.run("deliveries", "retry", parked).fails(1, "enable it first. (endpoint_disabled, request ")
	p.run("endpoints", "update", gone, "--enabled").ok()
	require.JSONEq(t, `{"id":"`+parked+`","status":"pending"}`, p.run("deliveries", "retry", parked, "-o", "json").ok())
}

func TestReplay(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withKey()
	receiver := newPeer(t, 200, "")
	endpoint := p.subscribe(receiver.URL)
	p.batch(12, "a.b")
	p.settled(12, "delivered")
	require.Equal(t, "12", p.run("replay", "--tenant", p.tenant, "--status", "delivered", "--dry-run").ok())
	require.JSONEq(t, `{"count":0}`, p.run("replay", "--tenant", p.tenant, "--status", "failed", "--dry-run", "-o", "json").ok())
	p.run("replay", "--yes").fails(2, "at least one filter")
	p.run("replay", "--tenant", p.tenant).fails(2, "--yes is needed")
	require.Equal(t, 12, receiver.count())

	id := p.run("replay", "--tenant", p.tenant, "--status", "delivered", "--yes", "--detach", "-q").ok()
	require.Len(t, id, 36)
	var replay struct {
		Status string `json:"status"`
		Total  int    `json:"total"`
		Done   int    `json:"done"`
	}
	require.Eventually(t, func() bool {
		p.hub.into(t, &replay, 200, "GET", "/api/v1/replays/"+id, "")
		return replay.Status == "done"
	}, soon, tick)
	require.Equal(t, 12, replay.Done)
	p.settled(12, "delivered")
	require.Equal(t, 24, receiver.count())

	watched := p.run("replay", "--endpoint", endpoint, "--status-code", "200", "--since", "2026-01-01", "--yes")
	require.Contains(t, watched.ok(), "status  done\ntotal   12\ndone    12\nfailed  0")
	require.Regexp(t, `\S{36}: \d+ of 12, 0 failed`, watched.err)
	p.settled(12, "delivered")
	require.Equal(t, 36, receiver.count())

	// What cannot be sent again is counted, and the exit code tells.
	p.run("endpoints", "update", endpoint, "--enabled=false").ok()
	partly := p.run("replay", "--endpoint", endpoint, "--yes")
	require.Equal(t, 6, partly.code, partly.err)
	require.Contains(t, partly.err, "0 of 12 done, 12 failed")
}

// events answers with a part of an event stream and breaks off.
func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}
}

// inTurn answers each request with the next of the handlers, and leaves those after
// the last one hanging.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
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

const streamPath = "GET /api/v1/events/stream"

// TestTailBreaks: streams break off in the middle, as a proxy may break them.
func TestTailBreaks(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.mux.HandleFunc(streamPath, inTurn(
		events(": hello\nretry: 20\n\nid: 7\nevent: delivery\ndata: {\"id\":\"d-1\",\"event_id\":\"evt_1\",\"event_type\":\"a.b\",\ndata: \"product\":\"crm\",\"status\":\"delivered\",\"status_code\":200,\"duration_ms\":3}\n\nid: 8\ndata: {\"half\":"),
		refuse(503, "application/problem+json", `{"detail":"Not now.","code":"unavailable"}`),
		events("retry: 20\ndata: {\"id\":\"d-2\",\"event_id\":\"evt_2\",\"status\":\"failed\"}\n\n"),
	))
	tail := newCLI(t).start("tail", "--url", o.URL, "--token", "x", "--type", "a.b")
	tail.await(tail.out, "evt_2")
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivered  200  evt_1  a\.b  crm  3 ms$`, tail.out.String())
	tail.await(tail.errs, "Not now.")
	require.Eventually(t, func() bool { return strings.Count(tail.errs.String(), "following") == 3 }, soon, tick)
	require.Zero(t, tail.interrupt())
	requests := o.seen()
	last := requests[len(requests)-1]
	require.Equal(t, "7", last.Header.Get("Last-Event-ID"), "a message cut off does not count")
	require.Equal(t, "event_type=a.b", last.URL.RawQuery)
}

func TestTailRefused(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.mux.HandleFunc(streamPath, inTurn(
		refuse(503, "application/problem+json", `{"detail":"Not now."}`),
		refuse(200, "application/json", `{}`),
		events("data: {\"b\": 1.0,\ndata: \"a\": \"\u009b<\"}\n\n"),
	))
	c := newCLI(t).with("HUB_URL", o.URL).with("HUB_TOKEN", "x")
	c.run("tail").fails(1, "Not now.")
	c.run("tail").fails(1, "it is not an event stream")
	tail := c.start("tail", "-o", "json")
	tail.await(tail.out, "\n")
	require.Equal(t, `{"b":1.0,"a":"\u009b<"}`+"\n", tail.out.String())
	require.Zero(t, tail.interrupt())
	c.run("tail", "--url", sharedHub(t).url).fails(4, "(invalid_token, request ")
}

// TestTail follows a hub that is killed and started again.
func TestTail(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	p := s.place(c).withKey()
	p.subscribe(newPeer(t, 200, "").URL)
	id, email := s.operator(t, "support")
	away := newCLI(t)
	away.runIn(anaPassword, "login", "--url", s.url, "--email", email, "--password-stdin").ok()
	begin := func(c *cli, flags ...string) *running {
		r := c.start(append([]string{"tail"}, flags...)...)
		r.await(r.errs, "following "+s.url)
		return r
	}
	tail, lines, other, remote := begin(c, "--tenant", p.tenant), begin(c, "-o", "json"), begin(c, "--type", "other.type"), begin(away)

	before := p.publish("a.b")
	tail.await(tail.out, before)
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivered  200  `+before+`  a\.b  `+p.product+`  <?\d+ ms$`, tail.out.String())
	lines.await(lines.out, before)
	var line struct {
		EventID string `json:"event_id"`
		Status  string `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(lines.out.String(), "\n", 2)[0]), &line))
	require.Equal(t, before, line.EventID)
	remote.await(remote.out, before)

	// The login of the one from away ends for good, then the hub is gone for a while
	// and has another token for this machine.
	var changed map[string]any
	s.into(t, &changed, 200, "PUT", "/api/v1/operators/"+id, fmt.Sprintf(`{"email":%q,"name":"Op","role":"support","disabled":true}`, email))
	s.Kill()
	tail.await(tail.errs, "trying again in")
	env := serverEnv(c.dir, s.database, s.redis)
	env["HUB_LISTEN"] = strings.TrimPrefix(s.url, "http://")
	again := c.serve(env)
	require.NotEqual(t, s.token, again.token)
	after := p.publish("a.b")
	tail.await(tail.out, after)
	require.Equal(t, 1, strings.Count(tail.out.String(), before))
	lines.await(lines.out, after)
	require.Equal(t, 4, remote.end())
	require.Contains(t, remote.errs.String(), "the login at "+s.url+" has ended")
	require.NotContains(t, remote.out.String(), after)
	for _, process := range []*running{tail, lines, other} {
		require.Zero(t, process.interrupt())
	}
	require.Empty(t, other.out.String())

	// A graceful stop ends the streams at once.
	tail = begin(c)
	began := time.Now()
	require.Zero(t, again.terminate(t))
	tail.await(tail.errs, "trying again in")
	require.Less(t, time.Since(began), 14*time.Second, "less than HUB_SHUTDOWN_GRACE")
	require.Zero(t, tail.interrupt())
}
