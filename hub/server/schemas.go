package server

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
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
	if err := refuseMigration(ctx, url, enabledModules(cfg, modules)); err != nil {
		return nil, err
	}
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

// refuseUpgrade returns why this binary cannot run on a database with these products: a schema
// is newer, or an external product has the hub's name, or the name or key prefix of one of the
// products. It would turn into the hosted one; that is an [ErrSetting] with advice. It changes
// nothing.
func refuseUpgrade(ctx context.Context, db *pgxpool.Pool, enabled []module.Module) error {
	schemas := make(map[string]fs.FS, len(enabled))
	for _, m := range enabled {
		schemas[m.Spec().Name] = m.Migrations()
	}
	if err := migrations.RefuseNewer(ctx, db, schemas); err != nil {
		return err //nolint:wrapcheck // it says what is newer
	}
	var exists bool
	if err := db.QueryRow(ctx, `select to_regclass('hub.products') is not null`).Scan(&exists); err != nil || !exists {
		return store.Wrap("looking for the products", err)
	}
	clashes, err := registry.New(db, registeredAs(enabled)...).FindClashes(ctx)
	if err != nil {
		return err
	}
	if len(clashes) > 0 {
		return clashError(clashes[0], enabled)
	}
	return nil
}

// refuseMigration is [refuseUpgrade] on a connection of its own.
func refuseMigration(ctx context.Context, url string, enabled []module.Module) error {
	db, err := openPool(ctx, url, 1, apiSettings)
	if err != nil {
		return err
	}
	defer db.Close()
	return refuseUpgrade(ctx, db, enabled)
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
