package eventtype

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/httpx"
)

// Type is one type of a product's events.
type Type struct {
	ID          uuid.UUID
	Product     string
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema 2020-12 of the data; nil = none
	Example     json.RawMessage // of the data; nil = none
	Deprecated  bool
	ReadOnly    bool // comes from code
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Catalog is the types that come from code, sorted by product and name.
type Catalog struct {
	types   []Type
	schemas map[key]*Schema
}

type key struct{ product, name string }

// Sender is a product whose types come from code.
type Sender struct {
	Product string
	Sends   []string // types of its events
}

// typePing is the type of a ping.
const typePing = hub.ProductHub + ".ping"

// exampleTime is the time of examples.
var exampleTime = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// ping is the data of a ping.
type ping struct{}

// NewCatalog returns the types of hosted products and the hub's own. Types without a struct
// in hub/events have no schema.
func NewCatalog(senders []Sender) (*Catalog, error) {
	c := &Catalog{schemas: make(map[key]*Schema)}
	if err := c.add(hub.ProductHub, typePing, "Sent to one endpoint, to try it out.", ping{}); err != nil {
		return nil, err
	}
	for _, sender := range append([]Sender{{Product: hub.ProductHub, Sends: events.FromHub()}}, senders...) {
		for _, name := range sender.Sends {
			var example any
			described, isTyped := events.Describe(name)
			if isTyped {
				example = described.Example
			}
			if err := c.add(sender.Product, name, described.Description, example); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(c.types, Compare)
	return c, nil
}

func (t Type) key() key { return key{t.Product, t.Name} }

// Compare orders types by product and name.
func Compare(a, b Type) int { return compareKeys(a.key(), b.key()) }

func compareKeys(a, b key) int {
	if byProduct := strings.Compare(a.product, b.product); byProduct != 0 {
		return byProduct
	}
	return strings.Compare(a.name, b.name)
}

// idSpace is the namespace of the ids of types that come from code.
var idSpace = uuid.MustParse("0a8f5a5e-4f0a-5f0e-9c58-6b1a8a8d3a10")

func (c *Catalog) add(product, name, description string, example any) error {
	t := Type{ID: uuid.NewSHA1(idSpace, []byte(product+"/"+name)), Product: product, Name: name, Description: description, ReadOnly: true}
	if example != nil {
		var err error
		if t.Example, err = json.Marshal(example); err != nil {
			return fmt.Errorf("writing the example of %s: %w", name, err)
		}
		if t.Schema, err = schemaOf(reflect.TypeOf(example)); err != nil {
			return fmt.Errorf("writing the schema of %s: %w", name, err)
		}
		if c.schemas[t.key()], err = Compile(t.Schema); err != nil {
			return fmt.Errorf("compiling the schema of %s: %w", name, err)
		}
	}
	c.types = append(c.types, t)
	return nil
}

// schemaOf returns the JSON Schema of a struct. It allows more members: receivers ignore
// those that they do not know.
func schemaOf(data reflect.Type) (json.RawMessage, error) {
	httpx.SetHumaVariables() // arrays are not nullable: products write [] where there is nothing
	registry := huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[events.Decimal](), reflect.TypeFor[float64]())
	schema := huma.SchemaFromType(registry, data)
	schema.AdditionalProperties = nil
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return text, nil
}

// All returns the types of a product that follow a product and name; "" is every product.
func (c *Catalog) All(product, afterProduct, afterName string) []Type {
	after, list := key{afterProduct, afterName}, []Type(nil)
	for _, t := range c.types {
		if (product == "" || t.Product == product) && compareKeys(t.key(), after) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// ByID returns one type.
func (c *Catalog) ByID(id uuid.UUID) (Type, bool) {
	i := slices.IndexFunc(c.types, func(t Type) bool { return t.ID == id })
	if i < 0 {
		return Type{}, false
	}
	return c.types[i], true
}

// ByName returns one type.
func (c *Catalog) ByName(product, name string) (Type, bool) {
	i := slices.IndexFunc(c.types, func(t Type) bool { return t.Product == product && t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return c.types[i], true
}

// Owns reports whether a product's types come from code.
func (c *Catalog) Owns(product string) bool {
	return slices.ContainsFunc(c.types, func(t Type) bool { return t.Product == product })
}

// Check compares data of a product's event with the schema of its type. Types without one
// agree with everything.
func (c *Catalog) Check(product, name string, data []byte) []Violation {
	if schema := c.schemas[key{product, name}]; schema != nil {
		return schema.Check(data)
	}
	return nil
}
