package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Statuses of a peer that was asked to forget a patient.
const (
	peerPending      = "pending"
	peerAcknowledged = "acknowledged"
	peerFailed       = "failed" // it did not take the event: it is sent again, or people have to tell it
)

// deliveryParked is the status of a delivery that goes out by itself when its receiver is
// well, or enabled, again.
const deliveryParked = "parked"

// Statuses of requests to be forgotten.
const (
	deletionWaiting   = "waiting"         // for peers
	deletionAttention = "needs_attention" // for people, who have to tell a peer
	deletionCompleted = "completed"       // everybody acknowledged
)

// announced is the event that tells the peers of a request.
func announced(r dbgen.DeletionRequest) hub.Event {
	return hub.Event{ID: r.EventID, TenantID: r.ClinicID, Environment: r.Env}
}

// follow writes down what the peers answered meanwhile, which is what became of the event:
// a 2xx on patient.deleted is an acknowledgement, whenever it comes.
func (s *Store) follow(ctx context.Context, d Deletion, sent []module.Delivery) (_ Deletion, err error) {
	news := s.answers(d, sent)
	if d.Status == deletionCompleted || len(news) == 0 && d.Status == statusOf(d.Peers) {
		return d, nil
	}
	err = s.InTx(ctx, "following a deletion", func(tx *Tx) error {
		if d.DeletionRequest, err = tx.LockDeletionRequest(ctx, d.ClinicID, d.Env, d.ID); err != nil {
			return err
		}
		for product, status := range news {
			settle := dbgen.SettleDeletionPeerParams{ClinicID: d.ClinicID, Env: d.Env, RequestID: d.ID, Product: product, Status: status}
			if status == peerAcknowledged {
				settle.AcknowledgedAt = &tx.now
			}
			if _, err := tx.SettleDeletionPeer(ctx, settle); err != nil {
				return err
			}
		}
		return tx.settleDeletion(ctx, &d)
	})
	return d, err
}

// answers are the statuses of peers that changed, by product.
func (s *Store) answers(d Deletion, sent []module.Delivery) map[string]string {
	news := make(map[string]string)
	overdue := s.host.Now().Sub(d.RequestedAt) > parkedAtMost
	for _, peer := range d.Peers {
		if peer.Status == peerAcknowledged {
			continue
		}
		if now := answered(sent, peer.IntegrationID, overdue); now != peer.Status && now != peerPending {
			news[peer.Product] = now
		}
	}
	return news
}

// parkedAtMost is how long a request waits for peers that have the event parked: people
// are left time to tell them within the days that the law gives.
const parkedAtMost = 24 * time.Hour

// answered is what a peer did with the event. One that was sent nothing does not want
// to hear of deletions, or it is so long ago that the log has it no more; one that was
// disconnected or paused gets nothing until it is in use again.
func answered(sent []module.Delivery, integration uuid.UUID, overdue bool) string {
	for _, d := range sent {
		switch {
		case d.IntegrationID != integration:
		case d.Status == "delivered":
			return peerAcknowledged
		case d.Status == "failed" || !d.Connected || d.Status == deliveryParked && overdue:
			return peerFailed
		default:
			return peerPending
		}
	}
	return peerFailed
}

// parked tells whether an event waits for an integration to be well, or enabled, again.
func parked(sent []module.Delivery, integration uuid.UUID) bool {
	return slices.ContainsFunc(sent, func(d module.Delivery) bool { return d.IntegrationID == integration && d.Status == deliveryParked })
}

// statusOf is what the peers make of a request.
func statusOf(peers []dbgen.DeletionPeer) string {
	status := deletionCompleted
	for _, peer := range peers {
		switch peer.Status {
		case peerPending:
			return deletionWaiting
		case peerFailed:
			status = deletionAttention
		}
	}
	return status
}

// settleDeletion brings a request that is locked in line with its peers. Where all have
// acknowledged, nobody needs the event any more.
func (t *Tx) settleDeletion(ctx context.Context, d *Deletion) (err error) {
	if d.Peers, err = t.DeletionPeers(ctx, d.ClinicID, d.Env, d.ID); err != nil {
		return err
	}
	status := statusOf(d.Peers)
	if status == d.Status || d.Status == deletionCompleted {
		return nil
	}
	set := dbgen.SetDeletionStatusParams{ClinicID: d.ClinicID, Env: d.Env, ID: d.ID, Status: status}
	if status == deletionCompleted {
		set.CompletedAt = &t.now
		if err := t.host.Erasures.Release(ctx, t.Raw, announced(d.DeletionRequest)); err != nil {
			return err
		}
	}
	d.DeletionRequest, err = t.SetDeletionStatus(ctx, set)
	return err
}

const (
	deletionPage = 200                 // requests that are looked at together
	deletionAge  = 60 * 24 * time.Hour // after which no log has what came of an event
)

// FollowDeletions brings every request that is not completed up to date. One that fails
// keeps no other from it; the error is about those that did.
func (s *Store) FollowDeletions(ctx context.Context) error {
	now := s.host.Now()
	next := dbgen.OpenDeletionsParams{Since: now.Add(-deletionAge), AfterAt: now.Add(-deletionAge), RowLimit: deletionPage}
	var failed []error
	for {
		page, err := s.OpenDeletions(ctx, next)
		if err != nil {
			return err
		}
		peers, err := s.peersOf(ctx, page)
		if err != nil {
			return err
		}
		events := make([]hub.Event, len(page))
		for i, r := range page {
			events[i] = announced(r)
		}
		sent, err := s.host.Deliveries.ForEvents(ctx, events)
		if err != nil {
			return err
		}
		for i, r := range page {
			if _, err := s.follow(ctx, Deletion{r, peers[r.ID]}, sent[i]); err != nil {
				failed = append(failed, fmt.Errorf("deletion request %s: %w", r.ID, err))
			}
		}
		if len(page) < deletionPage || ctx.Err() != nil {
			return errors.Join(failed...)
		}
		last := page[len(page)-1]
		next.AfterAt, next.AfterID = last.RequestedAt, last.ID
	}
}

// peersOf are the peers of requests, by request.
func (s *Store) peersOf(ctx context.Context, page []dbgen.DeletionRequest) (map[uuid.UUID][]dbgen.DeletionPeer, error) {
	var clinics, ids []uuid.UUID
	var envs []string
	for _, r := range page {
		clinics, envs, ids = append(clinics, r.ClinicID), append(envs, string(r.Env)), append(ids, r.ID)
	}
	list, err := s.DeletionPeersOf(ctx, clinics, envs, ids)
	peers := make(map[uuid.UUID][]dbgen.DeletionPeer, len(page))
	for _, peer := range list {
		peers[peer.RequestID] = append(peers[peer.RequestID], peer)
	}
	return peers, err
}
