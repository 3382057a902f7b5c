package directory

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/turns"
)

// Validation checks the data of a product's events against the schemas of their types. It
// is safe for concurrent use. It belongs to one version of the configuration: after a change
// keys have another one.
type Validation struct {
	Rejects bool // else it warns
	texts   map[string]string
	share   *eventtype.Share
	tenants *turns.Gate // of large data: a tenant with much of it does not stand in line more than once

	mu       sync.Mutex
	compiled map[string]*eventtype.Schema
	nodes    int // subschemas of compiled
}

// maxCompiledNodes bounds the memory that a product's compiled schemas take: about a kilobyte
// each, for each processor.
const maxCompiledNodes = 100_000

// largeLimits are those of a tenant's large data.
var largeLimits = turns.Limits{MaxActive: 1, MaxWaiting: 1000, MaxWait: eventtype.MaxWait}

// Check returns where data does not agree with the schema of its type. Unknown types and
// those without a schema agree with everything. The first event of a type after a change
// compiles its schema. The events of a request share an allowance. Large data that gets no turn
// in a few seconds, or until ctx has ended, is a [hub.ErrUnavailable].
func (v *Validation) Check(ctx context.Context, tenant uuid.UUID, eventType string, data []byte, allowance *eventtype.Allowance) ([]eventtype.Violation, error) {
	text, hasSchema := v.texts[eventType]
	if !hasSchema {
		return nil, nil
	}
	schema, err := v.schema(eventType, text)
	if err != nil { // it was compiled when it was stored
		return []eventtype.Violation{{Message: "cannot be checked: the schema of its type cannot be compiled"}}, nil
	}
	if len(data) > eventtype.LargeDataBytes {
		leave, err := v.tenants.Enter(ctx, tenant.String())
		if err != nil {
			return nil, eventtype.Busy(err)
		}
		defer leave()
	}
	allowance.Renew(v)
	violations, err := schema.CheckWithin(ctx, data, allowance, v.share)
	if err != nil {
		return nil, fmt.Errorf("checking an event's data: %w", err)
	}
	return violations, nil
}

func (v *Validation) schema(eventType, text string) (*eventtype.Schema, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if schema := v.compiled[eventType]; schema != nil {
		return schema, nil
	}
	schema, err := eventtype.Compile([]byte(text))
	if err != nil {
		return nil, err
	}
	if v.nodes += schema.Nodes(); v.nodes > maxCompiledNodes {
		v.compiled, v.nodes = nil, schema.Nodes()
	}
	if v.compiled == nil {
		v.compiled = make(map[string]*eventtype.Schema)
	}
	v.compiled[eventType] = schema
	return schema, nil
}

// validationOf returns the validation of a product's events; nil if it is off.
func (d *Directory) validationOf(ctx context.Context, product, mode string) (*Validation, error) {
	if mode == registry.ValidationOff {
		return nil, nil
	}
	rejects := mode == registry.ValidationReject
	if cached := d.cache.findValidation(product); cached != nil && cached.Rejects == rejects {
		return cached, nil
	}
	drops := d.cache.beginLoad()
	rows, err := dbgen.New(d.pool).EventSchemas(ctx, product)
	if err != nil {
		return nil, store.Wrap("loading the schemas of event types", err)
	}
	validation := &Validation{Rejects: rejects, texts: make(map[string]string, len(rows)), share: eventtype.NewShare(), tenants: turns.New(largeLimits)}
	for _, row := range rows {
		validation.texts[row.Name] = row.Schema
	}
	d.cache.store(drops, func() {
		if present := d.cache.validations[product]; present != nil && present.Rejects == rejects {
			validation = present // another key of the product was faster
			return
		}
		d.cache.validations[product] = validation
	})
	return validation, nil
}

func (c *cache) findValidation(product string) *Validation {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.validations[product]
}
