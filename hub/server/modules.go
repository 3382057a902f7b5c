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
	"integrationhub/hub/console"
	"integrationhub/hub/internal/api"
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
	"integrationhub/hub/internal/productapi"
	"integrationhub/hub/internal/reference"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
)

// moduleConns is the size of a product's own connection pool: slow queries of a product
// hold no more. Two processes with three products fit into the 97 connections that
// PostgreSQL accepts by default, with three for other programs.
const moduleConns = 8

// hosted is a product that runs in this process.
type hosted struct {
	spec     module.Spec
	module   module.Module
	base     string // its public address
	path     string // below the hub's address; "" for a product with its own listener
	listener net.Listener
	app      *fiber.App // of its own listener; nil = none
	pool     *pgxpool.Pool
	instance module.Instance
	inbox    *inbox.Inbox
}

// products are the hosted products and the services they share.
type products struct {
	list       []*hosted
	connectors map[string]hub.Connector
	connect    *connect.Service
	keys       *keys.Service
	endpoints  *registry.Endpoints
	http       hub.Doer
	downloads  hub.Doer
	files      *files.Store
	cancel     context.CancelFunc
	background sync.WaitGroup
}

// Connector returns the connector for a product: its own, or the generic one.
func (p *products) Connector(name string) hub.Connector {
	if c, ok := p.connectors[name]; ok {
		return c
	}
	return hub.NewPeerConnector(name, name)
}

// find returns a hosted product by name.
func (p *products) find(name string) (connect.Product, bool) {
	for _, hostedProduct := range p.list {
		if hostedProduct.spec.Name == name {
			return connect.Product{Spec: hostedProduct.spec, BaseURL: hostedProduct.base}, true
		}
	}
	return connect.Product{}, false
}

// onHub returns the products that lie below the hub's own address.
func (p *products) onHub() []console.Product {
	var list []console.Product
	for _, hostedProduct := range p.list {
		if hostedProduct.listener == nil {
			list = append(list, console.Product{Name: hostedProduct.spec.Name, Path: hostedProduct.path})
		}
	}
	return list
}

// features returns the features of a product, which are scopes of its keys.
func (p *products) features(name string) []string {
	found, _ := p.find(name)
	return found.Spec.Features
}

// inboxes returns the hosted products with inboxes, by name.
func (p *products) inboxes() map[string]module.InboxReporter {
	reporters := make(map[string]module.InboxReporter)
	for _, hostedProduct := range p.list {
		if reporter, ok := hostedProduct.instance.(module.InboxReporter); ok {
			reporters[hostedProduct.spec.Name] = reporter
		}
	}
	return reporters
}

// searchers returns how the hosted products find people.
func (p *products) searchers() []lookup.Searcher {
	var list []lookup.Searcher
	for _, hostedProduct := range p.list {
		searcher := lookup.Searcher{Product: hostedProduct.spec.Name}
		if finder, ok := hostedProduct.instance.(module.PhoneSearcher); ok {
			searcher.Phone = finder.SearchPhone
		}
		if finder, ok := hostedProduct.instance.(module.EmailSearcher); ok {
			searcher.Email = finder.SearchEmail
		}
		if finder, ok := hostedProduct.instance.(module.CPFSearcher); ok {
			searcher.CPFEnd = finder.SearchCPFEnd
		}
		list = append(list, searcher)
	}
	return list
}

