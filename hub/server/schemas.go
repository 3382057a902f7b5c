package server

import (
	"context"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
)

// Schema is the version of a database schema, compared with this binary.
type Schema struct {
	Name string // "hub", or a hosted product's
	migrations.Status
}

// hubSchema is the name of the hub's own schema.
const hubSchema = "hub"

// namesOf returns the names of products.
func namesOf(modules []module.Module) []string {
	names := make([]string, len(modules))
	for i, m := range modules {
		names[i] = m.Spec().Name
	}
	return names
}

// sendersOf returns the types of events that modules publish.
func sendersOf(modules []module.Module) []eventtype.Sender {
	senders := make([]eventtype.Sender, len(modules))
	for i, m := range modules {
		spec := m.Spec()
		senders[i] = eventtype.Sender{Product: spec.Name, Sends: spec.Sends}
	}
	return senders
}

// enabledModules returns the products that the settings enable.
func enabledModules(cfg config.Config, modules []module.Module) []module.Module {
	var list []module.Module
	for _, m := range modules {
		if cfg.IsProductEnabled(m.Spec().Name) {
			list = append(list, m)
		}
	}
	return list
}

// Migrate migrates the schemas of the hub and of the enabled products to the versions of
// this binary. It returns the applied files, those of products prefixed with the schema
// and a slash. The list is valid beside an error too.
func Migrate(ctx context.Context, cfg config.Config, modules []module.Module) ([]string, error) {
	url := cfg.DatabaseURL.Reveal()
	applied, err := migrations.Up(ctx, url)
	if err != nil {
		return applied, err
	}
	for _, m := range enabledModules(cfg, modules) {
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

// Schemas returns the versions of the schemas that [Migrate] migrates, the hub's first.
// It changes nothing.
func Schemas(ctx context.Context, cfg config.Config, databaseURL string, modules []module.Module) ([]Schema, error) {
	status, err := migrations.Check(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	list := []Schema{{hubSchema, status}}
	for _, m := range enabledModules(cfg, modules) {
		name := m.Spec().Name
		status, err := migrations.CheckProduct(ctx, databaseURL, name, m.Migrations())
		if err != nil {
			return nil, err
		}
		list = append(list, Schema{name, status})
	}
	return list, nil
}
