package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// Delivery is one event on its way to one endpoint or integration.
type Delivery struct {
	ID            string          `json:"id"`
	EventID       string          `json:"event_id"`
	TenantID      string          `json:"tenant_id"`
	TenantName    string          `json:"tenant_name"`
	Environment   string          `json:"environment"`
	Product       string          `json:"product"`
	IntegrationID string          `json:"integration_id"`
	EndpointID    string          `json:"endpoint_id"`
	Direction     string          `json:"direction"` // "inbound" or "outbound"
	EventType     string          `json:"event_type"`
	CorrelationID string          `json:"correlation_id"`
	Status        string          `json:"status"`   // pending, delivered, parked, failed
	Priority      string          `json:"priority"` // high, normal, bulk
	OrderingKey   string          `json:"ordering_key"`
	OutOfOrder    bool            `json:"out_of_order"`
	Reason        string          `json:"reason"`      // why it is parked or failed
	StatusCode    int             `json:"status_code"` // of the last attempt; 0 = no response
	Receiver      string          `json:"receiver"`    // where it goes, or the peer it came from
	Retries       int             `json:"retries"`     // attempts after the first
	AttemptCount  int             `json:"attempt_count"`
	DurationMS    *float64        `json:"duration_ms"` // of the last attempt, milliseconds; nil = none
	Payload       json.RawMessage `json:"payload"`     // the envelope
	ResponseBody  string          `json:"response_body"`
	CreatedAt     time.Time       `json:"created_at"`
	NextAttemptAt *time.Time      `json:"next_attempt_at"`
	Attempts      []Attempt       `json:"attempts"` // only in the detail
	Waiting       *Waiting        `json:"waiting"`  // only in the detail; nil = it does not wait
}

// Waiting says why a delivery is pending or parked, and what releases it.
type Waiting struct {
	Cause       string     `json:"cause"`
	Since       *time.Time `json:"since"`      // nil = unknown
	Until       *time.Time `json:"until"`      // when the hub acts next; nil = no time is set
	LastError   string     `json:"last_error"` // of the integration
	ExpiresAt   *time.Time `json:"expires_at"` // when a parked delivery fails; nil = it is pending
	Release     []string   `json:"release"`
	Explanation string     `json:"explanation"`
}

// Attempt is one HTTP request of a delivery.
type Attempt struct {
	Number          int               `json:"number"` // 1 is the first
	StartedAt       time.Time         `json:"started_at"`
	StatusCode      int               `json:"status_code"` // 0 = no response
	Error           string            `json:"error"`
	Phases          Phases            `json:"phases"`
	RequestHeaders  map[string]string `json:"request_headers"` // secrets masked
	ResponseHeaders map[string]string `json:"response_headers"`
	ResponseBody    string            `json:"response_body"`
}

// Phases is where an attempt spent its time, in milliseconds.
type Phases struct {
	QueueMS     float64 `json:"queue_ms"` // due → started
	DNSMS       float64 `json:"dns_ms"`
	ConnectMS   float64 `json:"connect_ms"`
	TLSMS       float64 `json:"tls_ms"`
	FirstByteMS float64 `json:"first_byte_ms"` // request written → first byte of the response
	TotalMS     float64 `json:"total_ms"`      // started → ended
}

// DeliveryQuery filters the log; empty fields do not filter. It is also the filter
// of a replay.
type DeliveryQuery struct {
	Direction     string     `json:"direction,omitempty"`
	Product       string     `json:"product,omitempty"`
	TenantID      string     `json:"tenant_id,omitempty"`
	Environment   string     `json:"environment,omitempty"`
	IntegrationID string     `json:"integration_id,omitempty"`
	EndpointID    string     `json:"endpoint_id,omitempty"`
	EventType     string     `json:"event_type,omitempty"`
	Status        string     `json:"status,omitempty"`
	StatusCode    int        `json:"status_code,omitempty"`
	CorrelationID string     `json:"correlation_id,omitempty"`
	EventID       string     `json:"event_id,omitempty"`
	Search        string     `json:"q,omitempty"`
	Since         *time.Time `json:"since,omitempty"`
	Until         *time.Time `json:"until,omitempty"`
}

// Empty reports whether the query matches everything.
func (f DeliveryQuery) Empty() bool { return f == DeliveryQuery{} }

func (f DeliveryQuery) values() url.Values {
	q := url.Values{}
	setIf(q, "direction", f.Direction)
	setIf(q, "product", f.Product)
	setIf(q, "tenant_id", f.TenantID)
	setIf(q, "environment", f.Environment)
	setIf(q, "integration_id", f.IntegrationID)
	setIf(q, "endpoint_id", f.EndpointID)
	setIf(q, "event_type", f.EventType)
	setIf(q, "status", f.Status)
	if f.StatusCode != 0 {
		q.Set("status_code", strconv.Itoa(f.StatusCode))
	}
	setIf(q, "correlation_id", f.CorrelationID)
	setIf(q, "event_id", f.EventID)
	setIf(q, "q", f.Search)
	if f.Since != nil {
		setTime(q, "since", *f.Since)
	}
	if f.Until != nil {
		setTime(q, "until", *f.Until)
	}
	return q
}

