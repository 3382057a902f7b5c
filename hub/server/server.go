// Package server assembles the hub: the order of starting and stopping, the listener and
// the interfaces that are mounted on it.
package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/console"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/api"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/gateway"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/ownership"
	"integrationhub/hub/internal/reference"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/tracing"
	"integrationhub/hub/module"
)

// Options are the settings and the parts of a server.
type Options struct {
	Config  config.Config
	Version string
	Log     *slog.Logger
	Worker  bool     // deliver only: no API, except probes and metrics
	Search  []string // more places to look for PostgreSQL's programs

	Modules    []module.Module // the products this hub can host; settings say which run
	Connectors []hub.Connector // of products that have one of their own

	ProductClock       func() time.Time // the clock provided to products; nil = time.Now
	OperationalClock   func() time.Time // the clock by which operational events are detected; nil = time.Now
	PasswordHashMemory uint32           // KiB; 0 = 19 MiB. For tests: they hash many passwords that protect nothing
}

// Server is a running hub.
type Server struct {
	options  Options
	storage  *storage
	engine   *engine
	app      *fiber.App
	probes   *healthHandlers
	local    *localKeeper // nil in a worker
	products *products
	mail     *mail.Outbox
	// Types of events that come from code.
	eventTypes *eventtype.Catalog
	uploads    *httpx.Uploads
	formats    httpx.ErrorFormats
	listener   net.Listener
	stopping   chan struct{}
	failed     chan error
	first      FirstOperator
	settled    *time.Timer // returns the memory that only the start needed
}

// FirstOperator is the account that the first start created.
type FirstOperator struct {
	Created  bool
	Email    string
	Password string // one-time; "" where the configuration set it
}

// stopNotice is how long a stopping server goes on serving, so that a load balancer
// that asks /ready notices before connections are refused.
const stopNotice = time.Second

// freeMemoryAfter is how long after the start unused memory is returned to the system.
const freeMemoryAfter = 5 * time.Second

// Start starts a hub: storage, engine, listener. When it returns without an error,
// requests are answered. ctx limits the start only. The caller calls [Server.Stop].
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o, stopping: make(chan struct{}), failed: make(chan error, 1)}
	undo, err := s.start(ctx)
	if err != nil {
		for _, step := range slices.Backward(undo) {
			step()
		}
		return nil, err
	}
	return s, nil
}

// start is [Start]. undo closes what it opened, last first; a hub that has started stops by
// [Server.Stop] instead.
func (s *Server) start(ctx context.Context) (undo []func(), err error) {
	o := s.options
	if err := ownership.MkdirAll(o.Config.DataDir, 0o755); err != nil {
		return undo, fmt.Errorf("making the data directory: %w", err)
	}
	if s.listener, err = listen(o.Config.Listen); err != nil {
		return undo, err
	}
	undo = append(undo, func() { _ = s.listener.Close() })
	if s.storage, err = openStorage(ctx, o.Config, o.Search, o.Log); err != nil {
		return undo, err
	}
	undo = append(undo, func() { s.storage.close(context.WithoutCancel(ctx), o.Log) })
	if s.products, err = s.planProducts(); err != nil {
		return undo, err
	}
	undo = append(undo, s.products.stop)
	if err := refuseUpgrade(ctx, s.storage.api, enabledModules(o.Config, o.Modules)); err != nil {
		s.storage.removeNewKey()
		return undo, err
	}
	if err := s.storage.migrate(ctx, o.Log); err != nil {
		return undo, err
	}
	guard, err := egress.New(egress.Config{
		Allow: o.Config.EgressAllow, SelfURLs: s.products.selfURLs(s.publicURL()), Development: !o.Config.IsProduction(), Proxy: o.Config.EgressProxyURL(),
	})
	if err != nil {
		return undo, err
	}
	if s.mail, err = newMail(o.Config, s.storage.api, o.Log); err != nil {
		return undo, err
	}
	s.probes = &healthHandlers{storage: s.storage, version: o.Version}
	s.uploads = httpx.NewUploads(httpx.MaxUploadBytes, time.Now)
	s.app = newApp(s.publicURL(), o.Log, s.probes, s.uploads, &s.formats, s.countLimited)
	s.app.Get("/health", s.probes.health)
	s.app.Get("/ready", s.probes.readiness)
	tracer, err := tracing.New(ctx, o.Config.OTLPEndpoint, o.Version, o.Log)
	if err != nil {
		return undo, err
	}
	s.engine = startEngine(o, s.storage, guard, s.products.Connector, tracer, s.mail, s.publicURL())
	undo = append(undo, func() { s.engine.stop(ctx) })
	s.engine.outbox.SetSubjectProducts(namesOf(enabledModules(o.Config, o.Modules)))
	if s.eventTypes, err = eventtype.NewCatalog(sendersOf(enabledModules(o.Config, o.Modules))); err != nil {
		return undo, err
	}
	s.engine.outbox.SetEventTypes(s.eventTypes)
	serveMetrics(s.app, o.Config, s.engine)
	if !o.Worker {
		err := s.mountAPI(ctx, guard)
		if s.local != nil {
			undo = append(undo, s.local.stop)
		}
		if err != nil {
			return undo, err
		}
	}
	s.serve()
	return undo, nil
}

