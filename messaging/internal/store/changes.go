package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

// Change is a change of a company's data, with its number.
type Change = dbgen.ChangesAfterRow

// maxNumbered is how many changes of a company are numbered at once.
const maxNumbered = 1000

// NumberNewChanges numbers the committed changes of a company, unless another process does
// so now, and returns the newest number.
func (s *Store) NumberNewChanges(ctx context.Context, company int64) (newest int64, err error) {
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
