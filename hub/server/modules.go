package server

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/files"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/jobs"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/product"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
)

// moduleConns is the size of a product's own connection pool.
const moduleConns = 10

// hosted is a product that runs here.
type hosted struct {
	spec     module.Spec
	module   module.Module
	base     string // its address as the world sees it
	path     string // under the hub's address; "" with a listener of its own
	listener net.Listener
	app      *fiber.App // of its own listener; nil without
	pool     *pgxpool.Pool
	instance module.Instance
	inbox    *inbox.Inbox
}

// products are the hosted products and what connects them.
type products struct {
	list       []*hosted
	connectors map[string]hub.Connector
	connect    *connect.Service
	keys       *keys.Service
	http       hub.Doer
	files      *files.Store
	cancel     context.CancelFunc
	background sync.WaitGroup
}

// Connector is the one that speaks to a product: its own, or that of the documents.
func (p *products) Connector(name string) hub.Connector {
	if c, ok := p.connectors[name]; ok {
		return c
	}
	return hub.NewPeerConnector(name, name)
}

// find gives a hosted product by its name.
func (p *products) find(name string) (connect.Product, bool) {
	for _, one := range p.list {
		if one.spec.Name == name {
			return connect.Product{Spec: one.spec, BaseURL: one.base}, true
		}
	}
	return connect.Product{}, false
}

// features gives the scopes of a product's keys.
func (p *products) features(name string) []string {
	found, _ := p.find(name)
	return found.Spec.Features
}

// phoneSearchers returns the hosted products that find people by phone number.
func (p *products) phoneSearchers() []lookup.Searcher {
	var list []lookup.Searcher
	for _, one := range p.list {
		if finder, ok := one.instance.(module.PhoneSearcher); ok {
			list = append(list, lookup.Searcher{Product: one.spec.Name, Search: finder.SearchPhone})
		}
	}
	return list
}

// planProducts decides which products run and where, and opens their listeners.
func (s *Server) planProducts() (*products, error) {
	cfg := s.options.Config
	p := &products{connectors: make(map[string]hub.Connector)}
	for _, connector := range s.options.Connectors {
		p.connectors[connector.Spec().Name] = connector
	}
	if s.options.Worker {
		return p, nil
	}
	var known []string
	for _, m := range s.options.Modules {
		known = append(known, m.Spec().Name)
	}
	for _, name := range cfg.ProductNames() {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: %q in the settings of products is none of this hub's products (%s)", ErrSetting, name, strings.Join(known, ", "))
		}
	}
	used := make(map[string]string)
	for _, m := range s.options.Modules {
		one := &hosted{spec: m.Spec(), module: m}
		if !cfg.IsProductEnabled(one.spec.Name) {
			continue
		}
		p.list = append(p.list, one)
		if address := cfg.ProductListeners[one.spec.Name]; address != "" {
			var err error
			if one.listener, err = listen(address); err != nil {
				p.closeListeners()
				return nil, err
			}
			if one.base = strings.TrimRight(cfg.ProductURLs[one.spec.Name], "/"); one.base == "" {
				one.base = config.LocalURL(one.listener.Addr().String())
			}
			continue
		}
		one.path = cfg.ProductPath(one.spec.Name)
		one.base = s.publicURL() + one.path
		if other := used[one.path]; other != "" {
			p.closeListeners()
			return nil, fmt.Errorf("%w: HUB_PRODUCT_PATHS gives %s and %s the same path", ErrSetting, other, one.spec.Name)
		}
		used[one.path] = one.spec.Name
	}
	return p, nil
}

// selfURLs are the addresses under which this hub reaches itself.
func (p *products) selfURLs(public string) []string {
	urls := []string{public}
	for _, one := range p.list {
		if one.listener != nil {
			urls = append(urls, one.base)
		}
	}
	return urls
}

func (p *products) closeListeners() {
	for _, one := range p.list {
		if one.listener != nil {
			_ = one.listener.Close()
		}
	}
}

// openProducts migrates, opens and mounts the products, and starts what runs behind
// them. The keys' service is shared with the hub's own API.
func (s *Server) openProducts(ctx context.Context, guard *egress.Guard, limits keyLimits, operators *auth.Service) error {
	p, db, log := s.products, s.storage.api, s.options.Log
	p.keys = keys.NewService(db, p.features, s.options.Config.KeyRate, time.Now)
	p.http = connect.NewDoer(guard.DialContext, "integrationhub/"+s.options.Version)
	if err := s.openFiles(ctx); err != nil {
		return err
	}
	p.connect = connect.New(connect.Config{
		DB: db, Box: s.storage.box, Keys: p.keys, URLs: guard, Client: p.http,
		Connectors: p.Connector, Products: p.find, Log: log, Now: time.Now, Random: rand.Float64,
		OnHandshakeFailed: s.engine.metrics.CountHandshakeFailure,
		OnRecovered:       func(id uuid.UUID) { log.Info("a peer is well again", "integration_id", id) },
	})
	for _, one := range p.list {
		if err := s.open(ctx, one, operators, limits); err != nil {
			return fmt.Errorf("opening product %s: %w", one.spec.Name, err)
		}
		if err := s.mountProduct(one, limits); err != nil {
			return err
		}
	}
	running, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.background.Go(func() { p.connect.Run(running) })
	p.background.Go(func() { inbox.RunPurge(running, db, log, time.Now) })
	for _, one := range p.list {
		if worker, ok := one.instance.(module.Worker); ok {
			runner := jobs.NewRunner(db, one.spec.Name, worker.Jobs(), log.With("product", one.spec.Name), s.productClock())
			p.background.Go(func() { runner.Run(running) })
		}
		if one.listener != nil {
			go func() {
				if err := one.app.Listener(one.listener); err != nil {
					s.failed <- fmt.Errorf("serving %s: %w", one.spec.Name, err)
				}
			}()
		}
	}
	return nil
}