// serve begins to answer requests.
func (s *Server) serve() {
	s.probes.ready.Store(true) // before the first of those who have connected meanwhile is served
	go func() {
		if err := s.app.Listener(s.listener); err != nil {
			s.failed <- fmt.Errorf("serving: %w", err)
		}
	}()
	// Memory that only the start needed, such as for OpenAPI documents, is returned to the
	// system: the runtime would keep most of it.
	s.settled = time.AfterFunc(freeMemoryAfter, debug.FreeOSMemory)
}

// mountAPI puts the hub's own API on the app.
func (s *Server) mountAPI(ctx context.Context, guard *egress.Guard) error {
	cfg, db, e, log := s.options.Config, s.storage.api, s.engine, s.options.Log
	local, plain := auth.NewLocalToken()
	operators := auth.NewService(db, auth.Config{
		SigningKey: s.storage.box.Derive("operator-tokens"), AccessTTL: cfg.AccessTTL, RefreshTTL: cfg.RefreshTTL,
		Local: local, Now: time.Now, HashMemory: s.options.PasswordHashMemory,
	})
	e.metrics.Gauge("hub_logins_waiting", "Logins that wait in this process for their password to be checked.", func() float64 {
		return float64(operators.WaitingLogins())
	})
	if err := s.firstOperator(ctx, operators); err != nil {
		return err
	}
	entry := config.Local{URL: config.LocalURL(s.listener.Addr().String()), Token: plain, PID: os.Getpid()}
	keeper, err := keepLocal(cfg.DataDir, entry, log)
	if err != nil {
		return err
	}
	s.local = keeper
	limits := newKeyLimits(s.storage.limiter(log, e.metrics.CountLocalLimit))
	if err := s.openProducts(ctx, guard, limits, operators); err != nil {
		return err
	}
	receive := gateway.New(e.directory, limits, timedPublisher{e.outbox, e.metrics, e.tracer}, e.tracer)
	var readable *mail.Outbox
	if !cfg.IsProduction() {
		readable = s.mail
	}
	_, err = api.New(s.app, api.Deps{
		Log: log, Auth: operators, Keys: s.products.keys, Connect: s.products.connect,
		KeyFinder: e.directory, KeyLimiter: limits, KeyUse: limits,
		Registry: registry.New(db, registeredAs(s.options.Modules)...).WithErasers(s.tenantErasers()), Endpoints: s.products.endpoints,
		EventTypes: registry.NewEventTypes(db, s.eventTypes), Alerts: alerts.NewService(db, s.products.endpoints, s.mail),
		Audit: audit.NewRecorder(db), Publisher: pings{e.directory, e.outbox}, Mail: readable,
		Publish: receive.Publish, PublishBatch: receive.PublishBatch,
		Ledger: e.reader, Replays: e.replays, Requeuer: e.requeuer, Discarder: e.discarder, Tail: e.tail, Lookup: lookup.New(s.products.searchers(), e.reader), LookupLimiter: limits, Examine: s.examine, Wake: e.dispatcher.Wake, Now: time.Now, Stopping: s.stopping,
		SecureCookies: strings.HasPrefix(s.publicURL(), "https://"), TrustedProxies: cfg.TrustedProxies, Version: s.options.Version, Docs: !cfg.IsProduction(), References: func() []reference.Link { return s.references(false) },
	})
	if err != nil {
		return err
	}
	return console.Mount(s.app, s.home, s.products.onHub())
}

