package erasure

import (
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Request is a deletion request with the state of each connected product.
type Request struct {
	dbgen.DeletionRequest
	Peers []dbgen.DeletionPeer
}

// Statuses of deletion requests.
const (
	requestWaiting        = "waiting"         // for peers
	requestNeedsAttention = "needs_attention" // somebody has to inform a peer by other means
	requestCompleted      = "completed"       // all peers have acknowledged
)

// deletionEvent returns the key of the event that a request published.
func deletionEvent(r dbgen.DeletionRequest) hub.Event {
	return hub.Event{ID: r.EventID, TenantID: r.ClinicID, Environment: r.Env}
}