func (s *Server) productClock() func() time.Time {
	if s.options.ProductClock != nil {
		return s.options.ProductClock
	}
	return time.Now
}

// open brings a product's schema up to date and puts the product together over it.
func (s *Server) open(ctx context.Context, one *hosted, operators *auth.Service, limits keyLimits) error {
	name, cfg, now := one.spec.Name, s.options.Config, s.productClock()
	log := s.options.Log.With("product", name)
	if _, err := migrations.UpProduct(ctx, s.storage.databaseURL, name, one.module.Migrations()); err != nil {
		return err
	}
	queries := dbgen.New(s.storage.api)
	if err := queries.HostProduct(ctx, dbgen.HostProductParams{Name: name, Prefix: one.spec.KeyPrefix, Title: one.spec.Title}); err != nil {
		return fmt.Errorf("registering the product: %w", err)
	}
	var err error
	one.pool, err = openPool(ctx, s.storage.databaseURL, moduleConns, map[string]string{
		"application_name": "hub-" + name, "search_path": migrations.SearchPath(name), "jit": "off", "statement_timeout": "30s",
	})
	if err != nil {
		return err
	}
	allowed, err := newModuleLimits(limits.limiter, one.spec, cfg.ProductLimits)
	if err != nil {
		return err
	}
	one.instance, err = one.module.Open(ctx, module.Host{
		Pool: one.pool, Events: outbox.ProductPublisher{Outbox: s.engine.outbox, Name: name}, Tenants: moduleTenants{s.storage.api, name}, Peers: modulePeers{s.products.connect, name},
		Jobs: jobs.Queue{Product: name, Now: now}, Sealer: moduleSealer{s.storage.box, name},
		Credentials: operators.NewAccounts(name, s.storage.box.Derive("product/"+name+"/access-tokens"), cfg.AccessTTL, now),
		RateLimiter: allowed, Audit: moduleAudit{audit.NewRecorder(s.storage.api)}, Deliveries: moduleDeliveries{s.engine.reader}, Erasures: erasure.Traces{Box: s.storage.box},
		Mail: s.mail.For(name), Files: s.products.files.For(name), HTTP: s.products.http,
		URLs:     module.URLs{Public: s.publicURL(), Base: one.base},
		Settings: settingsFor(cfg),
		Log:      log, Now: now,
	})
	if err != nil {
		return err
	}
	one.inbox = inbox.New(one.pool, one.instance.Handle, log, time.Now)
	return nil
}

// mountProduct puts a product and its pages in their places.
func (s *Server) mountProduct(one *hosted, limits keyLimits) error {
	app := s.app
	if one.listener != nil {
		one.app = newApp(s.publicURL(), s.options.Log, s.probes, s.uploads)
		app = one.app
	}
	s.engine.metrics.RegisterProduct(one.spec.Name, []string{string(inbox.Accepted), string(inbox.Duplicate), string(inbox.Ignored)}, []string{connect.StepStatus, connect.StepRegister})
	mounted, err := product.Mount(app, one.path, one.spec, one.instance, product.Deps{
		Log: s.options.Log, Connect: s.products.connect, Keys: s.products.keys, Directory: s.engine.directory, Limiter: limits,
		Connectors: s.products.Connector, Inbox: one.inbox, Ledger: s.engine.reader, Audit: audit.NewRecorder(s.storage.api),
		OnReceived: func(outcome string) { s.engine.metrics.CountReceived(one.spec.Name, outcome) },
		Now:        time.Now, TrustedProxies: s.options.Config.TrustedProxies, Health: s.probes.dependencies, BaseURL: one.base, Docs: !s.options.Config.IsProduction(),
	})
	if err != nil {
		return err
	}
	s.uploads.BodyLimits(app, mounted.AdmitLongBody)
	if pages, ok := one.instance.(module.PageProvider); ok {
		for path, handler := range pages.Pages() {
			mountPage(s.app, path, s.options.Config.TrustedProxies, handler)
		}
	}
	return nil
}

// stopServing ends the products' listeners; requests under way are finished.
func (p *products) stopServing(ctx context.Context, log *slog.Logger) {
	var ending sync.WaitGroup
	for _, one := range p.list {
		if one.app == nil {
			continue
		}
		ending.Go(func() {
			if err := one.app.ShutdownWithContext(ctx); err != nil {
				log.Warn("some requests did not end in time", "product", one.spec.Name, "error", err)
			}
		})
	}
	ending.Wait()
}

// stop ends what runs behind the products. Nothing is served any more.
func (p *products) stop() {
	if p.cancel != nil {
		p.cancel()
	}
	p.background.Wait()
	for _, one := range p.list {
		if one.inbox != nil {
			one.inbox.Close()
		}
		if one.pool != nil {
			one.pool.Close()
		}
	}
	if p.files != nil {
		_ = p.files.Close() // nothing is being written any more
	}
	p.closeListeners()
}

// ProductOpenAPI is the OpenAPI 3.1 document of all that lies under a product's base,
// without a running hub.
func ProductOpenAPI(ctx context.Context, m module.Module) ([]byte, error) {
	return product.Document(ctx, m)
}
