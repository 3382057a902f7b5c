package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/tx"
)

// firstStep returns the rows that one transaction settles.
func firstStep(rows []dbgen.WaitingEntriesRow) []dbgen.WaitingEntriesRow {
	return rows[:min(len(rows), MaxLinkedPerTransaction)]
}

// MaxLinkedPerTransaction is how many entries one transaction settles beside the one that a user
// links or an event brings. That many take a quarter of a second, which bounds how long
// their locks are held. The job settles the rest.
const MaxLinkedPerTransaction = 200

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
func (t *transaction) waitingEntries(ctx context.Context, linking store.Linking) ([]dbgen.WaitingEntriesRow, error) {
	return t.WaitingEntries(ctx, dbgen.WaitingEntriesParams{
		ClinicID: linking.ClinicID, Env: linking.Env, ID: linking.ID, PhoneKey: linking.PhoneKey, Source: linking.Source, ExternalID: linking.ExternalID,
		AfterAt: linking.AfterAt, AfterID: linking.AfterID, RowLimit: MaxLinkedPerTransaction + 1,
	})
}

// unclaimedEntries is [transaction.waitingEntries] for a linking that begins: without the
// entries that wait for their turn behind another linking, which will settle them.
func (t *transaction) unclaimedEntries(ctx context.Context, linking store.Linking) ([]dbgen.WaitingEntriesRow, error) {
	rows, err := t.waitingEntries(ctx, linking)
	return slices.DeleteFunc(rows, func(row dbgen.WaitingEntriesRow) bool { return row.MeantFor != nil }), err
}

// applyWithWaiting applies an event to a patient whom the transaction has locked, and then
// the open entries about the same ticket or appointment. entry is the event's own inbox
// entry, or [uuid.Nil]. applied is false if the event's appointment is not known.
func (t *transaction) applyWithWaiting(ctx context.Context, event *inboundEvent, patient, entry uuid.UUID) (applied bool, err error) {
	linking := store.Linking{ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: entry, PatientID: patient, Source: event.source, ExternalID: event.subject()}
	var rows []dbgen.WaitingEntriesRow
	var waiting []store.InboxEntry
	if linking.ExternalID != nil {
		if rows, err = t.unclaimedEntries(ctx, linking); err != nil {
			return false, err
		}
	}
	if len(rows) > 0 { // entries are locked before appointments
		if waiting, err = t.lockEntries(ctx, event.scope, firstStep(rows), uuid.Nil); err != nil {
			return false, err
		}
	}
	if applied, err = t.apply(ctx, event, patient, false); err != nil || !applied || len(rows) == 0 || event.isOutdated {
		return applied, err
	}
	if linking.ID == uuid.Nil {
		linking.ID = store.NewID()
	}
	_, _, err = t.beginLinking(ctx, linking, rows, waiting)
	return true, err
}

