package directory

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"integrationhub/hub/internal/keys"
)

// CheckActive is a [hub.ErrForbidden] if a tenant is suspended, as of the last refresh. It asks
// no database.
func (d *Directory) CheckActive(tenant uuid.UUID) error {
	if d.suspended()[tenant] {
		return keys.SuspendedError()
	}
	return nil
}

// Suspended returns the suspended tenants of all products, as of the last refresh.
// It is never nil.
func (d *Directory) Suspended() []uuid.UUID {
	return slices.AppendSeq([]uuid.UUID{}, maps.Keys(d.suspended()))
}

func (d *Directory) suspended() map[uuid.UUID]bool {
	d.cache.mu.RLock()
	defer d.cache.mu.RUnlock()
	return d.cache.suspended
}
