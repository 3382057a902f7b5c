package query

import "github.com/google/uuid"

// Owner limits what is read or changed to a tenant and environment. The zero value is
// everyone's.
type Owner struct {
	TenantID    *uuid.UUID
	Environment string // "" = both
}

// Covers reports whether what belongs to a tenant and environment may be read or changed; nil is
// no tenant's.
func (o Owner) Covers(tenantID *uuid.UUID, environment string) bool {
	return (o.TenantID == nil || tenantID != nil && *o.TenantID == *tenantID) && (o.Environment == "" || o.Environment == environment)
}
