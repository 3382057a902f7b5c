package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// tail opens the live tail. messages receives its deliveries and is closed when it ends.
func (n *node) tail(query, lastID string) (messages <-chan map[string]any) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", n.url+"/api/v1/events/stream?"+query, nil)
	require.NoError(n.t, err)
	req.Header.Set("Authorization", "Bearer "+n.token)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := (&http.Client{}).Do(req) //nolint:bodyclose // the goroutine below closes it
	require.NoError(n.t, err)
	require.Equal(n.t, 200, res.StatusCode)
	require.Equal(n.t, "text/event-stream", res.Header.Get("Content-Type"))
	out := make(chan map[string]any, 1000)
	go func() {
		defer close(out)
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		position := ""
		for lines.Scan() {
			if id, found := strings.CutPrefix(lines.Text(), "id: "); found {
				position = id
			}
			if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
				var item map[string]any
				if json.Unmarshal([]byte(data), &item) == nil {
					item["position"] = position // where another tail may go on
					out <- item
				}
			}
		}
	}()
	return out
}

func next(t *testing.T, messages <-chan map[string]any) map[string]any {
	t.Helper()
	select {
	case item, ok := <-messages:
		require.True(t, ok, "the stream ended")
		return item
	case <-time.After(soon):
		require.Fail(t, "nothing came")
		return nil
	}
}

// "`GET /api/v1/events/stream` (SSE live tail)": changes as they happen, by filter,
// what was missed after Last-Event-ID; it ends when the hub stops.
func TestLiveTail(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, nil)
	a := n.account()
	endpoint := a.endpoint(newHook(t, nil), "")
	first := a.settles(a.publish("a.b", `{}`), endpoint, "delivered")
	all := n.tail("", "")
	some := n.tail("event_type=wanted.type&status=delivered", "")
	missed := a.settles(a.publish("wanted.type", `{"n":1}`), endpoint, "delivered")
	a.publish("a.b", `{}`)
	got := next(t, all)
	require.Equal(t, missed["id"], got["id"])
	require.Equal(t, "delivered", got["status"])
	require.Equal(t, "a.b", next(t, all)["event_type"])
	require.Equal(t, missed["id"], next(t, some)["id"])
	require.Empty(t, some)
	again := n.tail("event_type=wanted.type", first["id"].(string))
	require.Equal(t, missed["id"], next(t, again)["id"])
	n.refused(422, "validation_failed", "GET", "/events/stream?status=lost", n.token, "")
	n.refused(422, "validation_failed", "GET", "/events/stream", n.token, "", "Last-Event-ID", "seven")
	n.refused(401, "unauthorized", "GET", "/events/stream", "", "")
	n.stop()
	for _, messages := range []<-chan map[string]any{all, some, again} {
		for range messages { // ends
		}
	}
}

