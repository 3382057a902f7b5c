// Package delivery takes committed deliveries to their receivers: it dispatches
// them fairly, signs and sends, retries, and parks what cannot be delivered.
package delivery

import (
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"integrationhub/hub"
)

// Lease is how long a delivery belongs to the process that took it, by the
// database's clock. A process that has not started an attempt within
// startWithin of taking the lease gives it up, so that the attempt (10 s at most)
// ends before another process may take the row.
const (
	LeaseDuration = 30 * time.Second
	startWithin   = 15 * time.Second
)

// Event is what a delivery carries: the envelope's bytes, shared by all the
// deliveries of one event.
type Event struct {
	Seq           uuid.UUID
	ID            string
	IDBits        int64 // the 64 bits behind ID, as the log keeps them
	TenantID      uuid.UUID
	Environment   hub.Environment
	Product       string
	Type          string
	CorrelationID string // "" = none
	Body          []byte
	Trace         *trace.SpanContext // of the publication, in the process that accepted it; nil = not traced
}

// CommitLease stands for the deliveries of one commit that this process took on at once.
// They have no rows in the log until they are settled, or have waited a while; the
// row of the lease stands for them.
type CommitLease struct {
	ID           uuid.UUID
	TakenAt      time.Time // local clock
	WithoutRow   int       // deliveries without a row; counted by the log's writer alone
	Materialized bool      // all have rows now, or may have; set by the log's writer alone
}

// LeasedDelivery is one delivery whose lease this process holds.
type LeasedDelivery struct {
	ID            uuid.UUID
	Target        uuid.UUID
	IsIntegration bool // Target is an integration, else an endpoint
	Event         *Event
	PriorAttempts int          // attempts made before
	Spent         int          // of these, how many count against this round's four
	RoundAt       time.Time    // when this round of attempts began, database clock
	ReadyAt       time.Time    // when the attempt became due, local clock
	LeasedAt      time.Time    // when the lease was asked for, local clock
	CommitLease   *CommitLease // nil: the delivery has a row
	paced         bool         // has its turn among this process' attempts at a paced target
}

// Status is where a delivery stands; the numbers are the database's.
type Status int16

// The four states of a delivery.
const (
	Pending   Status = 0
	Delivered Status = 1
	Parked    Status = 2
	Failed    Status = 3
)

var statusNames = [...]string{"pending", "delivered", "parked", "failed"}

// String is the name the API uses.
func (s Status) String() string { return statusNames[s] }

// ParseStatus reads the API's name of a status.
func ParseStatus(name string) (Status, bool) {
	for i, statusName := range statusNames {
		if statusName == name {
			return Status(i), true
		}
	}
	return 0, false
}