// beginLinking settles the locked entries of a linking that begins, and leaves the rest to
// the job. It returns how many it settled and whether there are more.
func (t *transaction) beginLinking(ctx context.Context, linking store.Linking, rows []dbgen.WaitingEntriesRow, entries []store.InboxEntry) (n int, hasMore bool, err error) {
	if n, hasMore, err = t.settleAll(ctx, entries, linking); err != nil || len(rows) <= MaxLinkedPerTransaction {
		return n, hasMore, err
	}
	last := rows[MaxLinkedPerTransaction-1]
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
// linking or to the patient they are meant for, and then what waits about the appointments and
// tickets of those that followed by their number. The transaction has locked the patients.
// settleAll returns how many it settled, and whether the job settles more of what follows. An
// entry stays open if its appointment is not known or if it fails; that does not keep the others
// open.
func (t *transaction) settleAll(ctx context.Context, entries []store.InboxEntry, linking store.Linking) (n int, hasMore bool, err error) {
	n, err = t.settleLocked(ctx, entries, linking, linking.SettledBy)
	if err != nil || n == 0 || linking.PhoneKey == nil {
		return n, false, err
	}
	also, hasMore, err := t.settleSameSubjects(ctx, entries, linking)
	return n + also, hasMore, err
}

// settleSameSubjects settles the entries about the appointments and tickets of some entries that
// a linking has just settled by their number: a cancellation often has none. As with an event
// that arrives, another person's booking does not follow. With those entries it settles at most
// [MaxLinkedPerTransaction], the oldest, and leaves the rest to the job.
func (t *transaction) settleSameSubjects(ctx context.Context, entries []store.InboxEntry, linking store.Linking) (n int, hasMore bool, err error) {
	ids := make([]uuid.UUID, len(entries))
	for i, entry := range entries {
		ids[i] = entry.ID
	}
	limit := max(MaxLinkedPerTransaction-len(entries), 0)
	waiting, err := t.LockEntriesAboutSame(ctx, dbgen.LockEntriesAboutSameParams{
		ClinicID: linking.ClinicID, Env: linking.Env, PhoneKey: *linking.PhoneKey, PatientID: linking.PatientID, Ids: ids, RowLimit: limit + 1,
	})
	if err != nil {
		return 0, false, err
	}
	if len(waiting) > limit {
		hasMore = true
		slices.SortFunc(waiting, func(a, b store.InboxEntry) int {
			return compareEntries(a.OccurredAt, b.OccurredAt, a.ID, b.ID)
		})
		waiting = waiting[:limit]
		if err := t.leaveSameSubjects(ctx, linking, ids, waiting); err != nil {
			return 0, false, err
		}
	}
	for len(waiting) > 0 {
		subject := store.Linking{ClinicID: linking.ClinicID, Env: linking.Env, PatientID: linking.PatientID, Source: waiting[0].Source, ExternalID: waiting[0].ExternalID}
		same, others := divideBySubject(waiting, subject)
		settled, err := t.settleLocked(ctx, same, subject, linking.SettledBy)
		if err != nil {
			return n, hasMore, err
		}
		n, waiting = n+settled, others
	}
	return n, hasMore, nil
}

// leaveSameSubjects leaves to the job what follows after some entries, the oldest, about the
// appointments and tickets of the entries with ids: in a linking for each. No user began it, so
// that another person's booking does not follow there either.
func (t *transaction) leaveSameSubjects(ctx context.Context, linking store.Linking, ids []uuid.UUID, oldest []store.InboxEntry) error {
	var last store.InboxEntry
	if len(oldest) > 0 {
		last = oldest[len(oldest)-1]
	}
	subjects, err := t.SubjectsStillWaiting(ctx, dbgen.SubjectsStillWaitingParams{
		ClinicID: linking.ClinicID, Env: linking.Env, PhoneKey: *linking.PhoneKey, PatientID: linking.PatientID, Ids: ids, AfterAt: last.OccurredAt, AfterID: last.ID,
	})
	if err != nil {
		return err
	}
	for _, subject := range subjects {
		id := store.NewID()
		if err := t.InsertLinking(ctx, dbgen.InsertLinkingParams{
			ClinicID: linking.ClinicID, Env: linking.Env, ID: id, PatientID: linking.PatientID, Source: subject.Source, ExternalID: &subject.ExternalID,
			AfterAt: last.OccurredAt, AfterID: last.ID, CreatedAt: t.Now(),
		}); err != nil {
			return err
		}
		if err := t.enqueueLinking(ctx, linkingRun{linking.ClinicID, linking.Env, id}); err != nil {
			return err
		}
	}
	return nil
}

// divideBySubject returns the entries about the ticket or appointment of a linking, and the others.
func divideBySubject(entries []store.InboxEntry, linking store.Linking) (same, others []store.InboxEntry) {
	for _, entry := range entries {
		if hasSameSubject(entry, linking) {
			same = append(same, entry)
		} else {
			others = append(others, entry)
		}
	}
	return same, others
}

// settleLocked is [transaction.settleAll] without what follows. user is who linked them, nil if
// an event did.
func (t *transaction) settleLocked(ctx context.Context, entries []store.InboxEntry, linking store.Linking, user *uuid.UUID) (n int, err error) {
	slices.SortFunc(entries, func(a, b store.InboxEntry) int {
		return compareEntries(a.OccurredAt, b.OccurredAt, a.ID, b.ID)
	})
	err = t.nested(ctx, func(nested *transaction) (err error) {
		n, err = nested.settleEach(ctx, entries, linking, user)
		return err
	})
	if err == nil || endsTransaction(ctx, err) {
		return n, err
	}
	n = 0
	for i, entry := range entries {
		settled := 0
		err := t.nested(ctx, func(nested *transaction) (err error) {
			settled, err = nested.settleEach(ctx, entries[i:i+1], linking, user)
			return err
		})
		switch {
		case err == nil:
			n += settled
		case endsTransaction(ctx, err):
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

// endsTransaction reports whether an error is none of the entry's, but of the whole transaction: it
// conflicts with another, waited too long for a lock, or ran out of time.
func endsTransaction(ctx context.Context, err error) bool {
	return tx.IsRetryable(err) || dberr.IsLockTimeout(err) || ctx.Err() != nil
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

func (t *transaction) settleEach(ctx context.Context, entries []store.InboxEntry, linking store.Linking, user *uuid.UUID) (n int, err error) {
	isStale := false // settling an entry may have settled others of these
	followers := followerCheck{transaction: t, linking: linking, patients: make(map[string][]store.Patient)}
	for _, entry := range entries {
		if isStale {
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
			isStale = true
		} else if settled, err = followers.includes(ctx, entry); settled {
			settled, err = t.settle(ctx, entry, linking.PatientID, user, false)
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
func (t *transaction) settleInTurn(ctx context.Context, entry store.InboxEntry) (settled bool, err error) {
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

// settle applies an open entry to a patient and marks it as linked. isChosenEntry is
// that of [transaction.apply]; user is nil unless a user linked it, or an entry of the same source.
func (t *transaction) settle(ctx context.Context, entry store.InboxEntry, patient uuid.UUID, user *uuid.UUID, isChosenEntry bool) (settled bool, err error) {
	event, err := t.openEntry(entry)
	if err != nil {
		return false, err
	}
	if err := t.resolveErasedAppointment(ctx, &event); err != nil {
		return false, err
	}
	if applied, err := t.apply(ctx, &event, patient, isChosenEntry); err != nil || !applied {
		return false, err
	}
	now := t.Now()
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: &patient, SettledBy: user, SettledAt: &now,
	})
	return err == nil, err
}
