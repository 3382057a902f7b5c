package moduletest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

// Options are how a test's hub differs from any other.
type Options struct {
	Start        time.Time       // where the product's clock stands until [Hub.Clock] is advanced; zero: the machine's time
	Operational  *hubtest.Clock  // by which operational events are detected; nil: the machine's time
	Settings     []string        // as in the environment: "HUB_PAYMENT_PROVIDER=none"
	OtherModules []module.Module // more products

	RealPasswordHashes bool // that take as much memory as outside tests

	Connectors []hub.Connector // of products that are elsewhere
}

// Hub is a running hub with a product and its [module.Host].
type Hub struct {
	URL           string // of the hub
	Base          string // of the product
	OperatorToken string // bearer token
	Host          module.Host
	Instance      module.Instance

	// Of a hub of the test's own; zero where tests share it.
	DataDir        string
	DatabaseURL    string
	Clock          *hubtest.Clock // the product's; nil: the machine's
	QueryCount     *atomic.Int64  // that the product has made so far
	FailPublishing *atomic.Bool   // publishing fails

	t       testing.TB
	product string
	log     *hubtest.Buffer
}

// shared are the hubs that the tests of this process share, by product.
var shared struct {
	mu   sync.Mutex
	hubs map[string]*Hub
}

// Shared returns the hub that the tests of this process share, for tests with accounts of
// their own that look at nothing else, move no clock and break nothing. The first call starts
// it: all calls for a product pass the same options.
func Shared(t testing.TB, m module.Module, o Options) *Hub {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	product := m.Spec().Name
	h, ok := shared.hubs[product]
	if !ok {
		if shared.hubs == nil {
			shared.hubs = make(map[string]*Hub)
		}
		h = Start(hubtest.ForProcess(t), m, o)
		shared.hubs[product] = h
	}
	began, log := h.log.Len(), h.log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(warnings(log.String()[began:]))
		}
	})
	view := *h
	view.t, view.Clock, view.QueryCount, view.FailPublishing, view.log = t, nil, nil, nil, nil
	view.DataDir, view.DatabaseURL = "", ""
	return &view
}

// Start starts a hub with a product on servers of its own, and stops it when the test
// ends.
func Start(t testing.TB, m module.Module, o Options) *Hub {
	t.Helper()
	spec := m.Spec()
	h := &Hub{
		t: t, product: spec.Name, DataDir: t.TempDir(), DatabaseURL: preparedDatabase(t, m),
		QueryCount: new(atomic.Int64), FailPublishing: new(atomic.Bool), log: new(hubtest.Buffer),
	}
	cfg, _, err := config.Load(config.Sources{Environ: append([]string{"HUB_KEY_RATE=0"}, o.Settings...)})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.LogLevel, cfg.ShutdownGrace = "127.0.0.1:0", h.DataDir, "debug", time.Second
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(h.DatabaseURL), config.Secret(hubtest.RedisURL(t))
	cfg.MasterKey = config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	options := server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Modules: append([]module.Module{observedModule{m, h}}, o.OtherModules...), Connectors: o.Connectors,
	}
	if !o.RealPasswordHashes {
		options.PasswordHashMemory = hubtest.PasswordHashMemory
	}
	if !o.Start.IsZero() {
		h.Clock = hubtest.NewClock(o.Start)
		options.ProductClock = h.Clock.Now
	}
	if o.Operational != nil {
		options.OperationalClock = o.Operational.Now
	}
	running, err := server.Start(context.Background(), options)
	require.NoError(t, err)
	t.Cleanup(func() {
		running.Stop()
		h.Host.Pool.Close()
		if t.Failed() {
			t.Log(warnings(h.log.String()))
		}
	})
	h.URL = running.URL()
	h.Base = h.URL + cfg.ProductPath(spec.Name)
	local, err := config.ReadLocal(h.DataDir)
	require.NoError(t, err)
	h.OperatorToken = local.Token
	return h
}

// preparedDatabase returns the URL of a database with the product's schema and an operator: making
// them takes longer than copying.
func preparedDatabase(t testing.TB, m module.Module) string {
	t.Helper()
	name := m.Spec().Name
	return hubtest.PreparedDatabaseURL(t, name, m.Migrations(), func(ctx context.Context, url string) error {
		if _, err := migrations.UpProduct(ctx, url, name, m.Migrations()); err != nil {
			return err
		}
		db, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, `insert into hub.operators (id, email, name, role, password_hash) values ($1, 'ana@example.com', 'Ana', 'admin', 'none')`, uuid.New())
		return errors.Join(err, db.Close(ctx))
	})
}

