// Package clinic is the clinic-management product of interface document 3, as a
// product that a hub hosts.
package clinic

import (
	"context"
	"io/fs"
	_ "time/tzdata" // clinics have time zones, and machines may know none

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/api"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/migrations"
	"integrationhub/hub"
	"integrationhub/hub/module"
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
		Receives: []string{
			"message.received", "message.sent", "ticket.created", "ticket.closed", "contact.created",
			"appointment.created", "appointment.cancelled", "appointment.reminded", "appointment.noshow",
		},
		Sends: []string{"patient.created", "patient.updated", "patient.deleted", "record.created", "payment.received", "payment.overdue"},
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

var _ module.Instance = (*instance)(nil)

// Routes implements [module.Instance].
func (i *instance) Routes(api huma.API) { i.api.Routes(api) }

// Authenticate implements [module.Instance].
func (i *instance) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return i.api.Authenticate(ctx, token)
}

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	return module.ErrIgnored
}
