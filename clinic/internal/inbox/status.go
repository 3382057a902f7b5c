package inbox

// Statuses of entries.
const (
	Open      = "open"
	Linked    = "linked"
	Dismissed = "dismissed"
)
