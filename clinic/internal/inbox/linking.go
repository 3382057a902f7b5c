package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// MaxPerTransaction is how many entries one transaction settles beside the one that a user
// links or an event brings. That many take a quarter of a second, which bounds how long
// their locks are held. The job settles the rest.
const MaxPerTransaction = 200

const (
	// LinkingJob is the name of the job that continues linkings.
	LinkingJob = "linking"
	// LinkingTimeout is for one run of the job, with a slow database.
	LinkingTimeout = 30 * time.Second

	linkingRunTime = 3 * time.Second // of one run, so that clinics take turns
)

// linkingRun is the payload of the job: the key of a row in clinic.linkings.
type linkingRun struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

// waitingEntries returns the oldest entries that a linking has to settle, and one more
// than a transaction does, which shows whether that is all.
func (t *transaction) waitingEntries(ctx context.Context, linking dbgen.Linking) ([]dbgen.WaitingEntriesRow, error) {
	return t.WaitingEntries(ctx, dbgen.WaitingEntriesParams{
		ClinicID: linking.ClinicID, Env: linking.Env, ID: linking.ID, PhoneKey: linking.PhoneKey, Source: linking.Source, ExternalID: linking.ExternalID,
		AfterAt: linking.AfterAt, AfterID: linking.AfterID, RowLimit: MaxPerTransaction + 1,
	})
}

// unclaimedEntries is [transaction.waitingEntries] for a linking that begins: without the
// entries that wait for their turn behind another linking, which will settle them.
func (t *transaction) unclaimedEntries(ctx context.Context, linking dbgen.Linking) ([]dbgen.WaitingEntriesRow, error) {
	rows, err := t.waitingEntries(ctx, linking)
	return slices.DeleteFunc(rows, func(row dbgen.WaitingEntriesRow) bool { return row.MeantFor != nil }), err
}

// firstStep returns the rows that one transaction settles.
func firstStep(rows []dbgen.WaitingEntriesRow) []dbgen.WaitingEntriesRow {
	return rows[:min(len(rows), MaxPerTransaction)]
}

// lockEntries locks the entries of some rows that are still open, and the entry with an id,
// which may be [uuid.Nil].
func (t *transaction) lockEntries(ctx context.Context, scope store.Scope, rows []dbgen.WaitingEntriesRow, id uuid.UUID) ([]dbgen.InboxEntry, error) {
	ids := make([]uuid.UUID, 0, len(rows)+1)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return t.LockInboxEntries(ctx, dbgen.LockInboxEntriesParams{ClinicID: scope.Clinic, Env: scope.Env, Ids: append(ids, id), ID: id})
}

// beginLinking settles the locked entries of a linking that begins, and leaves the rest to
// the job. It returns how many it settled and whether there are more.
func (t *transaction) beginLinking(ctx context.Context, linking dbgen.Linking, rows []dbgen.WaitingEntriesRow, entries []dbgen.InboxEntry) (n int, more bool, err error) {
	if n, err = t.settleAll(ctx, entries, linking); err != nil || len(rows) <= MaxPerTransaction {
		return n, false, err
	}
	last := rows[MaxPerTransaction-1]
	if err := t.InsertLinking(ctx, dbgen.InsertLinkingParams{
		ClinicID: linking.ClinicID, Env: linking.Env, ID: linking.ID, PatientID: linking.PatientID, PhoneKey: linking.PhoneKey, Source: linking.Source, ExternalID: linking.ExternalID,
		SettledBy: linking.SettledBy, AfterAt: last.OccurredAt, AfterID: last.ID, CreatedAt: t.Now(),
	}); err != nil {
		return n, false, err
	}
	return n, true, t.enqueueLinking(ctx, linkingRun{linking.ClinicID, linking.Env, linking.ID})
}

func (t *transaction) enqueueLinking(ctx context.Context, run linkingRun) error {
	payload, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("planning a linking: %w", err)
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: LinkingJob, Key: run.ID.String(), Payload: payload})
}