// Deliveries lists the log, newest first.
func (c *Client) Deliveries(ctx context.Context, filter DeliveryQuery, page PageQuery) (Reply[Page[Delivery]], error) {
	q := filter.values()
	page.addTo(q)
	return send[Page[Delivery]](ctx, c, get("/api/v1/deliveries", q))
}

// Delivery returns one delivery with its attempts.
func (c *Client) Delivery(ctx context.Context, deliveryID string) (Reply[Delivery], error) {
	return send[Delivery](ctx, c, get("/api/v1/deliveries/"+id(deliveryID), nil))
}

// RetryResult is the response to a retry or a discard of a delivery.
type RetryResult struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// Retry sends a delivery once more.
func (c *Client) Retry(ctx context.Context, deliveryID string) (Reply[RetryResult], error) {
	return send[RetryResult](ctx, c, post("/api/v1/deliveries/"+id(deliveryID)+"/retry", struct{}{}))
}

// Discard fails a delivery that waits, so that those behind it pass.
func (c *Client) Discard(ctx context.Context, deliveryID string) (Reply[RetryResult], error) {
	return send[RetryResult](ctx, c, post("/api/v1/deliveries/"+id(deliveryID)+"/discard", struct{}{}))
}

// Replay is a durable job that delivers again what a filter matches, or to an endpoint
// what it missed.
type Replay struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`   // replay, recover
	Status    string    `json:"status"` // running, done, cancelled, failed
	Total     int64     `json:"total"`
	Done      int64     `json:"done"` // delivered, parked or failed
	Delivered int64     `json:"delivered"`
	Parked    int64     `json:"parked"`
	Failed    int64     `json:"failed"`
	Error     string    `json:"error"` // why it failed as a whole
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
}

// ReplayCount is the response to a dry run: how many deliveries the filter matches.
type ReplayCount struct {
	Count int64 `json:"count"`
}

type replayInput struct {
	Filter DeliveryQuery `json:"filter"`
	DryRun bool          `json:"dry_run"`
}

// CountReplay counts exactly what a replay of the filter would deliver again.
func (c *Client) CountReplay(ctx context.Context, filter DeliveryQuery) (Reply[ReplayCount], error) {
	return send[ReplayCount](ctx, c, post("/api/v1/replays", replayInput{Filter: filter, DryRun: true}))
}

// StartReplay starts a replay.
func (c *Client) StartReplay(ctx context.Context, filter DeliveryQuery) (Reply[Replay], error) {
	return send[Replay](ctx, c, post("/api/v1/replays", replayInput{Filter: filter}))
}

// Replay returns a replay with its progress.
func (c *Client) Replay(ctx context.Context, replayID string) (Reply[Replay], error) {
	return send[Replay](ctx, c, get("/api/v1/replays/"+id(replayID), nil))
}

// Replays lists replays, newest first.
func (c *Client) Replays(ctx context.Context, page PageQuery) (Reply[Page[Replay]], error) {
	q := make(url.Values)
	page.addTo(q)
	return send[Page[Replay]](ctx, c, get("/api/v1/replays", q))
}

// Recovery selects the stored events that an endpoint is sent if it has no delivery of them.
type Recovery struct {
	Since      time.Time  `json:"since"`
	Until      *time.Time `json:"until,omitempty"`
	EventTypes []string   `json:"event_types,omitempty"`
	DryRun     bool       `json:"dry_run,omitempty"`
}

// CountRecovery counts exactly what a recovery would send to an endpoint.
func (c *Client) CountRecovery(ctx context.Context, endpointID string, recovery Recovery) (Reply[ReplayCount], error) {
	recovery.DryRun = true
	return send[ReplayCount](ctx, c, post("/api/v1/endpoints/"+id(endpointID)+"/recover", recovery))
}

// StartRecovery starts a job that sends an endpoint what it missed.
func (c *Client) StartRecovery(ctx context.Context, endpointID string, recovery Recovery) (Reply[Replay], error) {
	return send[Replay](ctx, c, post("/api/v1/endpoints/"+id(endpointID)+"/recover", recovery))
}

// CancelReplay stops a replay; what it made pending and has not attempted is parked.
func (c *Client) CancelReplay(ctx context.Context, replayID string) (Reply[Replay], error) {
	return send[Replay](ctx, c, post("/api/v1/replays/"+id(replayID)+"/cancel", struct{}{}))
}
