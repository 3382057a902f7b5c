package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// clashError describes a clash and what to do about it. enabled are the products of this
// hub.
func clashError(clash registry.Clash, enabled []module.Module) error {
	name := clash.Name
	rename := "hub products rename " + name + " NEW-NAME"
	for _, m := range enabled {
		if m.Spec().KeyPrefix == clash.Prefix {
			rename += " --prefix NEW-PREFIX"
		}
	}
	switch {
	case clash.Module == name && name == hubSchema:
		return fmt.Errorf("%w: an external product in the database is called %s, which is reserved now. Rename it, its tenants, keys and endpoints stay: %s", ErrSetting, name, rename)
	case clash.Module == name:
		return fmt.Errorf("%w: an external product in the database is called %s, and this hub hosts a product of that name. Rename the external one, its tenants, keys and endpoints stay: %s; or do not run the hosted one: %s",
			ErrSetting, name, rename, productsWithout(clash.Module, enabled))
	}
	rename = "hub products rename " + name + " --prefix NEW-PREFIX"
	return fmt.Errorf("%w: the external product %s has the key prefix %s of %s, which this hub hosts. Change it, keys that exist stay valid: %s; or do not run the hosted one: %s",
		ErrSetting, name, clash.Prefix, clash.Module, rename, productsWithout(clash.Module, enabled))
}

// productsWithout returns the setting that enables all enabled products but one.
func productsWithout(name string, enabled []module.Module) string {
	names := slices.DeleteFunc(namesOf(enabled), func(other string) bool { return other == name })
	if len(names) == 0 {
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
		if running, ok := embedded.RunningPostgresURL(postgresDir(cfg)); ok {
			s.databaseURL = running
			return nil
		}
	}
	return s.openPostgres(ctx, cfg, search, log)
}
