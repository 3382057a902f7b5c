package hub

// Priority orders the deliveries that wait for one receiver. The numbers are the database's:
// smaller ones go first.
type Priority int8

// The priorities of events and their deliveries.
const (
	PriorityHigh   Priority = -1 // before all others: a person's deletion, a ping
	PriorityNormal Priority = 0
	PriorityBulk   Priority = 1 // after the others: many at once without urgency, as of imports
)

// Valid reports whether p is one of the three priorities.
func (p Priority) Valid() bool { return p >= PriorityHigh && p <= PriorityBulk }

// String returns the name that the API uses.
func (p Priority) String() string {
	switch p {
	case PriorityHigh:
		return "high"
	case PriorityBulk:
		return "bulk"
	default:
		return "normal"
	}
}