// observedModule remembers what a module was opened with and what came of it, and lets the
// test in between.
type observedModule struct {
	module.Module
	hub *Hub
}

// Open implements [module.Module].
func (w observedModule) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	settings := host.Pool.Config()
	settings.ConnConfig.Tracer = queryCounter{w.hub.QueryCount}
	// Tests hold transactions of this pool open while they look at what waits for them.
	delete(settings.ConnConfig.RuntimeParams, "idle_in_transaction_session_timeout")
	pool, err := pgxpool.NewWithConfig(context.Background(), settings)
	if err != nil {
		return nil, err
	}
	host.Pool, host.Events = pool, publisher{host.Events, w.hub.FailPublishing}
	instance, err := w.Module.Open(ctx, host)
	w.hub.Host, w.hub.Instance = host, instance
	return instance, err
}

// queryCounter counts queries.
type queryCounter struct{ n *atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c queryCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (queryCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// publisher is the hub's publisher, which a test can make fail.
type publisher struct {
	module.Publisher
	fail *atomic.Bool
}

// Publish implements [module.Publisher].
func (p publisher) Publish(ctx context.Context, tx pgx.Tx, e hub.Event) (string, error) {
	if p.fail.Load() {
		return "", errors.New("publishing is broken by the test")
	}
	return p.Publisher.Publish(ctx, tx, e)
}

// PublishTo implements [module.Publisher].
func (p publisher) PublishTo(ctx context.Context, tx pgx.Tx, audience module.Audience, events []hub.Event) ([]string, error) {
	if p.fail.Load() {
		return nil, errors.New("publishing is broken by the test")
	}
	return p.Publisher.PublishTo(ctx, tx, audience, events)
}

// CreateKey makes an API key of a tenant of the product, without a limit. No scopes means all.
func (h *Hub) CreateKey(tenant uuid.UUID, environment hub.Environment, scopes ...string) string {
	h.t.Helper()
	var created struct {
		APIKey string `json:"api_key"`
	}
	key := map[string]any{"tenant_id": tenant, "name": "test", "environment": environment, "rate": "0"}
	if len(scopes) > 0 {
		key["scopes"] = scopes
	}
	h.CallAPI(http.MethodPost, "/api/v1/keys", key, &created)
	return created.APIKey
}

// Emails are the texts sent to an address, newest first.
func (h *Hub) Emails(to string) []string {
	h.t.Helper()
	var page struct{ Items []struct{ Text string } }
	h.CallAPI(http.MethodGet, "/api/v1/dev/mail?to="+url.QueryEscape(to), nil, &page)
	var texts []string
	for _, email := range page.Items {
		texts = append(texts, email.Text)
	}
	return texts
}

// CallAPI calls the hub's own API as an operator.
func (h *Hub) CallAPI(method, path string, body, result any) {
	h.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(h.t, err)
	if body == nil {
		raw = nil
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.URL+path, bytes.NewReader(raw))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.OperatorToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	require.Less(h.t, res.StatusCode, 300, "%s %s", method, path)
	require.NoError(h.t, json.NewDecoder(res.Body).Decode(result))
}

// Files are the names of the pictures that are kept.
func (h *Hub) Files() []string {
	h.t.Helper()
	require.NotEmpty(h.t, h.DataDir, "tests share this hub: its files are not of one of them")
	var names []string
	require.NoError(h.t, filepath.WalkDir(filepath.Join(h.DataDir, "files"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) != ".attrs" {
			names = append(names, entry.Name())
		}
		return err
	}))
	return names
}

// Log is everything the hub has logged so far, from debug upwards. Tests that share a hub do
// not read its log.
func (h *Hub) Log() string {
	h.t.Helper()
	require.NotNil(h.t, h.log, "tests share this hub: its log says nothing of one of them")
	return h.log.String()
}

// warnings returns the lines of a log with warnings and errors.
func warnings(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			lines = append(lines, line)
		}
	}
	return "the hub warned:\n" + strings.Join(lines, "")
}
