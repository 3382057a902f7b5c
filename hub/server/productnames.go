package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"integrationhub/hub/config"
	"integrationhub/hub/embedded"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
)

// registeredAs returns products as the registry has them.
func registeredAs(modules []module.Module) []registry.Product {
	var list []registry.Product
	for _, m := range modules {
		spec := m.Spec()
		list = append(list, registry.Product{Name: spec.Name, Prefix: spec.KeyPrefix, Title: spec.Title, Hosted: true})
	}
	return list
}

// checkProductNames returns [ErrSetting] with advice if an external product of the
// database has the hub's name, or the name or key prefix of a product that runs here. It
// would turn into the hosted one.
func (s *Server) checkProductNames(ctx context.Context) error {
	var running []module.Module
	for _, hostedProduct := range s.products.list {
		running = append(running, hostedProduct.module)
	}
	clashes, err := registry.New(s.storage.api, registeredAs(running)...).FindClashes(ctx)
	if err != nil {
		return err
	}
	if len(clashes) > 0 {
		return clashError(clashes[0], s.products.list)
	}
	return nil
}

// clashError describes a clash and what to do about it. running are the products of this
// hub.
func clashError(clash registry.Clash, running []*hosted) error {
	name := clash.Product.Name
	rename := "hub products rename " + name + " NEW-NAME"
	for _, hostedProduct := range running {
		if hostedProduct.spec.KeyPrefix == clash.Product.Prefix {
			rename += " --prefix NEW-PREFIX"
		}
	}
	switch {
	case clash.Module == name && name == hubSchema:
		return fmt.Errorf("%w: an external product in the database is called %s, which is reserved now. Rename it, its tenants, keys and endpoints stay: %s", ErrSetting, name, rename)
	case clash.Module == name:
		return fmt.Errorf("%w: an external product in the database is called %s, and this hub hosts a product of that name. Rename the external one, its tenants, keys and endpoints stay: %s; or do not run the hosted one: %s",
			ErrSetting, name, rename, productsWithout(clash.Module, running))
	}
	rename = "hub products rename " + name + " --prefix NEW-PREFIX"
	return fmt.Errorf("%w: the external product %s has the key prefix %s of %s, which this hub hosts. Change it, keys that exist stay valid: %s; or do not run the hosted one: %s",
		ErrSetting, name, clash.Product.Prefix, clash.Module, rename, productsWithout(clash.Module, running))
}

// productsWithout returns the setting that runs all running products but one.
func productsWithout(name string, running []*hosted) string {
	var names []string
	for _, hostedProduct := range running {
		if hostedProduct.spec.Name != name {
			names = append(names, hostedProduct.spec.Name)
		}
	}
	if names == nil {
		names = []string{"none"}
	}
	return "HUB_PRODUCTS=" + strings.Join(names, ",")
}

// renameTimeout bounds a rename, which waits for the locks of running hubs.
const renameTimeout = time.Minute

// RenameProduct changes the name of an external product, its key prefix or both; ""
// keeps one. It needs no running hub: a start may have been refused for the name. The
// private PostgreSQL is started if it does not run.
func RenameProduct(ctx context.Context, o Options, name, newName, newPrefix string) (registered registry.Product, err error) {
	ctx, cancel := context.WithTimeout(ctx, renameTimeout)
	defer cancel()
	s := &storage{}
	defer func() { s.close(context.WithoutCancel(ctx), slog.New(slog.DiscardHandler)) }()
	if err := s.findPostgres(ctx, o.Config, o.Search, o.Log); err != nil {
		return registry.Product{}, err
	}
	if s.api, err = openPool(ctx, s.databaseURL, 2, apiSettings); err != nil {
		return registry.Product{}, err
	}
	if err := audit.EnsurePartitions(ctx, s.api, time.Now()); err != nil {
		return registry.Product{}, err
	}
	registered, err = registry.New(s.api, registeredAs(o.Modules)...).RenameProduct(ctx, name, newName, newPrefix)
	if err != nil {
		return registry.Product{}, err
	}
	return registered, audit.NewRecorder(s.api).Record(ctx, audit.Entry{
		ActorType: audit.ActorSystem, ActorLabel: "hub products rename", Action: "products.rename", Resource: "products",
		ResourceID: registered.Name, Status: 200,
	})
}

// findPostgres finds the database of a hub that may run; the private one is started if it
// does not.
func (s *storage) findPostgres(ctx context.Context, cfg config.Config, search []string, log *slog.Logger) error {
	if cfg.DatabaseURL == "" {
		if running, ok := embedded.RunningPostgresURL(filepath.Join(cfg.DataDir, "postgres")); ok {
			s.databaseURL = running
			return nil
		}
	}
	return s.openPostgres(ctx, cfg, search, log)
}
