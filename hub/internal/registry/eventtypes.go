package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/internal/strictjson"
	"integrationhub/hub/module/pointer"
)

// Bounds of the types of one product.
const (
	MaxEventTypesOfProduct = 10_000
	maxEventTypeBytes      = 8 << 20 // of all schemas and examples
	maxTypeName            = 128     // bytes, as of a published event
	maxTypeDescription     = 1_000   // characters
)

// EventTypes manages the types of events: those of external products are stored, those of
// hosted ones come from code.
type EventTypes struct {
	db   *pgxpool.Pool
	code *eventtype.Catalog
}

// NewEventTypes returns the types in db and those of code.
func NewEventTypes(db *pgxpool.Pool, code *eventtype.Catalog) *EventTypes {
	return &EventTypes{db, code}
}

// EventTypeState is the part of a type that operators set.
type EventTypeState struct {
	Description string
	Schema      json.RawMessage // nil = none
	Example     json.RawMessage // nil = none
	Deprecated  bool
}

// Create stores a type of an external product. A bad name, schema or example is a
// [hub.ErrInvalid], a taken name and a product whose types come from code a
// [hub.ErrConflict].
func (e *EventTypes) Create(ctx context.Context, product, name string, state EventTypeState) (created eventtype.Type, err error) {
	if err := checkEventTypeName(name); err != nil {
		return eventtype.Type{}, err
	}
	if product == hub.ProductHub || e.code.Owns(product) {
		return eventtype.Type{}, readOnlyError()
	}
	if state, err = checkEventType(state); err != nil {
		return eventtype.Type{}, err
	}
	err = e.change(ctx, product, func(queries *dbgen.Queries) error {
		row, err := queries.CreateEventType(ctx, dbgen.CreateEventTypeParams{
			ID: uuid.Must(uuid.NewV7()), Product: product, Name: name, Description: state.Description,
			Schema: textOf(state.Schema), Example: textOf(state.Example), Deprecated: state.Deprecated,
		})
		created = eventTypeOf(row)
		return err
	})
	return created, err
}

// change calls apply with the product locked, and undoes what it did where the product then
// has too many types.
func (e *EventTypes) change(ctx context.Context, product string, apply func(*dbgen.Queries) error) error {
	return store.InTx(ctx, e.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.ProductForUpdate(ctx, product)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return hub.Invalid("body.product", "is not a known product")
		case err != nil:
			return store.Wrap("loading the product", err)
		case row.Hosted:
			return readOnlyError()
		}
		if err := apply(queries); err != nil {
			if store.ConstraintName(err) == "event_types_product_name_key" {
				return hub.Errorf(hub.ErrConflict, "name_taken", "The product has an event type of this name.")
			}
			return store.Wrap("storing the event type", err)
		}
		used, err := queries.MeasureEventTypes(ctx, product)
		switch {
		case err != nil:
			return store.Wrap("measuring the product's event types", err)
		case used.Types > MaxEventTypesOfProduct:
			return hub.Errorf(hub.ErrInvalid, "too_many_event_types", "A product can have %d event types.", MaxEventTypesOfProduct)
		case used.Bytes > maxEventTypeBytes:
			return hub.Errorf(hub.ErrInvalid, "event_types_too_large", "The schemas and examples of a product can have %d bytes together.", maxEventTypeBytes)
		}
		return nil
	})
}

func readOnlyError() error {
	return hub.Errorf(hub.ErrConflict, "read_only", "The event types of hosted products and of the hub come from code: they cannot be changed.")
}

// Get returns one type; an unknown id is a [hub.ErrNotFound].
func (e *EventTypes) Get(ctx context.Context, id uuid.UUID) (eventtype.Type, error) {
	if found, ok := e.code.ByID(id); ok {
		return found, nil
	}
	row, err := dbgen.New(e.db).EventTypeByID(ctx, id)
	if err != nil {
		return eventtype.Type{}, store.Wrap("loading the event type", err)
	}
	return eventTypeOf(row), nil
}

