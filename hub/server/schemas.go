package server

import (
	"context"

	"integrationhub/hub/config"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
)

// Schema is where a schema of the database stands against this binary.
type Schema struct {
	Name string // "hub", or a hosted product's
	migrations.Status
}

// hubSchema is the hub's own.
const hubSchema = "hub"

// running are the products that the settings have run here.
func running(cfg config.Config, modules []module.Module) []module.Module {
	var list []module.Module
	for _, m := range modules {
		if cfg.IsProductEnabled(m.Spec().Name) {
			list = append(list, m)
		}
	}
	return list
}

// Migrate brings the hub's schema, and those of the products that run here, to the
// versions of this binary. It gives the files applied, those of products with their
// schema before a slash; also beside an error.
func Migrate(ctx context.Context, cfg config.Config, modules []module.Module) ([]string, error) {
	url := cfg.DatabaseURL.Reveal()
	applied, err := migrations.Up(ctx, url)
	if err != nil {
		return applied, err
	}
	for _, m := range running(cfg, modules) {
		name := m.Spec().Name
		files, err := migrations.UpProduct(ctx, url, name, m.Migrations())
		for _, file := range files {
			applied = append(applied, name+"/"+file)
		}
		if err != nil {
			return applied, err
		}
	}
	return applied, nil
}

// Schemas tells where the schemas stand that [Migrate] brings up to date, the hub's
// first. It changes nothing.
func Schemas(ctx context.Context, cfg config.Config, databaseURL string, modules []module.Module) ([]Schema, error) {
	status, err := migrations.Check(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	list := []Schema{{hubSchema, status}}
	for _, m := range running(cfg, modules) {
		name := m.Spec().Name
		status, err := migrations.CheckProduct(ctx, databaseURL, name, m.Migrations())
		if err != nil {
			return nil, err
		}
		list = append(list, Schema{name, status})
	}
	return list, nil
}
