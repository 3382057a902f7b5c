package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/api"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/gateway"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const (
	adminEmail    = "admin@example.com"
	supportEmail  = "support@example.com"
	adminPassword = "the admin's password"
	localPeer     = "127.0.0.0/8" // the tests' own address, trusted as a proxy
)

// bundle is a running interface with two tenants of one product.
type bundle struct {
	t       *testing.T
	url     string
	db      *pgxpool.Pool
	clock   *hubtest.Clock
	box     *seal.Box
	auth    *auth.Service
	keys    *keys.Service
	api     *api.API
	sent    *sentPings
	mail    *mail.Outbox
	log     *hubtest.Buffer
	admin   string // access tokens
	support string
	local   string
	signKey []byte
	tenant  [2]uuid.UUID
	live    [2]string // keys
	test    [2]string
	engine  engine
}

// sentPings is a Publisher that records the published pings.
type sentPings struct {
	mu   sync.Mutex
	list []string
}

func (s *sentPings) PublishTo(_ context.Context, ping api.Ping) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, strings.Join([]string{ping.TenantID.String(), string(ping.Environment), ping.EndpointID.String(), ping.EventType, string(ping.Data)}, " "))
	return "evt_0123456789abcdef", nil
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: hubtest.Database(t), clock: hubtest.NewClock(time.Now().Truncate(time.Second)), sent: &sentPings{}, log: &hubtest.Buffer{}}
	var err error
	b.box, err = seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	b.signKey = b.box.Derive("jwt")
	local, plain := auth.NewLocalToken()
	b.local = plain
	b.auth = auth.NewService(b.db, auth.Config{SigningKey: b.signKey, AccessTTL: 30 * time.Minute, RefreshTTL: 720 * time.Hour, Local: local, Now: b.clock.Now, HashMemory: hubtest.PasswordHashMemory})
	b.keys = keys.NewService(b.db, func(string) []string { return []string{"patient.search"} }, "100-M", b.clock.Now)
	logger := slog.New(slog.NewJSONHandler(b.log, nil))
	b.engine.start(b, logger)
	b.mail = mail.New(mail.Config{DB: b.db, Keep: true, Log: logger})
	// As the server has it.
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: httpx.MaxBody, ErrorHandler: httpx.ErrorHandler(logger), Immutable: true})
	httpx.AnswerUnknownMethods(app)
	app.Use(httpx.RequestIDs(), httpx.Headers("https://hub.example.com"))
	limits := keyLimits{limit.New(limit.Config{Redis: b.engine.redis.Options(), Log: logger})}
	receive := gateway.New(b.engine.directory, limits, b.engine.outbox, nil)
	code, err := eventtype.NewCatalog([]eventtype.Sender{{Product: "clinic", Sends: append(events.FromClinic(), "note.created")}})
	require.NoError(t, err)
	// No product is hosted: what needs one is refused, the rest is the same.
	connections := connect.New(connect.Config{
		DB: b.db, Box: b.box, Keys: b.keys, URLs: newGuard(t), Now: b.clock.Now, Log: logger,
		Products: func(string) (connect.Product, bool) { return connect.Product{}, false },
	})
	b.api, err = api.New(app, api.Deps{
		Log: logger, Auth: b.auth, Keys: b.keys, KeyFinder: b.keys, KeyLimiter: limits, KeyUse: limits, Registry: registry.New(b.db),
		Endpoints: registry.NewEndpoints(b.db, b.box, newGuard(t), b.clock.Now), EventTypes: registry.NewEventTypes(b.db, code), Alerts: alerts.NewService(b.db, registry.NewEndpoints(b.db, b.box, newGuard(t), b.clock.Now), b.mail), Audit: audit.NewRecorder(b.db), Publisher: b.sent, Connect: connections, Mail: b.mail,
		Publish: receive.Publish, PublishBatch: receive.PublishBatch, Ledger: query.NewReader(b.db).PaceFrom(b.engine.directory.Pace), Replays: b.engine.replays, Requeuer: b.engine.requeuer, Discarder: b.engine.discarder,
		Tail: b.engine.tail, Lookup: lookup.New(nil, query.NewReader(b.db)), Wake: b.engine.dispatcher.Wake, Now: b.clock.Now, Stopping: b.engine.stopping,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix(localPeer)}, Version: "test", Docs: true,
	})
	require.NoError(t, err)
	b.serve(app)
	b.operators()
	return b
}

