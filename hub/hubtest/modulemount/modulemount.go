//go:build unix

// Package modulemount mounts a hosted product for its own tests: over real HTTP and a
// real database, behind the rules that the hub has for callers, bodies and errors.
package modulemount

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver goose works through
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
)

// integrations is where the integration interface lies under a product's base.
const integrations = "/api/v1/integrations"

// Mounted is a product at work.
type Mounted struct {
	t         testing.TB
	URL       string // base of the product
	DB        *pgxpool.Pool
	Clock     *hubtest.Clock
	Instance  module.Instance
	API       huma.API
	FailEvent atomic.Bool  // publishing fails
	Queries   atomic.Int64 // that the product made so far
	Limited   atomic.Bool  // requests are limited, as they are in a hub
	limiter   *limit.Limiter
	stored    sync.Map
	mu        sync.Mutex
	keys      map[string]module.Caller
}

// databases holds one migrated database for each product of a test process. Tests
// share it; each has tenants of its own.
var databases struct {
	sync.Mutex
	urls map[string]string
}

const published = `create table public.published (at bigint generated always as identity, tenant_id uuid, event_type text, data text);
create table public.mails (at bigint generated always as identity, recipient text, body text);
create table public.tenants (id uuid primary key, name text)`

func database(t testing.TB, m module.Module) string {
	t.Helper()
	databases.Lock()
	defer databases.Unlock()
	name := m.Spec().Name
	if url, ok := databases.urls[name]; ok {
		return url
	}
	url := hubtest.LastingDatabaseURL(t)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "create schema "+name+";"+published)
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, m.Migrations())
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	if databases.urls == nil {
		databases.urls = make(map[string]string)
	}
	databases.urls[name] = url
	return url
}

// Mount opens a product, whose clock shows now, and serves it until the test ends.
// conns is the size of its connection pool.
func Mount(t testing.TB, m module.Module, now time.Time, conns int32) *Mounted {
	t.Helper()
	h := &Mounted{t: t, Clock: hubtest.NewClock(now), keys: make(map[string]module.Caller), limiter: limit.New(limit.Config{Log: slog.New(slog.DiscardHandler)})}
	config, err := pgxpool.ParseConfig(database(t, m))
	require.NoError(t, err)
	config.MaxConns = conns
	config.ConnConfig.RuntimeParams["search_path"] = m.Spec().Name + ",public"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	config.ConnConfig.Tracer = counter{&h.Queries}
	h.DB, err = pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(h.DB.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.URL = "http://" + listener.Addr().String()
	h.Instance, err = m.Open(t.Context(), h.kit(m.Spec().Name))
	require.NoError(t, err)
	h.serve(listener, h.mount(m.Spec()))
	return h
}

func (h *Mounted) kit(product string) module.Kit {
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(h.t, err)
	settings := module.Settings{Development: true, AccessTTL: 30 * time.Minute, RefreshTTL: 720 * time.Hour}
	operators := auth.NewService(h.DB, auth.Config{SigningKey: box.Derive("operators"), Now: h.Clock.Now})
	return module.Kit{
		Pool: h.DB, Events: h, Tenants: tenants{h.DB}, Peers: nobody{}, Jobs: nobody{}, Sealer: box,
		Limits: h, Mail: mails{}, Files: files{&h.stored}, HTTP: http.DefaultClient,
		Accounts: operators.NewAccounts(product, box.Derive(product), settings.AccessTTL),
		URLs:     module.URLs{Public: "https://app.example.com", Base: h.URL},
		Settings: settings, Log: slog.New(slog.DiscardHandler), Now: h.Clock.Now,
	}
}

func (h *Mounted) mount(spec module.Spec) *fiber.App {
	log := slog.New(slog.NewTextHandler(h.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: httpx.MaxBody, ErrorHandler: httpx.ErrorHandler(log), Immutable: true})
	httpx.AnswerUnknownMethods(app)
	app.Use(httpx.RequestIDs())
	settings := huma.DefaultConfig(spec.Title, spec.Version)
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "", "", ""
	settings.CreateHooks = nil
	httpx.InstallHuma(&settings, log)
	h.API = humafiber.New(app, settings)
	h.API.UseMiddleware(h.guard)
	h.Instance.Routes(h.API)
	if searcher, ok := h.Instance.(module.Searcher); ok {
		searcher.Searches(huma.NewGroup(h.API, integrations+"/search"))
	}
	if actor, ok := h.Instance.(module.Actor); ok {
		actor.Actions(huma.NewGroup(h.API, integrations+"/action"))
	}
	return app
}

func (h *Mounted) serve(listener net.Listener, app *fiber.App) {
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	// Shutdown ends only what serves already.
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.URL, http.NoBody)
	require.NoError(h.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(h.t, err)
	require.NoError(h.t, answer.Body.Close())
	h.t.Cleanup(func() {
		require.NoError(h.t, app.Shutdown())
		require.NoError(h.t, <-done)
	})
}

// Key makes an API key of a tenant with some scopes.
func (h *Mounted) Key(tenant uuid.UUID, environment hub.Environment, scopes ...string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := "key_" + uuid.NewString()
	h.keys[key] = module.Caller{TenantID: tenant, Environment: environment, KeyID: uuid.New(), Name: "key", Scopes: scopes, Peer: "messaging"}
	return key
}

// guard lets through who may call, as the operation's Security says.
func (h *Mounted) guard(ctx huma.Context, next func(huma.Context)) {
	c := humafiber.Unwrap(ctx)
	bounded := module.WithClientIP(ctx.Context(), c.IP())
	who, known, err := h.admit(bounded, ctx.Operation().Security, c)
	if err == nil {
		err = checkBody(c)
	}
	if err != nil {
		_ = huma.WriteErr(h.API, ctx, http.StatusInternalServerError, "", err)
		return
	}
	if known {
		bounded = module.WithCaller(bounded, who)
	}
	next(huma.WithContext(ctx, bounded))
}

func (h *Mounted) admit(ctx context.Context, security []map[string][]string, c *fiber.Ctx) (who module.Caller, known bool, err error) {
	nobody := len(security) == 0
	for _, alternative := range security {
		roles, bearer := alternative[module.SchemeBearer]
		scopes, key := alternative[module.SchemeKey]
		switch {
		case bearer && c.Get(fiber.HeaderAuthorization) != "":
			who, err = h.Instance.Authenticate(ctx, strings.TrimPrefix(c.Get(fiber.HeaderAuthorization), "Bearer "))
			if err == nil && len(roles) > 0 && !who.Admin {
				err = hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
			}
			return who, err == nil, err
		case key && c.Get(hub.HeaderKey) != "":
			h.mu.Lock()
			who, known = h.keys[c.Get(hub.HeaderKey)]
			h.mu.Unlock()
			if !known {
				return who, false, hub.ErrUnauthorized
			}
			for _, scope := range scopes {
				if !who.Can(scope) {
					return who, true, hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s.", scope)
				}
			}
			return who, true, nil
		case !bearer && !key:
			nobody = true
		}
	}
	if nobody {
		return who, false, nil
	}
	return who, false, hub.ErrUnauthorized
}

func checkBody(c *fiber.Ctx) error {
	if strings.HasPrefix(c.Get(fiber.HeaderContentType), fiber.MIMEMultipartForm) {
		return nil
	}
	body, err := httpx.JSONBody(c)
	if err != nil || len(body) == 0 {
		return err
	}
	return httpx.CheckJSON(body, httpx.JSONRules{UniqueKeys: true})
}
