package productapi_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const (
	tick = 10 * time.Millisecond
	soon = time.Minute
)

// node is a running hub with the products "notes" and "board".
type node struct {
	t     testing.TB
	url   string
	token string // of an operator
	db    *pgxpool.Pool
	log   *hubtest.Buffer
}

func start(t testing.TB, change func(*config.Config), connectors ...hub.Connector) *node {
	t.Helper()
	products := []module.Module{notes.New("notes"), notes.New("board")}
	database := hubtest.PreparedDatabaseURL(t, "notes and board", nil, func(ctx context.Context, url string) error {
		for _, product := range products {
			if _, err := migrations.UpProduct(ctx, url, product.Spec().Name, product.Migrations()); err != nil {
				return err
			}
		}
		return nil
	})
	return startOn(t, database, products, change, connectors...)
}

// startWith starts a hub with other products.
func startWith(t testing.TB, products []module.Module, change func(*config.Config), connectors ...hub.Connector) *node {
	t.Helper()
	return startOn(t, hubtest.DatabaseURL(t), products, change, connectors...)
}

// startOn starts a hub on a database.
func startOn(t testing.TB, database string, products []module.Module, change func(*config.Config), connectors ...hub.Connector) *node {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.LogLevel = "127.0.0.1:0", t.TempDir(), "debug"
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(database), config.Secret(hubtest.RedisURL(t))
	cfg.MasterKey = config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	cfg.AdminPassword, cfg.ShutdownGrace = "the administrator's password", 2*time.Second
	cfg.KeyRate = "0"
	if change != nil {
		change(&cfg)
	}
	n := &node{t: t, log: &hubtest.Buffer{}}
	s, err := server.Start(context.Background(), server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.NewJSONHandler(n.log, nil)),
		Modules: products, Connectors: connectors, PasswordHashMemory: hubtest.PasswordHashMemory,
	})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	n.url = s.URL()
	local, err := config.ReadLocal(cfg.DataDir)
	require.NoError(t, err)
	n.token = local.Token
	n.db, err = pgxpool.New(context.Background(), database)
	require.NoError(t, err)
	t.Cleanup(n.db.Close)
	return n
}

// answer is an HTTP answer, read.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
	list   []map[string]any
}

