package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/server"
)

// TestMain lets more tests run at once than there are cores: they mostly wait for
// retries, leases and deadlines.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	hubtest.Main(m)
}

const (
	tick = 10 * time.Millisecond // how often the outside world is looked at
	soon = time.Minute           // how long it may take on a busy machine
)

var masterKey = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

// node is one running hub.
type node struct {
	t     *testing.T
	cfg   config.Config
	log   *hubtest.Buffer
	url   string
	token string // of an administrator
	http  *http.Client
	stop  func()
}

// place holds the state that a test's hubs share: a database and a Redis.
type place struct {
	database, redis string
	pool            *pgxpool.Pool // looks into the database behind the hub's back
}

// newPlace returns an empty database and Redis of the test's own.
func newPlace(t *testing.T) place {
	t.Helper()
	return placeAt(t, hubtest.DatabaseURL(t), hubtest.RedisURL(t))
}

func placeAt(t *testing.T, database, redis string) place {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(database)
	require.NoError(t, err)
	cfg.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return place{database, redis, pool}
}

// settings are a hub's settings in a test, changed by change.
func (p place) settings(t *testing.T, change func(*config.Config)) config.Config {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.LogLevel = "127.0.0.1:0", t.TempDir(), "debug"
	cfg.DatabaseURL, cfg.RedisURL, cfg.MasterKey = config.Secret(p.database), config.Secret(p.redis), config.Secret(masterKey)
	cfg.AdminPassword = "the administrator's password"
	cfg.ShutdownGrace = 3 * time.Second
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// start runs a hub in this process until the test ends or stop is called.
func (p place) start(t *testing.T, change func(*config.Config)) *node {
	t.Helper()
	cfg := p.settings(t, change)
	n := &node{t: t, cfg: cfg, log: &hubtest.Buffer{}, http: &http.Client{Timeout: 3 * soon, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	s, err := server.Start(context.Background(), server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.NewJSONHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		PasswordHashMemory: hubtest.PasswordHashMemory,
	})
	require.NoError(t, err)
	n.url = s.URL()
	n.stop = sync.OnceFunc(s.Stop)
	t.Cleanup(func() { n.stop(); n.http.CloseIdleConnections() })
	local, err := config.ReadLocal(cfg.DataDir)
	require.NoError(t, err)
	n.token = local.Token
	return n
}

// nodeAt returns a hub that runs at an address.
func (p place) nodeAt(t *testing.T, url, token string) *node {
	t.Helper()
	client := &http.Client{Timeout: soon}
	t.Cleanup(client.CloseIdleConnections)
	return &node{t: t, log: &hubtest.Buffer{}, http: client, url: url, token: token, stop: func() {}}
}

// answer is an HTTP answer, read.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// call sends a request; a credential that begins with a product's prefix goes into
// the key's header, another one is a bearer.
func (n *node) call(method, path, credential, body string, headers ...string) answer {
	n.t.Helper()
	got, err := n.try(method, path, credential, body, headers...)
	require.NoError(n.t, err)
	return got
}

func (n *node) try(method, path, credential, body string, headers ...string) (answer, error) {
	if !strings.HasPrefix(path, "/api") && path != "/ready" && path != "/metrics" && path != "/health" {
		path = "/api/v1" + path
	}
	req, err := http.NewRequest(method, n.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.Contains(credential, "_live_") || strings.Contains(credential, "_test_"):
		req.Header.Set("X-Integration-Key", credential)
	case credential != "":
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := n.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	got := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	if bytes.HasPrefix(text, []byte("{")) {
		err = json.Unmarshal(text, &got.body)
	}
	return got, err
}

// ok calls as an administrator, or with a credential, and requires a status.
func (n *node) ok(status int, method, path, body string, credential ...string) map[string]any {
	n.t.Helper()
	with := n.token
	if len(credential) > 0 {
		with = credential[0]
	}
	got := n.call(method, path, with, body)
	require.Equal(n.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got.body
}

// refused requires a problem with a status and a code.
func (n *node) refused(status int, code, method, path, credential, body string, headers ...string) answer {
	n.t.Helper()
	got := n.call(method, path, credential, body, headers...)
	require.Equal(n.t, status, got.status, "%s %s: %s", method, path, got.text)
	require.Equal(n.t, "application/problem+json", got.header.Get("Content-Type"))
	require.Equal(n.t, code, got.body["code"], got.text)
	require.NotEmpty(n.t, got.body["request_id"])
	return got
}

// account is a tenant of the product "shop" with keys.
type account struct {
	*node
	tenant    string
	live      string
	test      string
	liveKeyID string
}

// account creates a tenant; the first call creates the product too.
func (n *node) account() *account {
	n.t.Helper()
	if got := n.call("POST", "/products", n.token, `{"name":"shop","prefix":"shop"}`); got.status != 201 {
		require.Equal(n.t, 409, got.status, got.text)
	}
	a := &account{node: n, tenant: n.ok(201, "POST", "/tenants", `{"product":"shop","name":"Tenant"}`)["id"].(string)}
	live, test := a.key(`"environment":"live"`), a.key(`"environment":"test"`)
	a.live, a.test, a.liveKeyID = live["api_key"].(string), test["api_key"].(string), live["id"].(string)
	return a
}

// key makes a key without a limit; fields are more of the request's members.
func (a *account) key(fields string) map[string]any {
	a.t.Helper()
	if !strings.Contains(fields, `"rate"`) {
		fields += `,"rate":"0"`
	}
	return a.ok(201, "POST", "/keys", `{"tenant_id":"`+a.tenant+`",`+strings.TrimPrefix(fields, ",")+`}`)
}

// endpoint subscribes a hook; fields are more of the request's members.
func (a *account) endpoint(h *hook, fields string) string {
	a.t.Helper()
	if !strings.Contains(fields, `"event_types"`) {
		fields = `"event_types":["*"],` + fields
	}
	body := `{"tenant_id":"` + a.tenant + `","url":"` + h.url + `",` + strings.Trim(fields, ",") + `}`
	made := a.ok(201, "POST", "/endpoints", body)
	h.trust(made["secret"].(string))
	return made["id"].(string)
}

// publish publishes an event and returns its id.
func (a *account) publish(eventType, data string) string {
	a.t.Helper()
	return a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":%q,"data":%s}`, eventType, data), a.live)["id"].(string)
}

// batch publishes n events of a type in batches of 500 and returns their ids.
func (a *account) batch(n int, eventType string) []string {
	a.t.Helper()
	var ids []string
	for n > 0 {
		size := min(n, 500)
		n -= size
		event := fmt.Sprintf(`{"event_type":%q,"data":{}}`, eventType)
		body := `{"events":[` + event + strings.Repeat(","+event, size-1) + `]}`
		for _, item := range items(a.ok(202, "POST", "/events/batch", body, a.live)) {
			ids = append(ids, item["id"].(string))
		}
	}
	return ids
}

// delivery reads the only delivery of an event to an endpoint, in detail.
func (n *node) delivery(event, endpoint string) map[string]any {
	n.t.Helper()
	found := items(n.ok(200, "GET", "/deliveries?event_id="+event+"&endpoint_id="+endpoint, ""))
	require.Len(n.t, found, 1)
	return n.ok(200, "GET", "/deliveries/"+found[0]["id"].(string), "")
}

// settles waits until a delivery has a status and returns its detail.
func (n *node) settles(event, endpoint, status string) map[string]any {
	n.t.Helper()
	var detail map[string]any
	require.Eventually(n.t, func() bool {
		detail = n.delivery(event, endpoint)
		return detail["status"] == status
	}, 2*soon, 5*tick, "status %s of %s", status, event)
	return detail
}

func items(body map[string]any) []map[string]any {
	var list []map[string]any
	for _, item := range body["items"].([]any) {
		list = append(list, item.(map[string]any))
	}
	return list
}
