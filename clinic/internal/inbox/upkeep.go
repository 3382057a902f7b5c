package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// How long entries are kept. An open entry has what a stranger wrote, encrypted; after half
// a year it is unlikely to be about a patient. A settled one only has its event's id, the
// patient, if it was linked, and the user who settled it.
const (
	OpenRetention    = 180 * 24 * time.Hour
	SettledRetention = 365 * 24 * time.Hour
)

// upkeepBatch is how many entries upkeep changes in one transaction.
const upkeepBatch = 500

// Upkeep deletes the entries of all clinics that were open or settled for too long. It hashes the
// e-mail addresses of entries from before there were such hashes, and masks the ids of appointments
// from before they were masked. It plans the linkings anew, should a run of theirs have been lost.
func (s *Service) Upkeep(ctx context.Context) error {
	return errors.Join(
		s.deleteInBatches(ctx, func(tx *store.Tx) (int64, error) {
			return tx.DeleteOldOpenEntries(ctx, tx.Now().Add(-OpenRetention), upkeepBatch)
		}),
		s.deleteInBatches(ctx, func(tx *store.Tx) (int64, error) {
			before := tx.Now().Add(-SettledRetention)
			return tx.DeleteOldSettledEntries(ctx, &before, upkeepBatch)
		}),
		s.addEmailHashes(ctx),
		s.maskStoredIDs(ctx),
		s.enqueueLinkings(ctx),
	)
}

// enqueueLinkings plans a run for each linking that has none waiting: the events of a number wait
// behind its linking.
func (s *Service) enqueueLinkings(ctx context.Context) error {
	params := dbgen.ListLinkingsParams{RowLimit: upkeepBatch}
	for {
		var page []dbgen.ListLinkingsRow
		err := s.store.InTx(ctx, "planning linkings", func(tx *store.Tx) (err error) {
			if page, err = tx.ListLinkings(ctx, params); err != nil {
				return err
			}
			for _, row := range page {
				if err := s.join(tx).enqueueLinking(ctx, linkingRun{row.ClinicID, row.Env, row.ID}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(page) < upkeepBatch {
			return err
		}
		last := page[len(page)-1]
		params.ClinicID, params.Env, params.ID = last.ClinicID, string(last.Env), last.ID
	}
}

// maskStoredIDs replaces the ids of appointments that are CPFs, from before they were masked when
// they are received.
func (s *Service) maskStoredIDs(ctx context.Context) error {
	params := dbgen.AppointmentsWithCPFIDsParams{RowLimit: upkeepBatch}
	for {
		var page []dbgen.AppointmentsWithCPFIDsRow
		err := s.store.InTx(ctx, "masking ids of appointments", func(tx *store.Tx) (err error) {
			if page, err = tx.AppointmentsWithCPFIDs(ctx, params); err != nil {
				return err
			}
			for _, row := range page {
				if strings.HasPrefix(row.ExternalID, store.ErasedPlaceholder) { // a keyed hash
					continue
				}
				masked := tx.MaskSubjectID(store.Scope{Clinic: row.ClinicID, Env: row.Env}, row.ExternalID)
				if masked == row.ExternalID {
					continue
				}
				if err := tx.MaskAppointmentID(ctx, dbgen.MaskAppointmentIDParams{ClinicID: row.ClinicID, Env: row.Env, ID: row.ID, MaskedID: masked}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(page) < upkeepBatch {
			return err
		}
		last := page[len(page)-1]
		params.ClinicID, params.Env, params.ID = last.ClinicID, string(last.Env), last.ID
	}
}

// deleteInBatches calls deleteBatch, each time in a transaction of its own, until it
// deletes less than a batch.
func (s *Service) deleteInBatches(ctx context.Context, deleteBatch func(tx *store.Tx) (int64, error)) error {
	for {
		var n int64
		err := s.store.InTx(ctx, "clearing the inbox", func(tx *store.Tx) (err error) {
			n, err = deleteBatch(tx)
			return err
		})
		if err != nil || n < upkeepBatch {
			return err
		}
	}
}

// addEmailHashes adds the missing hashes of e-mail addresses. An entry that cannot be
// decrypted is skipped; the error says how many there were.
func (s *Service) addEmailHashes(ctx context.Context) error {
	params := dbgen.EntriesWithoutEmailHashParams{RowLimit: upkeepBatch}
	unreadable := 0
	for {
		var page []store.InboxEntry
		unreadableInPage := 0
		err := s.store.InTx(ctx, "hashing addresses of the inbox", func(tx *store.Tx) (err error) {
			unreadableInPage = 0
			if page, err = tx.EntriesWithoutEmailHash(ctx, params); err != nil {
				return err
			}
			for _, entry := range page {
				event, err := openEntry(s.host.Sealer, entry)
				if err != nil {
					unreadableInPage++
					continue
				}
				if err := tx.SetInboxEmailHash(ctx, dbgen.SetInboxEmailHashParams{
					ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, EmailHmac: tx.InboxEmailHash(event.scope, event.data.Email),
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		unreadable += unreadableInPage
		if len(page) < upkeepBatch {
			break
		}
		last := page[len(page)-1]
		params.ClinicID, params.Env, params.ID = last.ClinicID, string(last.Env), last.ID
	}
	if unreadable > 0 {
		return fmt.Errorf("%d inbox entries cannot be opened", unreadable)
	}
	return nil
}
