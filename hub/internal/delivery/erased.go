package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
)

// SetErasingTenants sets the tenants whose payloads are being erased now. Their events in
// this process's memory may be outdated, so each attempt reads the row first.
func (d *Dispatcher) SetErasingTenants(tenants []uuid.UUID) {
	if len(tenants) == 0 {
		d.erasing.Store(nil)
		return
	}
	set := make(map[uuid.UUID]bool, len(tenants))
	for _, tenant := range tenants {
		set[tenant] = true
	}
	d.erasing.Store(&set)
}

// isErased reports whether an event's payload was erased.
func (d *Dispatcher) isErased(ctx context.Context, event *Event) (bool, error) {
	if string(event.Body) == hub.ErasedPayload {
		return true, nil
	}
	tenants := d.erasing.Load()
	if tenants == nil || !(*tenants)[event.TenantID] {
		return false, nil
	}
	var erased bool
	err := d.Pool.QueryRow(ctx, `select body = $2 from hub.events where seq = $1`, event.Seq, []byte(hub.ErasedPayload)).Scan(&erased)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("looking whether an event was erased: %w", err)
	}
	return erased, nil
}
