package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module/rest"
)

// EventType describes the data of one type of a product's events.
type EventType struct {
	ID          uuid.UUID `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Product     string    `json:"product" example:"shop" doc:"Whose events have it"`
	Name        string    `json:"name" example:"order.created" doc:"The event_type of events; unique in the product"`
	Description string    `json:"description" doc:"What happened, for receivers; may be empty" example:"An order was placed."`
	EventTypeContent
	HasSchema  bool       `json:"has_schema" doc:"Whether there is a schema, also where the list is brief"`
	HasExample bool       `json:"has_example" doc:"Whether there is an example, also where the list is brief"`
	Deprecated bool       `json:"deprecated" doc:"Receivers should not begin to use it"`
	ReadOnly   bool       `json:"read_only" doc:"Comes from code: a hosted product's, or the hub's own"`
	CreatedAt  *time.Time `json:"created_at" doc:"When it was made; null where it comes from code"`
	UpdatedAt  *time.Time `json:"updated_at" doc:"When it was last changed; null where it comes from code"`
}

// EventTypeContent is the JSON of a type.
type EventTypeContent struct {
	Schema  json.RawMessage `json:"schema,omitempty" doc:"JSON Schema 2020-12 of the data, an object of at most 64 KiB; null: none. References lead to places in the schema itself; regular expressions are RE2"`
	Example json.RawMessage `json:"example,omitempty" doc:"Example of the data, an object of at most 64 KiB that agrees with the schema; null: none. A ping can send it"`
}

// EventTypeSettings is the part of a type that operators set.
type EventTypeSettings struct {
	Description string `json:"description,omitempty" maxLength:"1000" doc:"What happened, for receivers" example:"An order was placed."`
	EventTypeContent
	Deprecated bool `json:"deprecated,omitempty" doc:"Receivers should not begin to use it; false when absent"`
}

type createEventTypeInput struct {
	Body struct {
		Product string `json:"product" minLength:"1" maxLength:"40" example:"shop" doc:"Name of an external product"`
		Name    string `json:"name" minLength:"1" maxLength:"128" example:"order.created" doc:"Words of letters, digits, _ and - joined by dots; hub. is the hub's own"`
		EventTypeSettings
	} `nameHint:"EventTypeCreate"`
}

type updateEventTypeInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the event type"`
	Body struct {
		Product string `json:"product,omitempty" maxLength:"40" example:"shop" doc:"The present one, or absent: it stays"`
		Name    string `json:"name,omitempty" maxLength:"128" example:"order.created" doc:"The present one, or absent: it stays"`
		EventTypeSettings
	} `nameHint:"EventTypeUpdate"`
}

type listEventTypesInput struct {
	httpx.PageQuery
	Product string `query:"product" maxLength:"40" doc:"Only types of this product"`
	Example bool   `query:"example" doc:"Only types that have an example"`
	Brief   bool   `query:"brief" doc:"Leave out what is long: schema and example are null, has_schema and has_example say whether there are"`
}

type webhooksInput struct {
	Product string `query:"product" required:"true" minLength:"1" maxLength:"40" example:"shop" doc:"Name of the product"`
}

type eventTypeOutput struct{ Body EventType }

// eventTypeRoutes are the rows of the resource. The document comes first: its path fits that
// of one type too.
func (a *API) eventTypeRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/api/v1/event-types", operators, 200, "event-types.list", "List event types", rest.Handle(a.listEventTypes)),
		rest.Get("/api/v1/event-types/openapi", operators, 200, "event-types.openapi", "The webhooks of a product, as an OpenAPI 3.1 document", rest.Handle(a.eventTypeDocument)),
		rest.Post("/api/v1/event-types", admins, 201, "event-types.create", "Describe a type of an external product's events", rest.Handle(a.createEventType)),
		rest.Get("/api/v1/event-types/{id}", operators, 200, "event-types.get", "Show an event type", rest.Handle(a.getEventType)),
		rest.Put("/api/v1/event-types/{id}", admins, 200, "event-types.update", "Replace an event type's description, schema and example", rest.Handle(a.updateEventType)),
		rest.Delete("/api/v1/event-types/{id}", admins, 204, "event-types.delete", "Delete an event type", rest.Handle(a.deleteEventType)),
	}
}