func (b *bundle) serve(app *fiber.App) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b.t, err)
	b.url = "http://" + listener.Addr().String()
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	b.t.Cleanup(func() {
		b.engine.halt() // live tails end
		require.NoError(b.t, app.Shutdown())
		require.NoError(b.t, <-done)
	})
}

func (b *bundle) operators() {
	ctx := context.Background()
	created, made, err := b.auth.EnsureFirstOperator(ctx, adminEmail, adminPassword)
	require.NoError(b.t, err)
	require.True(b.t, created)
	require.Empty(b.t, made)
	b.admin = b.login(adminEmail, adminPassword)["access_token"].(string)
	b.ok(201, "POST", "/operators", b.admin, `{"email":"`+supportEmail+`","name":"S","role":"support","password":"`+adminPassword+`"}`)
	b.support = b.login(supportEmail, adminPassword)["access_token"].(string)
}

// tenants creates a product with two tenants, each with a live and a test key.
func (b *bundle) tenants() *bundle {
	b.ok(201, "POST", "/products", b.admin, `{"name":"shop","prefix":"shop"}`)
	for i := range b.tenant {
		made := b.ok(201, "POST", "/tenants", b.admin, `{"product":"shop","name":"Tenant"}`)
		b.tenant[i] = uuid.MustParse(made["id"].(string))
		b.live[i] = b.key(b.tenant[i], `"environment":"live"`)
		b.test[i] = b.key(b.tenant[i], `"environment":"test"`)
	}
	return b
}

func (b *bundle) key(tenant uuid.UUID, fields string) string {
	return b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+tenant.String()+`",`+fields+`}`)["api_key"].(string)
}

func (b *bundle) endpoint(credential, body string) map[string]any {
	return b.ok(201, "POST", "/endpoints", credential, body)
}

func (b *bundle) login(email, password string) map[string]any {
	return b.ok(200, "POST", "/auth/login", "", `{"email":"`+email+`","password":"`+password+`"}`)
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

// call sends a request with a credential: an access token, a key, or nothing.
func (b *bundle) call(method, path, credential, body string, headers ...string) answer {
	b.t.Helper()
	if !strings.HasPrefix(path, "/api") && !strings.HasPrefix(path, "/docs") && path != "/openapi.json" {
		path = "/api/v1" + path
	}
	request, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case keys.Check(credential) == nil:
		request.Header.Set(hub.HeaderKey, credential)
	case credential != "":
		request.Header.Set("Authorization", "Bearer "+credential)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := hubtest.HTTPClient.Do(request)
	require.NoError(b.t, err)
	defer func() { _ = response.Body.Close() }()
	got := answer{status: response.StatusCode, header: response.Header}
	if response.Header.Get("Content-Type") == "text/event-stream" {
		b.documented(method, path, got)
		return got // it does not end
	}
	raw, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	got.text = string(raw)
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		require.NoError(b.t, json.Unmarshal(raw, &got.body), got.text)
	}
	b.documented(method, path, got)
	return got
}

// ok sends a request and requires a status.
func (b *bundle) ok(status int, method, path, credential, body string, headers ...string) map[string]any {
	b.t.Helper()
	got := b.call(method, path, credential, body, headers...)
	require.Equal(b.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got.body
}

// refused sends a request and requires a problem with a status and a code.
func (b *bundle) refused(status int, code, method, path, credential, body string, headers ...string) answer {
	b.t.Helper()
	got := b.call(method, path, credential, body, headers...)
	require.Equal(b.t, status, got.status, "%s %s: %s", method, path, got.text)
	require.Equal(b.t, "application/problem+json", got.header.Get("Content-Type"))
	require.EqualValues(b.t, status, got.body["status"])
	require.Equal(b.t, code, got.body["code"], got.text)
	require.NotEmpty(b.t, got.body["detail"])
	require.NotEmpty(b.t, got.body["request_id"])
	require.Contains(b.t, got.body, "errors")
	return got
}

func items(body map[string]any) []map[string]any {
	var list []map[string]any
	for _, item := range body["items"].([]any) {
		list = append(list, item.(map[string]any))
	}
	return list
}

func newGuard(t *testing.T) *egress.Guard {
	t.Helper()
	guard, err := egress.New(egress.Config{})
	require.NoError(t, err)
	return guard
}