// settleAll applies locked entries, in the order of their events, to the patient of a
// linking or to the patient they are meant for. The transaction has locked the patients.
// settleAll returns how many it settled. An entry stays open if its appointment is not
// known or if it fails; that does not keep the others open.
func (t *transaction) settleAll(ctx context.Context, entries []dbgen.InboxEntry, linking dbgen.Linking) (n int, err error) {
	slices.SortFunc(entries, func(a, b dbgen.InboxEntry) int {
		return compareEntries(a.OccurredAt, b.OccurredAt, a.ID, b.ID)
	})
	err = t.nested(ctx, func(nested *transaction) (err error) {
		n, err = nested.settleEach(ctx, entries, linking)
		return err
	})
	if err == nil || store.IsSerializationFailure(err) || ctx.Err() != nil {
		return n, err
	}
	n = 0
	for i, entry := range entries {
		settled := 0
		err := t.nested(ctx, func(nested *transaction) (err error) {
			settled, err = nested.settleEach(ctx, entries[i:i+1], linking)
			return err
		})
		switch {
		case err == nil:
			n += settled
		case store.IsSerializationFailure(err) || ctx.Err() != nil:
			return n, err
		default:
			t.host.Log.ErrorContext(ctx, "an inbox entry cannot be linked; it stays open", "entry_id", entry.ID, "error", err)
			if err := t.ReleaseInboxEntry(ctx, linking.ClinicID, linking.Env, entry.ID); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// nested runs work under a savepoint.
func (t *transaction) nested(ctx context.Context, work func(nested *transaction) error) error {
	return t.Savepoint(ctx, func(tx *store.Tx) error { return work(&transaction{tx, t.host}) })
}

// compareEntries orders entries by the times of their events, and then by their ids.
func compareEntries(timeA, timeB time.Time, idA, idB uuid.UUID) int {
	if order := timeA.Compare(timeB); order != 0 {
		return order
	}
	return bytes.Compare(idA[:], idB[:])
}

func (t *transaction) settleEach(ctx context.Context, entries []dbgen.InboxEntry, linking dbgen.Linking) (n int, err error) {
	stale := false // settling an entry may have settled others of these
	for _, entry := range entries {
		if stale {
			if entry, err = t.InboxEntry(ctx, entry.ClinicID, entry.Env, entry.ID); err != nil {
				return n, err
			}
			if entry.Status != Open {
				continue
			}
		}
		var settled bool
		if entry.MeantFor != nil {
			settled, err = t.settleInTurn(ctx, entry)
			stale = true
		} else {
			settled, err = t.settle(ctx, entry, linking.PatientID, linking.SettledBy, false)
		}
		if err != nil {
			return n, err
		}
		if settled {
			n++
		}
	}
	return n, nil
}

// settleInTurn does what [Service.Receive] would have done with an entry's event if no
// older entry had waited before it. If its appointment is not known, the entry waits for a
// user.
func (t *transaction) settleInTurn(ctx context.Context, entry dbgen.InboxEntry) (settled bool, err error) {
	event, err := t.openEntry(entry)
	if err != nil {
		return false, err
	}
	if settled, err = t.applyWithWaiting(ctx, &event, *entry.MeantFor, entry.ID); err != nil {
		return false, err
	}
	if !settled {
		return false, t.ReleaseInboxEntry(ctx, entry.ClinicID, entry.Env, entry.ID)
	}
	now := t.Now()
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: entry.MeantFor, SettledAt: &now,
	})
	return err == nil, err
}

// ContinueLinking is a run of [LinkingJob]: it settles more entries of a linking for some
// seconds, and leaves the rest to another run.
func (s *Service) ContinueLinking(ctx context.Context, payload []byte) error {
	var run linkingRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("decoding the linking to continue: %w", err)
	}
	for deadline := time.Now().Add(linkingRunTime); ; {
		more, err := s.advanceLinking(ctx, run)
		if err != nil || !more {
			return err
		}
		if !time.Now().Before(deadline) {
			return s.store.InTx(ctx, "planning a linking", func(tx *store.Tx) error { return s.join(tx).enqueueLinking(ctx, run) })
		}
	}
}

// advanceLinking settles the next entries of a linking and stores its progress, in one
// transaction. more reports whether it has to be called again.
func (s *Service) advanceLinking(ctx context.Context, run linkingRun) (more bool, err error) {
	err = s.store.InTx(ctx, "linking waiting entries", func(tx *store.Tx) error {
		linking, err := tx.Linking(ctx, run.Clinic, run.Env, run.ID)
		if err == nil {
			more, err = s.join(tx).advanceLinking(ctx, linking)
		}
		if errors.Is(err, pgx.ErrNoRows) { // it has ended
			more, err = false, nil
		}
		return err
	})
	return more, err
}