// "`/metrics` (accepted, delivered, failed, parked, latency histograms, queue depth,
// oldest pending, by product)".
func TestMetricsCountRight(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	a.endpoint(newHook(t, nil), "")
	a.endpoint(newHook(t, answering(410)), `"event_types":["gone"]`)
	retrying := newHook(t, answering(500))
	lost := a.endpoint(retrying, `"event_types":["lost"]`)
	a.batch(7, "a.b")
	a.publish("gone", `{}`)
	a.publish("lost", `{}`)
	retrying.wait(1)
	a.ok(204, "DELETE", "/endpoints/"+lost, "")
	require.Eventually(t, func() bool { return p.count(t, `status <> 0`) == 11 }, soon, tick)
	limited := a.key(`"rate":"1-H"`)["api_key"].(string)
	a.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, limited)
	n.refused(429, "rate_limited", "POST", "/events", limited, `{"event_type":"a.b","data":{}}`)
	want := map[string]string{
		`hub_events_accepted_total{product="shop"}`:                       "10",
		`hub_deliveries_accepted_total{product="shop"}`:                   "12",
		`hub_deliveries_settled_total{product="shop",status="delivered"}`: "10",
		`hub_deliveries_settled_total{product="shop",status="parked"}`:    "1",
		`hub_deliveries_settled_total{product="shop",status="failed"}`:    "1",
		`hub_attempts_total{answer="2xx",product="shop"}`:                 "10",
		`hub_attempts_total{answer="4xx",product="shop"}`:                 "1",
		`hub_attempts_total{answer="5xx",product="shop"}`:                 "1",
		`hub_attempt_duration_seconds_count{product="shop"}`:              "12",
		`hub_delivery_latency_seconds_count{product="shop"}`:              "10",
		`hub_rate_limited_total`:                                          "1",
		`hub_queue_depth`:                                                 "0",
		`hub_attempts_in_flight`:                                          "0",
	}
	var text string
	require.Eventually(t, func() bool {
		text = n.call("GET", "/metrics", "", "").text
		for name, value := range want {
			if !strings.Contains(text, "\n"+name+" "+value+"\n") {
				return false
			}
		}
		return true
	}, soon, 10*tick, "%v", want)
	// What waits is counted anew every ten seconds: another process counts it at once.
	down := newHook(t, answering(500))
	a.endpoint(down, `"event_types":["down"]`)
	a.publish("down", `{}`)
	down.wait(1)
	text = p.start(t, nil).call("GET", "/metrics", "", "").text
	require.Contains(t, text, "hub_deliveries_pending{product=\"shop\"} 1\n")
	require.Contains(t, text, "hub_deliveries_parked{product=\"shop\"} 1\n")
	require.Regexp(t, `hub_oldest_pending_seconds\{product="shop"\} \d`, text)
}

// Operators see whom limits stop: all requests that are answered 429, and publications above
// their tenant's limits.
func TestLimitsAreCounted(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, nil)
	a := n.account()
	h := newHook(t, nil)
	for range 2 {
		a.endpoint(h, "")
	}
	require.InDelta(t, 0.0, n.metric("hub_rate_limited_total"), 0)
	a.publish("a.b", `{}`) // a product's counters begin at 0 with its first event
	require.InDelta(t, 0.0, n.metric(`hub_publications_over_limit_total{limit="deliveries",product="shop"}`), 0)
	require.InDelta(t, 0.0, n.metric(`hub_publications_over_limit_total{limit="filters",product="shop"}`), 0)
	a.ok(200, "PUT", "/tenants/"+a.tenant, `{"name":"Tenant","limits":{"deliveries_per_request":1}}`)
	n.refused(422, "too_many_deliveries", "POST", "/events", a.live, `{"event_type":"a.b","data":{}}`)
	require.InDelta(t, 1.0, n.metric(`hub_publications_over_limit_total{limit="deliveries",product="shop"}`), 0)

	const login = `{"email":"nobody@example.com","password":"not the password"}`
	for range 10 {
		n.refused(401, "invalid_credentials", "POST", "/auth/login", "", login)
	}
	n.refused(429, "too_many_logins", "POST", "/auth/login", "", login)
	require.InDelta(t, 1.0, n.metric("hub_rate_limited_total"), 0, "written by an operation")
	limited := a.key(`"rate":"1-H"`)["api_key"].(string)
	n.refused(422, "too_many_deliveries", "POST", "/events", limited, `{"event_type":"a.b","data":{}}`)
	n.refused(429, "rate_limited", "POST", "/events", limited, `{"event_type":"a.b","data":{}}`)
	require.InDelta(t, 2.0, n.metric("hub_rate_limited_total"), 0, "written by the error handler")
}