// planProducts determines which products run at which address, and opens their listeners.
func (s *Server) planProducts() (*products, error) {
	cfg := s.options.Config
	p := &products{connectors: make(map[string]hub.Connector)}
	for _, connector := range s.options.Connectors {
		p.connectors[connector.Spec().Name] = connector
	}
	if s.options.Worker {
		return p, nil
	}
	var names []string
	for _, m := range s.options.Modules {
		names = append(names, m.Spec().Name)
	}
	for _, name := range cfg.ProductNames() {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%w: %q in the settings of products is none of this hub's products (%s)", ErrSetting, name, strings.Join(names, ", "))
		}
	}
	pathOwners := make(map[string]string)
	for _, m := range s.options.Modules {
		hostedProduct := &hosted{spec: m.Spec(), module: m}
		if !cfg.IsProductEnabled(hostedProduct.spec.Name) {
			continue
		}
		p.list = append(p.list, hostedProduct)
		if address := cfg.ProductListeners[hostedProduct.spec.Name]; address != "" {
			var err error
			if hostedProduct.listener, err = listen(address); err != nil {
				p.closeListeners()
				return nil, err
			}
			if hostedProduct.base = strings.TrimRight(cfg.ProductURLs[hostedProduct.spec.Name], "/"); hostedProduct.base == "" {
				hostedProduct.base = config.LocalURL(hostedProduct.listener.Addr().String())
			}
			continue
		}
		hostedProduct.path = cfg.ProductPath(hostedProduct.spec.Name)
		hostedProduct.base = s.publicURL() + hostedProduct.path
		if other := pathOwners[hostedProduct.path]; other != "" {
			p.closeListeners()
			return nil, fmt.Errorf("%w: HUB_PRODUCT_PATHS gives %s and %s the same path", ErrSetting, other, hostedProduct.spec.Name)
		}
		pathOwners[hostedProduct.path] = hostedProduct.spec.Name
	}
	return p, nil
}

// selfURLs returns the addresses of this hub, which webhooks must not target.
func (p *products) selfURLs(public string) []string {
	urls := []string{public}
	for _, hostedProduct := range p.list {
		if hostedProduct.listener != nil {
			urls = append(urls, hostedProduct.base)
		}
	}
	return urls
}

func (p *products) closeListeners() {
	for _, hostedProduct := range p.list {
		if hostedProduct.listener != nil {
			_ = hostedProduct.listener.Close()
		}
	}
}

// openProducts migrates, opens and mounts the products, and starts their background work.
// The services of keys and endpoints are shared with the hub's own API.
func (s *Server) openProducts(ctx context.Context, guard *egress.Guard, limits keyLimits, operators *auth.Service) error {
	p, db, log := s.products, s.storage.api, s.options.Log
	p.keys = keys.NewService(db, p.features, s.options.Config.KeyRate, time.Now).WithLinkRate(s.options.Config.LinkRate)
	p.endpoints = registry.NewEndpoints(db, s.storage.box, guard, time.Now)
	agent := "integrationhub/" + s.options.Version
	p.http, p.downloads = connect.NewDoer(guard.DialContext, agent), connect.NewDownloader(guard.DialContext, agent)
	if err := s.openFiles(ctx); err != nil {
		return err
	}
	p.connect = connect.New(connect.Config{
		DB: db, Box: s.storage.box, Keys: p.keys, URLs: guard, Client: p.http,
		Connectors: p.Connector, Products: p.find, Log: log, Now: time.Now, Random: rand.Float64,
		OnHandshakeFailed: s.engine.metrics.CountHandshakeFailure,
		OnRecovered:       func(id uuid.UUID) { log.Info("a peer is well again", "integration_id", id) },
	})
	for _, hostedProduct := range p.list {
		if err := s.open(ctx, hostedProduct, operators, limits); err != nil {
			return fmt.Errorf("opening product %s: %w", hostedProduct.spec.Name, err)
		}
		if err := s.mountProduct(hostedProduct, operators, limits); err != nil {
			return err
		}
	}
	s.engine.alerts.SetInboxes(p.inboxes())
	running, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.background.Go(func() { p.connect.Run(running) })
	p.background.Go(func() { inbox.RunPurge(running, db, log, time.Now) })
	p.background.Go(func() { p.files.RunCleanup(running, log) })
	for _, hostedProduct := range p.list {
		if work := s.jobsOf(hostedProduct, registry.New(db)); len(work) > 0 {
			runner := jobs.NewRunner(db, hostedProduct.spec.Name, work, log.With("product", hostedProduct.spec.Name), clockOrReal(s.options.ProductClock))
			p.background.Go(func() { runner.Run(running) })
		}
		if hostedProduct.listener != nil {
			go func() {
				if err := hostedProduct.app.Listener(hostedProduct.listener); err != nil {
					s.failed <- fmt.Errorf("serving %s: %w", hostedProduct.spec.Name, err)
				}
			}()
		}
	}
	return nil
}

