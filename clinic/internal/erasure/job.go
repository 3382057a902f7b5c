package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

const (
	openRequestsPage = 200                 // requests that are updated together
	maxRequestAge    = 60 * 24 * time.Hour // after which no log has the deliveries any more
)

// UpdateOpenRequests updates all requests that are not completed. If some fail it still
// goes through the others; the error joins their errors.
func (s *Service) UpdateOpenRequests(ctx context.Context) error {
	now := s.host.Now()
	params := dbgen.OpenDeletionRequestsParams{Since: now.Add(-maxRequestAge), AfterAt: now.Add(-maxRequestAge), RowLimit: openRequestsPage}
	var errs []error
	for {
		page, err := s.store.OpenDeletionRequests(ctx, params)
		if err != nil {
			return err
		}
		if _, err := s.updateRequests(ctx, page); err != nil {
			errs = append(errs, err)
		}
		if len(page) < openRequestsPage || ctx.Err() != nil {
			return errors.Join(errs...)
		}
		last := page[len(page)-1]
		params.AfterAt, params.AfterID = last.RequestedAt, last.ID
	}
}

// updateRequests updates those of some requests that are not completed with the latest
// deliveries. If some fail it still goes through the others; the error joins their errors.
func (s *Service) updateRequests(ctx context.Context, requests []store.DeletionRequest) (hasChanged bool, err error) {
	open := slices.DeleteFunc(slices.Clone(requests), func(row store.DeletionRequest) bool { return row.Status == requestCompleted })
	if len(open) == 0 {
		return false, nil
	}
	peers, err := s.peersByRequest(ctx, open)
	if err != nil {
		return false, err
	}
	events := make([]hub.Event, len(open))
	for i, row := range open {
		events[i] = deletionEventRef(row)
	}
	deliveries, err := s.host.Deliveries.ForEvents(ctx, events)
	if err != nil {
		return false, err
	}
	var errs []error
	for i, row := range open {
		updated, err := s.updateFromDeliveries(ctx, Request{row, peers[row.ID]}, deliveries[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("deletion request %s: %w", row.ID, err))
		}
		hasChanged = hasChanged || updated.Row.Status != row.Status || !slices.Equal(updated.Peers, peers[row.ID])
	}
	return hasChanged, errors.Join(errs...)
}

// peersByRequest returns the peers of requests, by request id.
func (s *Service) peersByRequest(ctx context.Context, requests []store.DeletionRequest) (map[uuid.UUID][]store.DeletionPeer, error) {
	var clinics, ids []uuid.UUID
	var envs []string
	for _, row := range requests {
		clinics, envs, ids = append(clinics, row.ClinicID), append(envs, string(row.Env)), append(ids, row.ID)
	}
	rows, err := s.store.PeersOfDeletionRequests(ctx, clinics, envs, ids)
	peers := make(map[uuid.UUID][]store.DeletionPeer, len(requests))
	for _, peer := range rows {
		peers[peer.RequestID] = append(peers[peer.RequestID], peer)
	}
	return peers, err
}
