package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// EventType describes the data of one type of a product's events.
type EventType struct {
	ID          string          `json:"id"`
	Product     string          `json:"product"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`  // JSON Schema 2020-12, or null
	Example     json.RawMessage `json:"example"` // or null
	Deprecated  bool            `json:"deprecated"`
	ReadOnly    bool            `json:"read_only"`  // comes from code
	CreatedAt   *time.Time      `json:"created_at"` // nil: comes from code
	UpdatedAt   *time.Time      `json:"updated_at"`
}

// EventTypeUpdate replaces what can change of an event type. An empty schema or example is
// null.
type EventTypeUpdate struct {
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Example     json.RawMessage `json:"example,omitempty"`
	Deprecated  bool            `json:"deprecated,omitempty"`
}

// EventTypeInput makes an event type of an external product.
type EventTypeInput struct {
	Product string `json:"product"`
	Name    string `json:"name"`
	EventTypeUpdate
}

const eventTypesPath = "/api/v1/event-types"

// EventTypes lists event types; an empty product is all.
func (c *Client) EventTypes(ctx context.Context, product string, page PageQuery) (Reply[Page[EventType]], error) {
	q := url.Values{}
	setIf(q, "product", product)
	page.addTo(q)
	return send[Page[EventType]](ctx, c, get(eventTypesPath, q))
}

// EventType returns one event type.
func (c *Client) EventType(ctx context.Context, typeID string) (Reply[EventType], error) {
	return send[EventType](ctx, c, get(eventTypesPath+"/"+id(typeID), nil))
}

// CreateEventType makes an event type.
func (c *Client) CreateEventType(ctx context.Context, in EventTypeInput) (Reply[EventType], error) {
	return send[EventType](ctx, c, post(eventTypesPath, in))
}

// UpdateEventType replaces an event type's description, schema and example.
func (c *Client) UpdateEventType(ctx context.Context, typeID string, in EventTypeUpdate) (Reply[EventType], error) {
	return send[EventType](ctx, c, call{method: http.MethodPut, path: eventTypesPath + "/" + id(typeID), body: in})
}

// DeleteEventType deletes an event type.
func (c *Client) DeleteEventType(ctx context.Context, typeID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: eventTypesPath + "/" + id(typeID)}))
}

// EventTypeDocument returns the webhooks of a product as an OpenAPI document.
func (c *Client) EventTypeDocument(ctx context.Context, product string) (Reply[json.RawMessage], error) {
	return send[json.RawMessage](ctx, c, get(eventTypesPath+"/openapi", url.Values{"product": {product}}))
}
