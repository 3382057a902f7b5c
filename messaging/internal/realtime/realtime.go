// Package realtime wakes the event streams of a company when its data changes. The changes
// are rows that triggers write, so nothing is lost between two streams.
package realtime

import (
	"context"
	"sync"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store"
)

const (
	pollInterval = 200 * time.Millisecond
	keepChanges  = time.Hour      // readers that were away for longer begin anew
	keepReceipts = 24 * time.Hour // of messages that the network has not acknowledged to their sender
)

// Service wakes readers. It is safe for concurrent use.
type Service struct {
	host      module.Host
	store     *store.Store
	mu        sync.Mutex
	companies map[int64]*company
}

// company are the readers of one company in this process.
type company struct {
	readers map[chan struct{}]bool
	cancel  context.CancelFunc // ends the poller
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service {
	return &Service{host: host, store: s, companies: make(map[int64]*company)}
}

// Subscribe returns a channel that gets a value after changes of a company, until stop is
// called. The first reader of a company starts a poller, which ends with the last one.
func (s *Service) Subscribe(companyID int64) (wake <-chan struct{}, stop func()) {
	reader := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.companies[companyID]
	if c == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c = &company{readers: make(map[chan struct{}]bool), cancel: cancel}
		s.companies[companyID] = c
		go s.poll(ctx, companyID)
	}
	c.readers[reader] = true
	return reader, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(c.readers, reader); len(c.readers) == 0 {
			c.cancel()
			delete(s.companies, companyID)
		}
	})
}

// poll numbers the changes of a company and wakes its readers when there are new ones.
func (s *Service) poll(ctx context.Context, companyID int64) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	known, isFailing := int64(-1), false
	for {
		newest, err := s.store.NumberNewChanges(ctx, companyID)
		if err != nil && !isFailing && ctx.Err() == nil {
			s.host.Log.Warn("changes cannot be read; trying again", "company_id", companyID, "error", err)
		}
		if isFailing = err != nil; err == nil && newest != known {
			known = newest
			s.wake(companyID)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Service) wake(companyID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.companies[companyID]
	if c == nil {
		return
	}
	for reader := range c.readers {
		select {
		case reader <- struct{}{}:
		default: // it is awake
		}
	}
}

// DeleteExpired deletes old changes, unused stream tickets, and receipts whose message never
// came: the job of this package.
func (s *Service) DeleteExpired(ctx context.Context, _ []byte) error {
	// Changes carry the database's time, whatever the product's clock says.
	if err := s.store.DeleteOldChanges(ctx, time.Now().Add(-keepChanges)); err != nil {
		return err
	}
	if err := s.store.DeleteOldStreamTickets(ctx, s.host.Now()); err != nil {
		return err
	}
	return s.store.DeleteOldEarlyReceipts(ctx, s.host.Now().Add(-keepReceipts))
}