var client = &http.Client{Timeout: soon, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// call sends a request. Headers come in pairs; a body is JSON.
func call(t testing.TB, method, url, body string, headers ...string) answer {
	t.Helper()
	got, err := try(method, url, body, headers...)
	require.NoError(t, err)
	return got
}

func try(method, url, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	got := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		err = json.Unmarshal(text, &got.body)
	case bytes.HasPrefix(text, []byte("[")):
		err = json.Unmarshal(text, &got.list)
	}
	return got, err
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func withKey(key string) []string { return []string{"X-Integration-Key", key} }

// ok requires a status of an operator's call.
func (n *node) ok(status int, method, path, body string) answer {
	n.t.Helper()
	got := call(n.t, method, n.url+path, body, bearer(n.token)...)
	require.Equal(n.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got
}

// tenant is an account of a product, with an administrator and another user.
type tenant struct {
	*node
	base  string // of the product
	id    string
	admin string
	staff string
}

func (n *node) signUp(product string) *tenant {
	n.t.Helper()
	return n.signUpAt(n.url + "/" + product)
}

func (n *node) signUpAt(base string) *tenant {
	n.t.Helper()
	got := call(n.t, "POST", base+"/api/v1/auth/register", `{"name":"Some Owner"}`)
	require.Equal(n.t, 201, got.status, got.text)
	return &tenant{node: n, base: base, id: got.body["tenant_id"].(string), admin: got.body["token"].(string), staff: got.body["staff_token"].(string)}
}

// integrations is where the tenant's product has the integration interface.
func (o *tenant) integrations() string { return o.base + "/api/v1/integrations" }

// do calls the integration interface as the administrator and requires a status.
func (o *tenant) do(status int, method, path, body string, headers ...string) answer {
	o.t.Helper()
	got := call(o.t, method, o.integrations()+path, body, append(bearer(o.admin), headers...)...)
	require.Equal(o.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got
}

// issue makes a key of the tenant for another product.
func (o *tenant) issue(headers ...string) string {
	o.t.Helper()
	return o.do(200, "POST", "/api-keys", "", headers...).body["api_key"].(string)
}

// connectBody returns the request of docs/interfaces/clinic.md ("Connect and status").
func connectBody(product, key, apiURL string) string {
	raw, err := json.Marshal(map[string]string{"product": product, "api_key": key, "api_url": apiURL})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// link is a connected pair: the peer sends to a tenant with a key and a secret.
type link struct {
	*tenant
	peer        *tenant
	key         string // of the tenant, for the peer
	secret      string
	integration string // of the tenant
}

// connectTenants connects two tenants by their administrators, the peer beginning,
// and returns what the peer needs to send to the tenant.
func connectTenants(owner, peer *tenant, product string, headers ...string) *link {
	l := &link{tenant: owner, peer: peer, key: owner.issue(headers...)}
	got := peer.do(200, "POST", "/connect", connectBody(product, l.key, owner.base+"/api/v1"), headers...)
	require.Equal(owner.t, "active", got.body["status"], got.text)
	l.secret = peer.do(200, "POST", "/"+got.body["id"].(string)+"/rotate-secret", "", headers...).body["webhook_secret"].(string)
	list := owner.do(200, "GET", "/", "", headers...).list
	require.Len(owner.t, list, 1)
	l.integration = list[0]["id"].(string)
	return l
}

// sign is X-Webhook-Signature by the document, with no code of ours.
func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// envelope is a webhook's body.
func envelope(id, product, eventType, text string) string {
	return envelopeAt(id, product, eventType, text, time.Now())
}

func envelopeAt(id, product, eventType, text string, at time.Time) string {
	return `{"id":"` + id + `","product":"` + product + `","event_type":"` + eventType + `","timestamp":"` +
		at.UTC().Format("2006-01-02T15:04:05Z") + `","correlation_id":"c1","data":{"text":"` + text + `"}}`
}

// send delivers a body as the peer would.
func (l *link) send(body string, headers ...string) answer {
	l.t.Helper()
	return call(l.t, "POST", l.integrations()+"/webhook", body, append([]string{
		"X-Integration-Key", l.key, "X-Webhook-Signature", sign(l.secret, body),
	}, headers...)...)
}

// notes lists the tenant's notes.
func (o *tenant) notes(headers ...string) []string {
	o.t.Helper()
	got := call(o.t, "GET", o.base+"/api/v1/notes", "", append(bearer(o.admin), headers...)...)
	require.Equal(o.t, 200, got.status, got.text)
	texts := []string{}
	for _, entry := range got.body["notes"].([]any) {
		texts = append(texts, entry.(map[string]any)["text"].(string))
	}
	return texts
}

// refused requires an error in the one shape.
func refused(t *testing.T, status int, code string, got answer) {
	t.Helper()
	require.Equal(t, status, got.status, got.text)
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	require.Equal(t, code, got.body["code"], got.text)
}

// uncounted is how many requests a limit did not count for all processes: on a busy
// machine Redis may answer too late.
func (n *node) uncounted() (count int) {
	n.t.Helper()
	_, after, found := strings.Cut(call(n.t, "GET", n.url+"/metrics", "").text, "\nhub_rate_limit_local_total ")
	require.True(n.t, found)
	_, err := fmt.Sscan(after, &count)
	require.NoError(n.t, err)
	return count
}

// withinASecond requires that what has just been ended or changed is answered with a status
// to every request that is sent a second later, however long the answers take.
func withinASecond(t *testing.T, want int, status func() int) {
	t.Helper()
	changed := time.Now()
	for {
		sent := time.Now()
		got := status()
		if got == want {
			return
		}
		require.Less(t, sent.Sub(changed), time.Second, "still answered with %d", got)
	}
}

func newID() string { return hub.NewEventID() }
