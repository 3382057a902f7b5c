// Package clinic is the clinic-management product of interface document 3, as a
// product that a hub hosts.
package clinic

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"time"
	_ "time/tzdata" // clinics have time zones, and machines may know none

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/api"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/migrations"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
)

// Module is the product.
type Module struct{}

// New makes the product.
func New() Module { return Module{} }

var _ module.Module = Module{}

// Spec implements [module.Module].
func (Module) Spec() module.Spec {
	return module.Spec{
		Name: "clinic", Title: "Clinic", KeyPrefix: "cli", Tenant: "clinic", Version: "1.0.0", Features: api.Features(),
		Receives: store.Received(),
		Sends:    []string{"patient.created", "patient.updated", "patient.deleted", "record.created", "payment.received", "payment.overdue"},
		Limits:   accounts.Limits(),
	}
}

// Migrations implements [module.Module].
func (Module) Migrations() fs.FS { return migrations.FS() }

// Open implements [module.Module].
func (Module) Open(_ context.Context, kit module.Kit) (module.Instance, error) {
	s := store.New(kit)
	return &instance{api: api.New(kit, s), store: s}, nil
}

// instance is the product at work.
type instance struct {
	api   *api.API
	store *store.Store
}

var (
	_ module.Instance = (*instance)(nil)
	_ module.Searcher = (*instance)(nil)
	_ module.Actor    = (*instance)(nil)
	_ module.Finder   = (*instance)(nil)
	_ module.Worker   = (*instance)(nil)
	_ module.Pages    = (*instance)(nil)
)

// Routes implements [module.Instance].
func (i *instance) Routes(api huma.API) { i.api.Routes(api) }

// Authenticate implements [module.Instance].
func (i *instance) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return i.api.Authenticate(ctx, token)
}

// Searches implements [module.Searcher].
func (i *instance) Searches(api huma.API) { i.api.Searches(api) }

// Actions implements [module.Actor].
func (i *instance) Actions(api huma.API) { i.api.Actions(api) }

// Find implements [module.Finder].
func (i *instance) Find(ctx context.Context, phone string) ([]module.Match, error) {
	return i.api.Find(ctx, phone)
}

// Jobs implements [module.Worker].
func (i *instance) Jobs() []module.Job {
	overdue := func(ctx context.Context, _ []byte) error {
		_, err := i.store.Overdue(ctx, nil)
		return err
	}
	deletions := func(ctx context.Context, _ []byte) error { return i.store.FollowDeletions(ctx) }
	return append(i.api.Accounts().Jobs(),
		i.store.Imports(),
		i.store.Linkings(),
		module.Job{Name: "overdue", Every: time.Hour, Timeout: 10 * time.Minute, Run: overdue},
		module.Job{Name: "deletions", Every: 5 * time.Minute, Timeout: 5 * time.Minute, Run: deletions},
		module.Job{Name: "inbox", Every: time.Hour, Timeout: 10 * time.Minute, Run: func(ctx context.Context, _ []byte) error { return i.store.KeepInbox(ctx) }},
	)
}

// Pages implements [module.Pages].
func (i *instance) Pages() map[string]http.Handler {
	all := i.api.Accounts().Pages()
	maps.Copy(all, api.LinkPages())
	return all
}

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	return i.store.Join(tx).Receive(ctx, e)
}
