package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

// Change is a change of a company's data, with its number.
type Change = dbgen.ChangesAfterRow

// maxNumbered is how many changes are numbered at once.
const maxNumbered = 1000

// NumberNewChanges numbers the committed changes of a company, unless another process does
// so now, and returns the newest number.
func (s *Store) NumberNewChanges(ctx context.Context, company int64) (newest int64, err error) {
	err = s.InTx(ctx, "numbering changes", func(tx *Tx) error {
		isMine, err := tx.LockChanges(ctx, company)
		if err != nil {
			return err
		}
		for isMine {
			numbered, err := tx.NumberChanges(ctx, company, maxNumbered)
			if err != nil {
				return fmt.Errorf("numbering: %w", err)
			}
			isMine = numbered == maxNumbered
		}
		newest, err = tx.LastChange(ctx, company)
		return err
	})
	return newest, err
}
