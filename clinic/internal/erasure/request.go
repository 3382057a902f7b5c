package erasure

import (
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
)

// Request is a deletion request with the state of each connected product.
type Request struct {
	Row   store.DeletionRequest
	Peers []store.DeletionPeer
}

// Statuses of deletion requests.
const (
	requestWaiting        = "waiting"         // for peers
	requestNeedsAttention = "needs_attention" // somebody has to inform a peer by other means
	requestCompleted      = "completed"       // all peers have acknowledged
)

// deletionEvent returns the key of the event that a request published.
func deletionEvent(r store.DeletionRequest) hub.Event {
	return hub.Event{ID: r.EventID, TenantID: r.ClinicID, Environment: r.Env}
}