// Find returns the type of a product's events that has a name; found is false if there is
// none.
func (e *EventTypes) Find(ctx context.Context, product, name string) (found eventtype.Type, ok bool, err error) {
	if found, ok := e.code.ByName(product, name); ok {
		return found, true, nil
	}
	row, err := dbgen.New(e.db).EventTypeByName(ctx, product, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return eventtype.Type{}, false, nil
	}
	if err != nil {
		return eventtype.Type{}, false, store.Wrap("loading the event type", err)
	}
	return eventTypeOf(row), true, nil
}

// EventTypeFilter chooses the types of a list, and what of them is read.
type EventTypeFilter struct {
	Product     string // "" = all
	WithExample bool   // only types that have an example
	Brief       bool   // without schemas and examples
}

// ListedEventType is a type in a list, which may leave out its schema and example.
type ListedEventType struct {
	eventtype.Type
	HasSchema, HasExample bool
}

// List returns up to limit types, by product and name, that follow a product and name.
func (e *EventTypes) List(ctx context.Context, filter EventTypeFilter, afterProduct, afterName string, limit int) ([]ListedEventType, error) {
	rows, err := dbgen.New(e.db).ListEventTypes(ctx, dbgen.ListEventTypesParams{
		Product: pointer.NilIfZero(filter.Product), Brief: filter.Brief, WithExample: filter.WithExample,
		AfterProduct: afterProduct, AfterName: afterName, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing event types", err)
	}
	list := make([]ListedEventType, 0, len(rows))
	for _, row := range rows {
		list = append(list, ListedEventType{
			Type: eventTypeOf(dbgen.EventType{
				ID: row.ID, Product: row.Product, Name: row.Name, Description: row.Description, Schema: pointer.NilIfZero(row.Schema), Example: pointer.NilIfZero(row.Example),
				Deprecated: row.Deprecated, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
			}),
			HasSchema: row.HasSchema, HasExample: row.HasExample,
		})
	}
	// Before the cut: a type that is left out must not take the place of one that is not.
	for _, t := range e.code.All(filter.Product, afterProduct, afterName) {
		if filter.WithExample && t.Example == nil {
			continue
		}
		listed := ListedOf(t)
		if filter.Brief {
			listed.Schema, listed.Example = nil, nil
		}
		list = append(list, listed)
	}
	slices.SortFunc(list, func(a, b ListedEventType) int { return eventtype.Compare(a.Type, b.Type) })
	return list[:min(len(list), limit)], nil
}

// ListedOf returns a type as lists have it, with everything.
func ListedOf(t eventtype.Type) ListedEventType {
	return ListedEventType{Type: t, HasSchema: t.Schema != nil, HasExample: t.Example != nil}
}

// OfProduct returns every type of a product, by name.
func (e *EventTypes) OfProduct(ctx context.Context, product string) ([]eventtype.Type, error) {
	listed, err := e.List(ctx, EventTypeFilter{Product: product}, "", "", MaxEventTypesOfProduct)
	if err != nil {
		return nil, err
	}
	types := make([]eventtype.Type, len(listed))
	for i, t := range listed {
		types[i] = t.Type
	}
	return types, nil
}

// Update replaces everything but the product and the name, and reports whether that changed
// anything. A type from code is a [hub.ErrConflict].
func (e *EventTypes) Update(ctx context.Context, id uuid.UUID, state EventTypeState) (updated eventtype.Type, changed bool, err error) {
	present, err := e.writable(ctx, id)
	if err != nil {
		return eventtype.Type{}, false, err
	}
	if state, err = checkEventType(state); err != nil {
		return eventtype.Type{}, false, err
	}
	err = e.change(ctx, present.Product, func(queries *dbgen.Queries) error {
		row, err := queries.EventTypeForUpdate(ctx, id)
		if err != nil {
			return err
		}
		updated = eventTypeOf(row)
		if updated.Description == state.Description && updated.Deprecated == state.Deprecated &&
			bytes.Equal(updated.Schema, state.Schema) && bytes.Equal(updated.Example, state.Example) {
			return nil
		}
		changed = true
		row, err = queries.UpdateEventType(ctx, dbgen.UpdateEventTypeParams{
			ID: id, Description: state.Description, Schema: textOf(state.Schema), Example: textOf(state.Example), Deprecated: state.Deprecated,
		})
		updated = eventTypeOf(row)
		return err
	})
	return updated, changed, err
}

// Delete deletes a type and returns it. A type from code is a [hub.ErrConflict].
func (e *EventTypes) Delete(ctx context.Context, id uuid.UUID) (eventtype.Type, error) {
	if _, err := e.writable(ctx, id); err != nil {
		return eventtype.Type{}, err
	}
	row, err := dbgen.New(e.db).DeleteEventType(ctx, id)
	if err != nil {
		return eventtype.Type{}, store.Wrap("deleting the event type", err)
	}
	return eventTypeOf(row), nil
}

// writable returns a type that can be changed.
func (e *EventTypes) writable(ctx context.Context, id uuid.UUID) (eventtype.Type, error) {
	present, err := e.Get(ctx, id)
	if err == nil && present.ReadOnly {
		err = readOnlyError()
	}
	return present, err
}

func checkEventTypeName(name string) error {
	switch {
	case len(name) > maxTypeName || !hub.ValidEventType(name):
		return hub.Invalid("body.name", "must be words of letters, digits, _ and - joined by dots, such as order.created, of at most 128 bytes")
	case strings.HasPrefix(name, hub.ReservedTypes):
		return hub.Invalid("body.name", "must not begin with "+hub.ReservedTypes+": these are the hub's own events")
	}
	return nil
}

// checkEventType checks a type's schema and example, and the example against the schema. It
// returns both without white space around the values.
func checkEventType(state EventTypeState) (EventTypeState, error) {
	if len([]rune(state.Description)) > maxTypeDescription {
		return state, hub.Invalid("body.description", fmt.Sprintf("must have at most %d characters", maxTypeDescription))
	}
	var schema *eventtype.Schema
	if state.Schema = withoutNull(state.Schema); state.Schema != nil {
		if err := strictjson.Check(state.Schema, strictjson.Rules{UniqueKeys: true}); err != nil {
			return state, hub.Invalid("body.schema", "must be one JSON value without duplicate members").WithCause(err)
		}
		var err error
		var problem *eventtype.Problem
		if schema, err = eventtype.Compile(state.Schema); errors.As(err, &problem) {
			return state, hub.Invalid("body.schema"+problem.Path, problem.Message)
		} else if err != nil {
			return state, fmt.Errorf("compiling the schema: %w", err)
		}
	}
	if state.Example = withoutNull(state.Example); state.Example == nil {
		return state, nil
	}
	switch {
	case len(state.Example) > eventtype.MaxExample:
		return state, hub.Invalid("body.example", fmt.Sprintf("must have at most %d bytes", eventtype.MaxExample))
	case state.Example[0] != '{':
		return state, hub.Invalid("body.example", "must be a JSON object, as the data of events is")
	}
	if err := strictjson.Check(state.Example, strictjson.Rules{UniqueKeys: true}); err != nil {
		return state, hub.Invalid("body.example", "must be one JSON value without duplicate members").WithCause(err)
	}
	if schema != nil {
		if refusal := eventtype.Refuse("body.example", schema.Check(state.Example)); refusal != nil {
			return state, refusal
		}
	}
	return state, nil
}

// withoutNull returns a JSON value without white space around it; nil for null.
func withoutNull(value json.RawMessage) json.RawMessage {
	if value = bytes.TrimSpace(value); len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

func textOf(value json.RawMessage) *string { return pointer.NilIfZero(string(value)) }

func eventTypeOf(row dbgen.EventType) eventtype.Type {
	return eventtype.Type{
		ID: row.ID, Product: row.Product, Name: row.Name, Description: row.Description, Schema: rawOf(row.Schema), Example: rawOf(row.Example),
		Deprecated: row.Deprecated, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

func rawOf(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}