// home answers programs that ask for /: the API reference where there is one. People's
// browsers get the console.
func (s *Server) home(c *fiber.Ctx) error {
	if s.options.Config.IsProduction() {
		return hub.NotFound("Page")
	}
	return c.Redirect("/docs")
}

func (s *Server) firstOperator(ctx context.Context, operators *auth.Service) error {
	cfg := s.options.Config
	created, password, err := operators.EnsureFirstOperator(ctx, cfg.AdminEmail, cfg.AdminPassword.Reveal())
	if err != nil {
		return fmt.Errorf("making the first operator: %w", err)
	}
	s.first = FirstOperator{Created: created, Email: cmp.Or(cfg.AdminEmail, auth.DefaultEmail), Password: password}
	return nil
}

// publicURL returns the address at which people and other products reach the hub.
func (s *Server) publicURL() string {
	if s.options.Config.PublicURL == "" {
		return s.URL()
	}
	return s.options.Config.BaseURL()
}

// URL returns the address of the hub on this machine.
func (s *Server) URL() string { return config.LocalURL(s.listener.Addr().String()) }

// FirstOperator returns the account that this start created.
func (s *Server) FirstOperator() FirstOperator { return s.first }

// EmbeddedDatabase reports whether the hub runs its own PostgreSQL.
func (s *Server) EmbeddedDatabase() bool { return s.storage.postgres != nil }

// Product describes a hosted product for people on this machine.
type Product struct {
	Name, Title string
	URL         string   // of its base, without a slash at the end
	Pages       []string // addresses of its pages for people, sorted
}

// Products returns the products that run here, in the order of the options.
func (s *Server) Products() []Product {
	var list []Product
	for _, product := range s.products.list {
		entry := Product{Name: product.spec.Name, Title: product.spec.Title, URL: s.URL() + product.path}
		if product.listener != nil {
			entry.URL = config.LocalURL(product.listener.Addr().String())
		}
		if pages, ok := product.instance.(module.PageProvider); ok {
			for path := range pages.Pages() {
				entry.Pages = append(entry.Pages, s.URL()+path)
			}
			slices.Sort(entry.Pages)
		}
		list = append(list, entry)
	}
	return list
}

// Failed returns a channel that receives an error when the server can no longer work.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop stops the hub gracefully within the configured time. It is not ready at once;
// attempts in flight are finished, the rest is left to other processes or the next start.
func (s *Server) Stop() {
	s.settled.Stop()
	grace := s.options.Config.ShutdownGrace
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.probes.ready.Store(false)
	close(s.stopping)
	select {
	case <-time.After(min(stopNotice, grace/5)):
	case <-ctx.Done():
	}
	s.engine.stopStarting()
	if err := s.app.ShutdownWithContext(ctx); err != nil {
		s.options.Log.Warn("some requests did not end in time", "error", err)
	}
	s.products.stopServing(ctx, s.options.Log)
	s.products.stop()
	s.engine.stop(ctx)
	if s.local != nil {
		s.local.stop()
	}
	// The database has a deadline of its own, which slow requests do not shorten.
	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.storage.close(closing, s.options.Log)
}

func stack() string { return string(debug.Stack()) }

func contextFor(c *fiber.Ctx, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.UserContext(), timeout)
}

// OpenAPI returns the OpenAPI 3.1 document of the hub's API, without a running hub.
func OpenAPI(version string) ([]byte, error) { return api.Document(version) }
