package client

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Stats are counts and latencies over time.
type Stats struct {
	From   time.Time     `json:"from"`
	To     time.Time     `json:"to"`
	Bucket string        `json:"bucket"`
	Items  []StatsBucket `json:"items"`
}

// StatsBucket is one step of [Stats].
type StatsBucket struct {
	At        time.Time `json:"at"` // begin of the bucket
	Accepted  int64     `json:"accepted"`
	Delivered int64     `json:"delivered"`
	Failed    int64     `json:"failed"`
	Parked    int64     `json:"parked"`
	P50MS     *float64  `json:"p50_ms"` // nil where nothing was delivered
	P95MS     *float64  `json:"p95_ms"`
	P99MS     *float64  `json:"p99_ms"`
}

// StatsQuery selects what is counted; empty fields do not filter.
type StatsQuery struct {
	From, To time.Time
	Bucket   string // "1m", "30m", "3h", "12h"; "" = the hub chooses
	Product  string
	TenantID string
	// At most one of these.
	EndpointID, IntegrationID string
}

// Stats returns counts and latencies over time.
func (c *Client) Stats(ctx context.Context, in StatsQuery) (Reply[Stats], error) {
	q := url.Values{}
	setTime(q, "from", in.From)
	setTime(q, "to", in.To)
	setIf(q, "bucket", in.Bucket)
	setIf(q, "product", in.Product)
	setIf(q, "tenant_id", in.TenantID)
	setIf(q, "endpoint_id", in.EndpointID)
	setIf(q, "integration_id", in.IntegrationID)
	return send[Stats](ctx, c, get("/api/v1/stats", q))
}

// AuditItem is one entry of the audit log.
type AuditItem struct {
	ID         string     `json:"id"`
	At         time.Time  `json:"at"`
	Actor      AuditActor `json:"actor"`
	Action     string     `json:"action"`
	Resource   string     `json:"resource"`
	ResourceID string     `json:"resource_id"`
	TenantID   string     `json:"tenant_id"`
	IP         string     `json:"ip"`
	RequestID  string     `json:"request_id"`
	Status     int        `json:"status"` // HTTP status of the response
	Count      int        `json:"count"`  // how often it happened within the minute
}

// AuditActor is the actor of an audit entry.
type AuditActor struct {
	Type  string `json:"type"` // operator, key, tenant_user, system, anonymous
	ID    string `json:"id"`
	Label string `json:"label"`
}

// AuditQuery filters the audit log; empty fields do not filter.
type AuditQuery struct {
	TenantID, ActorID, Action, Resource string
	Routine                             bool // also what peers do all the time
	Since, Until                        time.Time
}

// Audit lists the audit log, newest first.
func (c *Client) Audit(ctx context.Context, filter AuditQuery, page PageQuery) (Reply[Page[AuditItem]], error) {
	q := url.Values{}
	setIf(q, "tenant_id", filter.TenantID)
	setIf(q, "actor_id", filter.ActorID)
	setIf(q, "action", filter.Action)
	setIf(q, "resource", filter.Resource)
	q.Set("routine", strconv.FormatBool(filter.Routine))
	setTime(q, "since", filter.Since)
	setTime(q, "until", filter.Until)
	page.addTo(q)
	return send[Page[AuditItem]](ctx, c, get("/api/v1/audit", q))
}
