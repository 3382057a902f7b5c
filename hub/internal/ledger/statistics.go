package ledger

import "time"

// Widths of the buckets that statistics are kept in.
const (
	FineBucket   = time.Minute
	CoarseBucket = 30 * time.Minute
)

// Scope says what a row of the statistics counts; the numbers are the database's.
type Scope int16

// The scopes of statistics: all deliveries, those of a tenant, those to an endpoint
// or integration.
const (
	ScopeAll Scope = iota
	ScopeTenant
	ScopeTarget
)
