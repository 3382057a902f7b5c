package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub/module/tenantdata"
)

// tenants is where the clinics' rows are.
var tenants = tenantdata.Schema{Name: "clinic", Root: "clinics", Key: "clinic_id"}

// EraseClinic deletes all rows of a clinic, its patients' records included. After an error it is
// called again, and continues.
func (s *Store) EraseClinic(ctx context.Context, clinic uuid.UUID) error {
	return tenants.Erase(ctx, s.host.Pool, clinic)
}
