package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/messaging/internal/store/dbgen"
)

// Change is a change of a company's data, with its number.
type Change = dbgen.ChangesAfterRow

const (
	maxNumbered = 1000 // changes of a company that are numbered at once
	maxDeleted  = 1000 // changes that are deleted at once
)

// NumberNewChanges numbers the committed changes of a company, unless another process does
// so now, and returns the newest number.
func (s *Store) NumberNewChanges(ctx context.Context, company int64) (newest int64, err error) {
	if isLost, err := s.HasLostChanges(ctx); err != nil {
		return 0, fmt.Errorf("looking for lost changes: %w", err)
	} else if isLost {
		if err := s.SkipLost(ctx); err != nil {
			return 0, err
		}
	}
	for isBehind := true; isBehind; {
		if isBehind, err = s.NumberSomeChanges(ctx, []int64{company}); err != nil {
			return 0, err
		}
	}
	return s.LastChange(ctx, company)
}

// NumberSomeChanges numbers committed changes of companies, a thousand of each at most, unless
// another process does so now. isBehind reports that there are more.
func (s *Store) NumberSomeChanges(ctx context.Context, companies []int64) (isBehind bool, err error) {
	err = s.InTx(ctx, "numbering changes", func(tx *Tx) error {
		isBehind = false
		locked, err := tx.LockChanges(ctx, companies)
		if err != nil || len(locked) == 0 {
			return err
		}
		behind, err := tx.NumberChanges(ctx, maxNumbered, locked)
		isBehind = len(behind) > 0
		if err != nil {
			return fmt.Errorf("numbering: %w", err)
		}
		return nil
	})
	return isBehind, err
}

// SkipLost leaves out a number of each company, because a crash of the database has lost changes:
// streams that go on where they were find the gap. It does so once for a crash.
func (s *Store) SkipLost(ctx context.Context) error {
	return s.InTx(ctx, "skipping lost changes", func(tx *Tx) error { return tx.SkipLostChanges(ctx) })
}

// DeleteChangesBefore deletes old changes. Those without a number, which happened while no stream
// was open, leave out as many numbers: streams that go on where they were find the gap.
func (s *Store) DeleteChangesBefore(ctx context.Context, before time.Time) error {
	for isBehind := true; isBehind; {
		err := s.InTx(ctx, "deleting old changes", func(tx *Tx) error {
			companies, err := tx.CompaniesWithOldChanges(ctx, before, maxDeleted)
			if isBehind = len(companies) > 0; err != nil || !isBehind {
				return err
			}
			for _, company := range companies {
				if err := tx.AwaitNumbering(ctx, company); err != nil {
					return fmt.Errorf("waiting for the numbering of changes: %w", err)
				}
			}
			deleted, err := tx.DeleteOldChanges(ctx, before, companies, maxDeleted)
			isBehind = deleted > 0
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
