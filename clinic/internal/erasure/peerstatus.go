package erasure

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Statuses of a connected product in a deletion request.
const (
	peerPending      = "pending"
	peerAcknowledged = "acknowledged"
	peerFailed       = "failed" // it did not accept the event, which is sent again, or a user has to inform it
)

// Statuses of deliveries.
const (
	deliveryDelivered = "delivered"
	deliveryFailed    = "failed"
	deliveryParked    = "parked" // sent when its receiver is healthy or enabled again
)

// updateFromDeliveries stores what the deliveries of the event show: a peer that answered it with a 2xx
// has acknowledged, however late.
func (s *Service) updateFromDeliveries(ctx context.Context, request Request, deliveries []module.Delivery) (_ Request, err error) {
	changes := s.changedPeers(request, deliveries)
	if request.Row.Status == requestCompleted || len(changes) == 0 && request.Row.Status == requestStatus(request.Peers) {
		return request, nil
	}
	err = s.store.InTx(ctx, "updating a deletion request", func(tx *store.Tx) error {
		if request.Row, err = tx.LockDeletionRequest(ctx, request.Row.ClinicID, request.Row.Env, request.Row.ID); err != nil {
			return err
		}
		for product, change := range changes {
			params := dbgen.UpdateDeletionPeerParams{ClinicID: request.Row.ClinicID, Env: request.Row.Env, RequestID: request.Row.ID, Product: product, Status: change.status}
			if change.status == peerAcknowledged {
				at := tx.Now()
				if change.at != nil {
					at = *change.at
				}
				params.AcknowledgedAt = &at
			}
			if _, err := tx.UpdateDeletionPeer(ctx, params); err != nil {
				return err
			}
		}
		return s.updateStatus(ctx, tx, &request)
	})
	return request, err
}

// peerChange is the new status of a peer, with when it accepted the event; nil: it did not, or
// that is unknown.
type peerChange struct {
	status string
	at     *time.Time
}

// changedPeers returns the changes of peers whose status changed, by product.
func (s *Service) changedPeers(request Request, deliveries []module.Delivery) map[string]peerChange {
	changes := make(map[string]peerChange)
	overdue := s.host.Now().Sub(request.Row.RequestedAt) > maxParked
	for _, peer := range request.Peers {
		if peer.Status == peerAcknowledged {
			continue
		}
		if change := impliedPeerChange(deliveries, peer.IntegrationID, overdue); change.status != peer.Status && change.status != peerPending {
			changes[peer.Product] = change
		}
	}
	return changes
}

// maxParked is how long a request waits for a parked event before a user has to inform
// the peer: the law sets a deadline of days.
const maxParked = 24 * time.Hour

// impliedPeerChange returns the status that a peer's delivery implies. Without a delivery the peer
// does not subscribe to deletions, or the log no longer has it. A disconnected or paused
// peer gets nothing until it is connected again.
func impliedPeerChange(deliveries []module.Delivery, integration uuid.UUID, overdue bool) peerChange {
	for _, d := range deliveries {
		switch {
		case d.IntegrationID != integration:
		case d.Status == deliveryDelivered:
			return peerChange{peerAcknowledged, d.DeliveredAt}
		case d.Status == deliveryFailed || !d.Connected || d.Status == deliveryParked && overdue:
			return peerChange{status: peerFailed}
		default:
			return peerChange{status: peerPending}
		}
	}
	return peerChange{status: peerFailed}
}

// isParked reports whether an integration's delivery is parked.
func isParked(deliveries []module.Delivery, integration uuid.UUID) bool {
	return slices.ContainsFunc(deliveries, func(d module.Delivery) bool { return d.IntegrationID == integration && d.Status == deliveryParked })
}

// requestStatus returns the status of a request with these peers.
func requestStatus(peers []store.DeletionPeer) string {
	status := requestCompleted
	for _, peer := range peers {
		switch peer.Status {
		case peerPending:
			return requestWaiting
		case peerFailed:
			status = requestNeedsAttention
		}
	}
	return status
}

// updateStatus reloads the peers of a locked request and stores the status that they imply.
// Completing a request lets the hub erase the event.
func (s *Service) updateStatus(ctx context.Context, tx *store.Tx, request *Request) (err error) {
	if request.Peers, err = tx.DeletionPeers(ctx, request.Row.ClinicID, request.Row.Env, request.Row.ID); err != nil {
		return err
	}
	status := requestStatus(request.Peers)
	if status == request.Row.Status || request.Row.Status == requestCompleted {
		return nil
	}
	params := dbgen.UpdateDeletionStatusParams{ClinicID: request.Row.ClinicID, Env: request.Row.Env, ID: request.Row.ID, Status: status}
	if status == requestCompleted {
		completedAt := lastAcknowledgement(request.Peers, tx.Now())
		params.CompletedAt = &completedAt
		if err := s.host.Erasures.Release(ctx, tx.Raw, deletionEventRef(request.Row)); err != nil {
			return err
		}
	}
	request.Row, err = tx.UpdateDeletionStatus(ctx, params)
	return err
}

// lastAcknowledgement returns when the last peer acknowledged; now if there are no peers.
func lastAcknowledgement(peers []store.DeletionPeer, now time.Time) time.Time {
	var last time.Time
	for _, peer := range peers {
		if peer.AcknowledgedAt != nil && peer.AcknowledgedAt.After(last) {
			last = *peer.AcknowledgedAt
		}
	}
	if last.IsZero() {
		return now
	}
	return last
}
