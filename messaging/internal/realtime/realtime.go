// Package realtime wakes the event streams of a company when its data changes, and bounds how
// many streams there are. The changes are rows that triggers write, so nothing is lost between
// two streams.
package realtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store"
)

const (
	pollInterval = 200 * time.Millisecond
	keepChanges  = time.Hour      // readers that were away for longer begin anew
	keepReceipts = 24 * time.Hour // receipts that came before the network's response to the sender
)

// Service wakes readers. It is safe for concurrent use.
type Service struct {
	host      module.Host
	store     *store.Store
	counter   counter
	mu        sync.Mutex
	companies map[int64]*companyReaders
	stopPolls context.CancelFunc // ends the poller; nil: there is none
}

// companyReaders are the readers of one company in this process.
type companyReaders struct {
	readers         map[chan struct{}]bool
	newestAnnounced int64 // number of the newest change that the readers were woken for
	batch           *Batch
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service {
	return &Service{host: host, store: s, companies: make(map[int64]*companyReaders)}
}

// Subscribe returns a channel that gets a value after changes of a company, until stop is
// called. The first reader of the process starts the poller, which ends with the last one.
func (s *Service) Subscribe(companyID int64) (wake <-chan struct{}, stop func()) {
	reader := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.companies[companyID]
	if c == nil {
		c = &companyReaders{readers: make(map[chan struct{}]bool), newestAnnounced: -1}
		s.companies[companyID] = c
	}
	c.readers[reader] = true
	if s.stopPolls == nil {
		var ctx context.Context
		ctx, s.stopPolls = context.WithCancel(context.Background())
		go s.poll(ctx)
	}
	return reader, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(c.readers, reader); len(c.readers) == 0 {
			delete(s.companies, companyID)
		}
		if len(s.companies) == 0 {
			s.stopPolls()
			s.stopPolls = nil
		}
	})
}

// poll numbers the changes of the companies that have readers, and wakes their readers.
func (s *Service) poll(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	isFailing := false
	for {
		isBehind, err := s.pollOnce(ctx)
		if err != nil && !isFailing && ctx.Err() == nil {
			s.host.Log.Warn("changes cannot be read; trying again", "error", err)
		}
		isFailing = err != nil
		if isBehind && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pollOnce asks for the changes of all companies that have readers: one statement while there are
// none. It numbers a part of those of each company, so that a company with many does not hold up
// the others. isBehind reports that there are more.
func (s *Service) pollOnce(ctx context.Context) (isBehind bool, err error) {
	s.mu.Lock()
	subscribed := slices.Collect(maps.Keys(s.companies))
	s.mu.Unlock()
	states, err := s.store.ChangeStates(ctx, subscribed)
	if err != nil {
		return false, fmt.Errorf("looking for changes: %w", err)
	}
	if len(states) > 0 && states[0].IsLost {
		if err := s.store.SkipLost(ctx); err != nil {
			return false, err
		}
		return true, nil
	}
	changed := []int64{}
	for _, state := range states {
		if state.HasNew {
			changed = append(changed, state.CompanyID)
		}
	}
	if len(changed) > 0 {
		if isBehind, err = s.store.NumberSomeChanges(ctx, changed); err == nil {
			states, err = s.store.ChangeStates(ctx, subscribed)
		}
		if err != nil {
			return false, err
		}
	}
	for _, state := range states {
		s.wake(state.CompanyID, state.Newest)
	}
	return isBehind, nil
}

// wake wakes the readers of a company, unless they know its newest change.
func (s *Service) wake(companyID, newest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.companies[companyID]
	if c == nil || c.newestAnnounced == newest {
		return
	}
	c.newestAnnounced = newest
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
	if err := s.store.DeleteChangesBefore(ctx, time.Now().Add(-keepChanges)); err != nil {
		return err
	}
	if err := s.store.DeleteOldStreamTickets(ctx, s.host.Now()); err != nil {
		return err
	}
	return s.store.DeleteOldEarlyReceipts(ctx, s.host.Now().Add(-keepReceipts))
}