func (a *API) listEventTypes(ctx context.Context, in *listEventTypesInput) (*struct{ Body httpx.Page[EventType] }, error) {
	after, err := httpx.DecodeCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	product, name, hasBoth := strings.Cut(string(after), "\n")
	if after != nil && !hasBoth {
		return nil, httpx.InvalidCursor()
	}
	types, err := a.deps.EventTypes.List(ctx, registry.EventTypeFilter{Product: in.Product, WithExample: in.Example, Brief: in.Brief}, product, name, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(types, in.PageQuery, listedTypeOf, func(last registry.ListedEventType) []byte { return []byte(last.Product + "\n" + last.Name) })
	return &struct{ Body httpx.Page[EventType] }{page}, nil
}

func (a *API) createEventType(ctx context.Context, in *createEventTypeInput) (*eventTypeOutput, error) {
	created, err := a.deps.EventTypes.Create(ctx, in.Body.Product, in.Body.Name, in.Body.state())
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, created.ID, uuid.Nil)
	return &eventTypeOutput{eventTypeOf(created)}, nil
}

func (a *API) getEventType(ctx context.Context, in *idPath) (*eventTypeOutput, error) {
	found, err := a.deps.EventTypes.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &eventTypeOutput{eventTypeOf(found)}, nil
}

func (a *API) updateEventType(ctx context.Context, in *updateEventTypeInput) (*eventTypeOutput, error) {
	setAuditResource(ctx, in.ID, uuid.Nil)
	present, err := a.deps.EventTypes.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(mustStay("body.product", in.Body.Product, present.Product), mustStay("body.name", in.Body.Name, present.Name)); err != nil {
		return nil, err
	}
	updated, changed, err := a.deps.EventTypes.Update(ctx, in.ID, in.Body.state())
	if err != nil {
		return nil, err
	}
	requestInfoOf(ctx).unchanged = !changed
	return &eventTypeOutput{eventTypeOf(updated)}, nil
}

func (a *API) deleteEventType(ctx context.Context, in *idPath) (*none, error) {
	setAuditResource(ctx, in.ID, uuid.Nil)
	_, err := a.deps.EventTypes.Delete(ctx, in.ID)
	return nil, err
}

func (a *API) eventTypeDocument(ctx context.Context, in *webhooksInput) (*struct{ Body map[string]json.RawMessage }, error) {
	product := registry.Product{Name: hub.ProductHub, Title: Title} // which is in no directory
	if in.Product != hub.ProductHub {
		var err error
		if product, err = a.deps.Registry.Product(ctx, in.Product); err != nil {
			return nil, err
		}
	}
	types, err := a.deps.EventTypes.OfProduct(ctx, product.Name)
	if err != nil {
		return nil, err
	}
	document, err := eventtype.WebhooksDocument(eventtype.Product{Name: product.Name, Title: product.Title}, types)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body map[string]json.RawMessage }{}
	return out, json.Unmarshal(document, &out.Body) //nolint:wrapcheck // it was just written
}

// exampleOf returns the example of a type of the events that a tenant gets.
func (a *API) exampleOf(ctx context.Context, tenantID uuid.UUID, name string) (found eventtype.Type, err error) {
	tenant, err := a.deps.Registry.Tenant(ctx, tenantID)
	if err != nil {
		return eventtype.Type{}, err
	}
	product := tenant.Product
	if strings.HasPrefix(name, hub.ReservedTypes) {
		product = hub.ProductHub
	}
	found, known, err := a.deps.EventTypes.Find(ctx, product, name)
	switch {
	case err != nil:
		return eventtype.Type{}, err
	case !known:
		return eventtype.Type{}, hub.Invalid("body.event_type", "is not an event type of the endpoint's product")
	case found.Example == nil:
		return eventtype.Type{}, hub.Invalid("body.event_type", "has no example to send")
	}
	return found, nil
}

func (s EventTypeSettings) state() registry.EventTypeState {
	return registry.EventTypeState{Description: s.Description, Schema: s.Schema, Example: s.Example, Deprecated: s.Deprecated}
}

func eventTypeOf(t eventtype.Type) EventType { return listedTypeOf(registry.ListedOf(t)) }

func listedTypeOf(t registry.ListedEventType) EventType {
	return EventType{
		ID: t.ID, Product: t.Product, Name: t.Name, Description: t.Description, EventTypeContent: EventTypeContent{Schema: orNull(t.Schema), Example: orNull(t.Example)},
		HasSchema: t.HasSchema, HasExample: t.HasExample, Deprecated: t.Deprecated, ReadOnly: t.ReadOnly, CreatedAt: nilIfZero(t.CreatedAt), UpdatedAt: nilIfZero(t.UpdatedAt),
	}
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}
