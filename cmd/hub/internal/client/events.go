package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Event is an event in the log.
type Event struct {
	ID            string          `json:"id"`
	Product       string          `json:"product"`
	EventType     string          `json:"event_type"`
	TenantID      string          `json:"tenant_id"`
	Environment   string          `json:"environment"`
	CorrelationID string          `json:"correlation_id"`
	Deliveries    int             `json:"deliveries"`
	Payload       json.RawMessage `json:"payload"` // the envelope
	CreatedAt     time.Time       `json:"created_at"`
}

// EventInput is an event to publish.
type EventInput struct {
	EventType     string          `json:"event_type"`
	Data          json.RawMessage `json:"data"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	OrderingKey   string          `json:"ordering_key,omitempty"`
	ID            string          `json:"id,omitempty"` // makes publishing idempotent
}

// PublishResult is the response to publishing one event.
type PublishResult struct {
	ID         string `json:"id"`
	Deliveries int    `json:"deliveries"`
}

// BatchResult is the response to publishing a batch, in the order of the batch.
type BatchResult struct {
	Items []PublishResult `json:"items"`
}

// EventQuery filters the list of events; empty fields do not filter.
type EventQuery struct {
	TenantID, Environment string
	Since, Until          time.Time
}

// Publish publishes one event. idempotencyKey may be "".
func (c *Client) Publish(ctx context.Context, in EventInput, idempotencyKey string) (Reply[PublishResult], error) {
	request := post("/api/v1/events", in)
	if idempotencyKey != "" {
		request.header = http.Header{"Idempotency-Key": {idempotencyKey}}
	}
	return send[PublishResult](ctx, c, request)
}

// PublishBatch publishes up to 500 events, all or nothing. The events are JSON
// objects with the fields of [EventInput]. The same batch with the same key is stored once.
func (c *Client) PublishBatch(ctx context.Context, events []json.RawMessage, idempotencyKey string) (Reply[BatchResult], error) {
	request := post("/api/v1/events/batch", map[string]any{"events": events})
	request.header = http.Header{"Idempotency-Key": {idempotencyKey}}
	return send[BatchResult](ctx, c, request)
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, filter EventQuery, page PageQuery) (Reply[Page[Event]], error) {
	q := url.Values{}
	setIf(q, "tenant_id", filter.TenantID)
	setIf(q, "environment", filter.Environment)
	setTime(q, "since", filter.Since)
	setTime(q, "until", filter.Until)
	page.addTo(q)
	return send[Page[Event]](ctx, c, get("/api/v1/events", q))
}

// Event returns one event.
func (c *Client) Event(ctx context.Context, eventID string) (Reply[Event], error) {
	return send[Event](ctx, c, get("/api/v1/events/"+id(eventID), nil))
}

func setTime(v url.Values, name string, at time.Time) {
	if !at.IsZero() {
		v.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}
