// Package schedules writes messages at the times that users chose. A message that came due
// while no process ran is written after the start. Claiming messages, storing them in the
// contacts' tickets and adding them to the outbox is one transaction, so that each is sent
// once. The outbox's job sends them, connection by connection.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store"
)

const (
	batchSize    = 100              // messages of a company that one transaction writes
	maxBusy      = 4                // companies whose messages are written at the same time
	maxCompanies = 1000             // of a round
	runTime      = 20 * time.Second // how long one run of the job writes; the next one goes on
)

// Service writes scheduled messages.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// WriteDue writes the messages that are due: the job of this package. It goes in rounds: in
// each, every company has one batch of its oldest messages written, so that a company with many
// does not hold up the others.
func (s *Service) WriteDue(ctx context.Context, _ []byte) error {
	skipped, err := s.store.SuspendedCompanies(ctx) // and other companies that wait for the next run
	if err != nil {
		return err
	}
	for begin := time.Now(); ctx.Err() == nil && time.Since(begin) < runTime; {
		companies, err := s.store.CompaniesWithDueSchedules(ctx, s.host.Now(), skipped, maxCompanies)
		if err != nil {
			return fmt.Errorf("finding scheduled messages: %w", err)
		}
		if len(companies) == 0 {
			return nil
		}
		skipped = append(skipped, s.writeRound(ctx, companies)...)
	}
	return ctx.Err()
}

// writeRound writes a batch of each company. It returns the companies that have to wait: where
// it failed, and where another process is writing.
func (s *Service) writeRound(ctx context.Context, companies []int64) (skipped []int64) {
	queue, wait := make(chan int64), make(chan int64, len(companies))
	var writers sync.WaitGroup
	for range min(maxBusy, len(companies)) {
		writers.Go(func() {
			for company := range queue {
				isWritten, err := s.writeBatch(ctx, company)
				if err != nil && ctx.Err() == nil {
					s.host.Log.WarnContext(ctx, "scheduled messages of a company wait", "company_id", company, "error", err)
				}
				if !isWritten {
					wait <- company
				}
			}
		})
	}
	for _, company := range companies {
		queue <- company
	}
	close(queue)
	writers.Wait()
	close(wait)
	for company := range wait {
		skipped = append(skipped, company)
	}
	return skipped
}

// writeBatch writes the oldest due messages of a company in one transaction. isWritten is false
// if another transaction has locked the company.
func (s *Service) writeBatch(ctx context.Context, company int64) (isWritten bool, err error) {
	err = s.store.InTx(ctx, "writing scheduled messages", func(tx *store.Tx) error {
		isWritten = false
		row, err := tx.LockAvailableCompany(ctx, company)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("locking the company: %w", err)
		}
		claimed, err := tx.ClaimDueSchedules(ctx, company, tx.Now(), batchSize)
		if err != nil {
			return fmt.Errorf("claiming scheduled messages: %w", err)
		}
		isWritten = true
		if len(claimed) == 0 {
			return nil
		}
		b := &batch{tx: tx, company: row, scope: store.Scope{Company: row.ID, Tenant: row.TenantID}, schedules: claimed}
		return b.write(ctx)
	})
	return isWritten && err == nil, err
}

// idsOf returns the ids that schedules name, each once; nil is no id.
func idsOf(list []store.Schedule, id func(store.Schedule) *int64) []int64 {
	ids := []int64{}
	for _, schedule := range list {
		if named := id(schedule); named != nil {
			ids = append(ids, *named)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
