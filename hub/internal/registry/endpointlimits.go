package registry

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store/dbgen"
)

// MaxOperationalEndpoints is how many endpoints of a tenant and environment may get operational
// events. Each of its failing receivers makes one such event: with as many endpoints for them
// as there are receivers, a failure of all would make the square of their number.
const MaxOperationalEndpoints = 10

// checkEndpointLimit returns a [hub.ErrInvalid] if a tenant has as many endpoints as it may
// have. The lock on the tenant makes concurrent creations wait for each other.
func checkEndpointLimit(ctx context.Context, queries *dbgen.Queries, tenantID uuid.UUID) error {
	locked, err := queries.TenantForUpdate(ctx, tenantID)
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.Errorf(hub.ErrNotFound, "tenant_not_found", "There is no tenant with this id.")
	}
	if err != nil {
		return err
	}
	limit := int64(defaultMaxEndpoints)
	if own := locked.Tenant.LimitEndpoints; own != nil {
		limit = int64(*own)
	}
	count, err := queries.CountEndpoints(ctx, tenantID)
	if err != nil {
		return err
	}
	if count >= limit {
		return hub.Errorf(hub.ErrInvalid, "endpoint_limit", "This tenant has as many endpoints as it may have: %d of %d. Delete one, or ask an administrator for more.", count, limit)
	}
	return nil
}

// checkOperationalLimit returns a [hub.ErrInvalid] if an endpoint with the event types would
// get operational events beside as many as may get them. One that gets them already may keep
// them. The lock on the tenant makes concurrent changes wait for each other.
func checkOperationalLimit(ctx context.Context, queries *dbgen.Queries, endpoint dbgen.CountOperationalEndpointsParams, eventTypes []string) error {
	if !slices.ContainsFunc(eventTypes, func(pattern string) bool { return strings.HasPrefix(pattern, hub.ReservedTypes) }) {
		return nil
	}
	if _, err := queries.TenantForUpdate(ctx, endpoint.TenantID); err != nil {
		return err
	}
	count, err := queries.CountOperationalEndpoints(ctx, endpoint)
	if err != nil {
		return err
	}
	if !count.IsOne && count.Others >= MaxOperationalEndpoints {
		return hub.Errorf(hub.ErrInvalid, "operational_endpoint_limit", "%d endpoints of this tenant and environment get operational events (%s*), and up to %d may. Change or delete one of them first.", count.Others, hub.ReservedTypes, MaxOperationalEndpoints)
	}
	return nil
}
