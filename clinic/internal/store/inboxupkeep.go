package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/clinic/internal/store/dbgen"
)

// How long inbox entries are kept. Open ones hold what strangers wrote, sealed: who is
// no patient after half a year is none, and what is not needed is not kept. Settled ones
// tell only which event was linked to whom, or dismissed, and by whom.
const (
	OpenFor    = 180 * 24 * time.Hour
	SettledFor = 365 * 24 * time.Hour
)

// inboxBatch is how many entries upkeep changes in one transaction.
const inboxBatch = 500

// KeepInbox deletes the entries of all clinics that were open or settled for too long,
// and finds the addresses of those that are older than the hashes of addresses.
func (s *Store) KeepInbox(ctx context.Context) error {
	return errors.Join(
		s.dropEntries(ctx, func(tx *Tx) (int64, error) { return tx.DropUnsettled(ctx, tx.now.Add(-OpenFor), inboxBatch) }),
		s.dropEntries(ctx, func(tx *Tx) (int64, error) {
			before := tx.now.Add(-SettledFor)
			return tx.DropSettled(ctx, &before, inboxBatch)
		}),
		s.hashEntries(ctx),
	)
}

// dropEntries deletes one batch after the other, each in a transaction of its own.
func (s *Store) dropEntries(ctx context.Context, drop func(tx *Tx) (int64, error)) error {
	for {
		var n int64
		err := s.InTx(ctx, "clearing the inbox", func(tx *Tx) (err error) {
			n, err = drop(tx)
			return err
		})
		if err != nil || n < inboxBatch {
			return err
		}
	}
}

// hashEntries makes up for what entries lack that were there before addresses were hashed.
// One that cannot be read holds up no other; the error is about those.
func (s *Store) hashEntries(ctx context.Context) error {
	next := dbgen.UnhashedParams{RowLimit: inboxBatch}
	unreadable := 0
	for {
		var page []dbgen.InboxEntry
		bad := 0
		err := s.InTx(ctx, "hashing addresses of the inbox", func(tx *Tx) (err error) {
			bad = 0
			if page, err = tx.Unhashed(ctx, next); err != nil {
				return err
			}
			for _, entry := range page {
				n, err := tx.reread(entry)
				if err != nil {
					bad++
					continue
				}
				if err := tx.SetInboxEmail(ctx, dbgen.SetInboxEmailParams{
					ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, EmailHmac: tx.inboxEmail(n.at, n.data.Email),
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		unreadable += bad
		if len(page) < inboxBatch {
			break
		}
		last := page[len(page)-1]
		next.ClinicID, next.Env, next.ID = last.ClinicID, string(last.Env), last.ID
	}
	if unreadable > 0 {
		return fmt.Errorf("%d inbox entries cannot be opened", unreadable)
	}
	return nil
}