// clockOrReal returns a clock, or the machine's where it is nil.
func clockOrReal(clock func() time.Time) func() time.Time {
	if clock != nil {
		return clock
	}
	return time.Now
}

// open migrates a product's schema and opens the product.
func (s *Server) open(ctx context.Context, hostedProduct *hosted, operators *auth.Service, limits keyLimits) error {
	name, cfg, now := hostedProduct.spec.Name, s.options.Config, clockOrReal(s.options.ProductClock)
	log := s.options.Log.With("product", name)
	pending, err := migrations.PendingProduct(ctx, s.storage.api, name, hostedProduct.module.Migrations())
	if err != nil {
		return err
	}
	if pending {
		if _, err := migrations.UpProduct(ctx, s.storage.databaseURL, name, hostedProduct.module.Migrations()); err != nil {
			return err
		}
	}
	queries := dbgen.New(s.storage.api)
	if err := queries.UpsertHostedProduct(ctx, dbgen.UpsertHostedProductParams{Name: name, Prefix: hostedProduct.spec.KeyPrefix, Title: hostedProduct.spec.Title}); err != nil {
		return fmt.Errorf("registering the product: %w", err)
	}
	stored, err := queries.ProductByName(ctx, name)
	if err != nil {
		return fmt.Errorf("registering the product: %w", err)
	}
	if !stored.Hosted { // created since refuseUpgrade
		return clashError(registry.Clash{Name: stored.Name, Prefix: stored.Prefix, Module: name}, enabledModules(s.options.Config, s.options.Modules))
	}
	hostedProduct.pool, err = openPool(ctx, s.storage.databaseURL, moduleConns, moduleSettings(name))
	if err != nil {
		return err
	}
	allowed, err := newModuleLimits(limits.limiter, hostedProduct.spec, cfg.ProductLimits)
	if err != nil {
		return err
	}
	settings := settingsFor(cfg, hostedProduct.spec)
	hostedProduct.instance, err = hostedProduct.module.Open(ctx, module.Host{
		Pool: hostedProduct.pool, Events: outbox.ProductPublisher{Outbox: s.engine.outbox, Name: name}, Webhooks: moduleWebhooks{s.products.endpoints, s.engine.reader}, Tenants: moduleTenants{s.storage.api, name, s.engine.directory}, Peers: modulePeers{s.products.connect, name},
		Jobs: jobs.Queue{Product: name, Now: now}, Sealer: moduleSealer{s.storage.box, s.storage.keyCheck, name},
		Credentials: operators.NewAccounts(name, s.storage.box.Derive("product/"+name+"/access-tokens"), settings.AccessTTL, now),
		RateLimiter: allowed, Audit: moduleAudit{audit.NewRecorder(s.storage.api)}, Deliveries: moduleDeliveries{s.engine.reader}, Erasures: erasure.TraceStore{Box: s.storage.box},
		Mail: s.mail.For(name), Files: s.products.files.For(name), Blobs: s.products.files.BlobsFor(name), HTTP: s.products.http, Downloads: s.products.downloads,
		URLs:     module.URLs{Public: s.publicURL(), Base: hostedProduct.base},
		Settings: settings,
		Log:      log, Now: now, TestClock: s.options.ProductClock != nil, Stopping: s.stopping,
	})
	if err != nil {
		return err
	}
	hostedProduct.inbox = inbox.New(hostedProduct.pool, hostedProduct.instance.Handle, screenerOf(hostedProduct.instance), log, time.Now)
	return nil
}