func (t *transaction) advanceLinking(ctx context.Context, linking dbgen.Linking) (more bool, err error) {
	scope := store.Scope{Clinic: linking.ClinicID, Env: linking.Env}
	rows, err := t.waitingEntries(ctx, linking)
	if err != nil {
		return false, err
	}
	rows = firstStep(rows)
	if err := t.lockSubjects(ctx, scope, nil, rows); err != nil {
		return false, err
	}
	if err := t.lockPatientsOf(ctx, linking, rows); err != nil {
		return false, err
	}
	locked, err := t.LockLinking(ctx, linking.ClinicID, linking.Env, linking.ID)
	if err != nil {
		return false, err
	}
	if locked.AfterID != linking.AfterID {
		return true, nil // another run has advanced it
	}
	if len(rows) == 0 {
		return t.endLinking(ctx, linking)
	}
	entries, err := t.lockEntries(ctx, scope, rows, uuid.Nil)
	if err != nil {
		return false, err
	}
	if _, err := t.settleAll(ctx, entries, linking); err != nil {
		return false, err
	}
	last := rows[len(rows)-1]
	if compareEntries(last.OccurredAt, linking.AfterAt, last.ID, linking.AfterID) <= 0 { // late entries from before the cursor
		return true, nil
	}
	return true, t.AdvanceLinking(ctx, dbgen.AdvanceLinkingParams{ClinicID: linking.ClinicID, Env: linking.Env, ID: linking.ID, AfterAt: last.OccurredAt, AfterID: last.ID})
}

// lockPatientsOf locks the patient of a linking, and those for whom rows are meant, by id.
func (t *transaction) lockPatientsOf(ctx context.Context, linking dbgen.Linking, rows []dbgen.WaitingEntriesRow) error {
	patients := []uuid.UUID{linking.PatientID}
	for _, row := range rows {
		if row.MeantFor != nil {
			patients = append(patients, *row.MeantFor)
		}
	}
	slices.SortFunc(patients, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, patient := range slices.Compact(patients) {
		if _, err := t.LockPatientShared(ctx, linking.ClinicID, linking.Env, patient); err != nil {
			return err
		}
	}
	return nil
}

// endLinking deletes a locked linking: from then on no event waits behind it. more reports
// whether there are entries that came to wait before.
func (t *transaction) endLinking(ctx context.Context, linking dbgen.Linking) (more bool, err error) {
	rows, err := t.waitingEntries(ctx, linking)
	if err != nil || len(rows) > 0 {
		return true, err
	}
	return false, t.DeleteLinking(ctx, linking.ClinicID, linking.Env, linking.ID)
}

// isBehindLinking reports whether older events with the same number, ticket or appointment
// are being linked to a patient. They have to be applied first, because the meaning of an
// appointment's event depends on the ones before. The linking goes on at least until the
// transaction ends.
func (t *transaction) isBehindLinking(ctx context.Context, event *inboundEvent) (bool, error) {
	_, err := t.FindLinkingShared(ctx, dbgen.FindLinkingSharedParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, PhoneKey: event.phoneKey(), Source: event.source, ExternalID: event.subject(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// claimedFor returns the patient to whom an open entry is being linked, nil if there is
// none.
func (t *transaction) claimedFor(ctx context.Context, entry dbgen.InboxEntry) (*uuid.UUID, error) {
	if entry.Status != Open || entry.MeantFor != nil {
		return entry.MeantFor, nil
	}
	linking, err := t.FindLinking(ctx, dbgen.FindLinkingParams{
		ClinicID: entry.ClinicID, Env: entry.Env, PhoneKey: entry.PhoneKey, Source: entry.Source, ExternalID: entry.ExternalID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &linking.PatientID, err
}

// isStillLinking reports whether the job still links entries that follow an entry.
func (t *transaction) isStillLinking(ctx context.Context, scope store.Scope, entry uuid.UUID) (bool, error) {
	_, err := t.Linking(ctx, scope.Clinic, scope.Env, entry)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