// "A secret, key or password in a log line, an error body, a metric, the delivery
// log": canaries in all of them, none comes out; full CPFs neither.
func TestNoSecretComesOut(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, nil)
	a := n.account()
	const secret, cpf = "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5", "529.982.247-25"
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Set-Cookie", "session=cookiecanary")
		if n == 1 {
			w.WriteHeader(500)
		}
		_, _ = w.Write([]byte("patient " + cpf))
	})
	endpoint := a.endpoint(h, `"secret":"`+secret+`"`)
	id := a.publish("a.b", `{"cpf":"`+cpf+`"}`)
	detail := n.call("GET", "/deliveries/"+a.settles(id, endpoint, "delivered")["id"].(string), n.token, "").text
	require.Contains(t, string(h.wait(2)[0].body), cpf, "the receiver gets it in full")
	var seen strings.Builder
	seen.WriteString(detail)
	for _, path := range []string{"/deliveries", "/events", "/events/" + id, "/endpoints", "/endpoints/" + endpoint, "/keys", "/audit", "/products", "/tenants", "/operators", "/metrics", "/stats"} {
		got := n.call("GET", path, n.token, "")
		require.Equal(t, 200, got.status, path)
		seen.WriteString(got.text)
	}
	for _, got := range []answer{
		n.call("POST", "/events", a.live, `{"event_type":"`+secret+` `+cpf+`","data":{}}`),
		n.call("POST", "/events", a.live+"x", `{}`),
		n.call("POST", "/endpoints", a.live, `{"url":"http://user:`+secret+`@127.0.0.1/","event_types":["*"],"secret":"`+secret+` "}`),
		n.call("POST", "/auth/login", "", `{"email":"admin@localhost","password":"`+secret+`"}`),
		n.call("POST", "/keys", n.token, `{"tenant_id":"`+secret+`"}`),
		n.call("POST", "/events", a.live, `{"`+secret+`":`),
	} {
		require.GreaterOrEqual(t, got.status, 400)
		require.Less(t, got.status, 500, got.text)
		seen.WriteString(got.text)
	}
	n.stop()
	seen.WriteString(n.log.String())
	for _, canary := range []string{secret, secret[6:], a.live, a.test, n.token, cpf, "529982247", "cookiecanary", masterKey, "the administrator's password"} {
		require.NotContains(t, seen.String(), canary)
	}
}

// "two replicas, one killed: 0 lost; the other takes over when the lease ends; no
// delivery stuck over 60 s": the built binary, killed with -9 during its attempts.
func TestKilledReplicaIsTakenOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	var mu sync.Mutex
	held := true
	h.respond = func(w http.ResponseWriter, r *http.Request, n int) {
		mu.Lock()
		hang := held
		mu.Unlock()
		if hang {
			hanging(nil)(w, r, n)
		}
	}
	a.endpoint(h, "")
	victim := p.startBinary(t, a.node)
	ids := make([]string, 0, 100)
	for range 100 {
		ids = append(ids, victim.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, a.live)["id"].(string))
	}
	h.wait(64)
	killed := time.Now()
	victim.stop()
	mu.Lock()
	held = false
	mu.Unlock()
	h.waitAll(ids)
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 100 }, 3*soon, 5*tick)
	require.Less(t, time.Since(killed), 60*time.Second)
	for id, n := range h.times() {
		require.LessOrEqual(t, n, 2, id)
	}
	p.balance(t)
}

// startBinary builds and runs the hub as its own process; stop kills it with -9.
func (p place) startBinary(t *testing.T, beside *node) *node {
	t.Helper()
	hubtest.SkipShort(t)
	program, err := hubtest.BuildProgram("hub", "integrationhub/cmd/hub")
	require.NoError(t, err)
	n := *beside
	n.cfg = p.settings(t, func(c *config.Config) { c.DataDir = filepath.Join(t.TempDir(), "data") })
	cmd := exec.Command(program, "serve")
	cmd.Env = append(os.Environ(), "HUB_LISTEN=127.0.0.1:0", "HUB_DATA_DIR="+n.cfg.DataDir, "HUB_DATABASE_URL="+p.database,
		"HUB_REDIS_URL="+p.redis, "HUB_MASTER_KEY="+masterKey)
	var log hubtest.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	n.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(n.stop)
	require.Eventually(t, func() bool {
		local, err := config.ReadLocal(n.cfg.DataDir)
		if err != nil || local.PID != cmd.Process.Pid {
			return false
		}
		n.url, n.token = local.URL, local.Token
		got, err := n.try("GET", "/ready", "", "")
		return err == nil && got.status == 200
	}, 2*soon, 5*tick, "%s pid %s", log.String(), strconv.Itoa(cmd.Process.Pid))
	return &n
}
