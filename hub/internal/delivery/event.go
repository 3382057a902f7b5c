package delivery

import (
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"integrationhub/hub"
)

// TypePing is the type of the event that tries an endpoint. A person waits for its outcome:
// it has [hub.PriorityHigh].
const TypePing = "hub.ping"

// Event is the event of a delivery with its envelope, shared by all deliveries of the
// event.
type Event struct {
	Seq           uuid.UUID
	ID            string
	IDBits        int64 // the 64 bits of ID, as the log stores them
	TenantID      uuid.UUID
	Environment   hub.Environment
	Product       string
	Type          string
	CorrelationID string // "" = none
	Body          []byte
	Trace         *trace.SpanContext // of the publication, in the process that accepted it; nil = not traced
}
