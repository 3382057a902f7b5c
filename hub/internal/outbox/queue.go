package outbox

import (
	"sync"

	"github.com/google/uuid"
)

// Bounds of a queue, in requests.
const (
	maxWaiting         = 16384
	maxWaitingOfTenant = 2048
)

// queue holds requests that wait for a committer. Tenants take turns, so that one with many
// requests delays the others by one of them at a time.
type queue struct {
	mu      sync.Mutex
	waiting map[uuid.UUID]*waitingRequests
	turns   []*waitingRequests // of the tenants with requests
	length  int
	ready   chan struct{} // has an element if requests came since a committer looked
}

// waitingRequests are the requests of one tenant, in order.
type waitingRequests struct {
	tenant   uuid.UUID
	requests []*request
}

func newQueue() *queue {
	return &queue{waiting: make(map[uuid.UUID]*waitingRequests), ready: make(chan struct{}, 1)}
}

// push appends a request and reports whether there was room.
func (q *queue) push(r *request) bool {
	tenant := r.publications[0].TenantID
	q.mu.Lock()
	defer q.mu.Unlock()
	own := q.waiting[tenant]
	switch {
	case q.length >= maxWaiting, own != nil && len(own.requests) >= maxWaitingOfTenant:
		return false
	case own == nil:
		own = &waitingRequests{tenant: tenant}
		q.waiting[tenant] = own
		q.turns = append(q.turns, own)
	}
	own.requests = append(own.requests, r)
	q.length++
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take appends to a batch what fits into one commit, the tenants in turn.
func (q *queue) take(batch []*request) []*request {
	publications, deliveries := 0, 0
	for _, r := range batch {
		publications, deliveries = publications+len(r.publications), deliveries+r.estimate
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.turns) > 0 && publications < maxPublications && deliveries < maxDeliveries {
		own := q.turns[0]
		r := own.requests[0]
		if deliveries > 0 && deliveries+r.estimate > maxDeliveries {
			break
		}
		own.requests[0] = nil
		own.requests = own.requests[1:]
		q.length--
		q.turns = q.turns[1:]
		if len(own.requests) > 0 {
			q.turns = append(q.turns, own)
		} else {
			delete(q.waiting, own.tenant)
		}
		batch = append(batch, r)
		publications, deliveries = publications+len(r.publications), deliveries+r.estimate
	}
	return batch
}