// mountProduct mounts the API and the pages of a product.
func (s *Server) mountProduct(hostedProduct *hosted, operators *auth.Service, limits keyLimits) error {
	app := s.app
	if hostedProduct.listener != nil {
		hostedProduct.app = newApp(s.publicURL(), s.options.Log, s.probes, s.uploads, &s.formats, s.countLimited)
		app = hostedProduct.app
	}
	s.engine.metrics.RegisterProduct(hostedProduct.spec.Name, []string{string(inbox.Accepted), string(inbox.Duplicate), string(inbox.Ignored)}, []string{connect.StepStatus, connect.StepRegister})
	var signUps productapi.Operators
	if s.options.Config.SignUp == config.SignUpOperators {
		signUps = operators
	}
	mounted, err := productapi.Mount(app, hostedProduct.path, hostedProduct.spec, hostedProduct.instance, productapi.Deps{
		Log: s.options.Log, Connect: s.products.connect, Keys: s.products.keys, Directory: s.engine.directory, Limiter: limits,
		Connectors: s.products.Connector, Inbox: hostedProduct.inbox, Ledger: s.engine.reader, Requeuer: s.engine.requeuer, Wake: s.engine.dispatcher.Wake, Audit: audit.NewRecorder(s.storage.api), Operators: signUps,
		OnReceived: func(outcome string) { s.engine.metrics.CountReceived(hostedProduct.spec.Name, outcome) },
		Now:        time.Now, TrustedProxies: s.options.Config.TrustedProxies, Health: s.probes.dependencies, BaseURL: hostedProduct.base, Docs: !s.options.Config.IsProduction(),
		References: func() []reference.Link { return s.references(hostedProduct.listener != nil) },
	})
	if err != nil {
		return err
	}
	s.uploads.BodyLimits(app, mounted.AdmitLongBody)
	s.uploads.AdaptErrors(app, mounted.ErrorAdapterOf)
	if formatter, ok := hostedProduct.instance.(module.ErrorFormatter); ok {
		for path, format := range formatter.ErrorFormats() {
			s.formats.Add(app, hostedProduct.path+path, format)
		}
	}
	if adapter, ok := hostedProduct.instance.(module.RouteErrorAdapter); ok {
		s.formats.Adapt(app, hostedProduct.path, adapter.AdaptRouteError)
	}
	if pages, ok := hostedProduct.instance.(module.PageProvider); ok {
		for path, handler := range pages.Pages() {
			mountPage(s.app, path, s.options.Config.TrustedProxies, mounted.EnterPage, handler)
		}
	}
	return nil
}

// references returns links to the references of the hub and its products: paths, or whole
// addresses for a page at another origin, that of a product with a listener of its own.
func (s *Server) references(isOtherOrigin bool) []reference.Link {
	origin := ""
	if isOtherOrigin {
		origin = s.publicURL()
	}
	links := []reference.Link{{Title: api.Title, URL: origin + "/docs"}}
	for _, linked := range s.products.list {
		url := origin + linked.path + "/docs"
		if linked.listener != nil {
			url = linked.base + "/docs"
		}
		links = append(links, reference.Link{Title: linked.spec.Title, URL: url})
	}
	return links
}

// stopServing closes the products' listeners; requests in flight are finished.
func (p *products) stopServing(ctx context.Context, log *slog.Logger) {
	var ending sync.WaitGroup
	for _, hostedProduct := range p.list {
		if hostedProduct.app == nil {
			continue
		}
		ending.Go(func() {
			if err := hostedProduct.app.ShutdownWithContext(ctx); err != nil {
				log.Warn("some requests did not end in time", "product", hostedProduct.spec.Name, "error", err)
			}
		})
	}
	ending.Wait()
}

// stop ends the background work of the products, after stopServing.
func (p *products) stop() {
	if p.cancel != nil {
		p.cancel()
	}
	p.background.Wait()
	for _, hostedProduct := range p.list {
		if hostedProduct.inbox != nil {
			hostedProduct.inbox.Close()
		}
		if hostedProduct.pool != nil {
			hostedProduct.pool.Close()
		}
	}
	if p.files != nil {
		_ = p.files.Close() // nothing is being written any more
	}
	p.closeListeners()
}

// ProductOpenAPI returns the OpenAPI 3.1 document of everything below a product's base,
// without a running hub.
func ProductOpenAPI(ctx context.Context, m module.Module) ([]byte, error) {
	return productapi.Document(ctx, m)
}

// screenerOf returns the screening of a module's events, nil if it has none.
func screenerOf(instance module.Instance) inbox.Screener {
	if screener, ok := instance.(module.EventScreener); ok {
		return screener.ScreenEvent
	}
	return nil
}
