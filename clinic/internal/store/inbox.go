package store

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Statuses of inbox entries.
const (
	Open      = "open"
	Linked    = "linked"
	Dismissed = "dismissed"
)

// settledEntry tells whether an inbox entry that is about to get a status has it already.
// [hub.ErrConflict] where it has another.
func settledEntry(entry dbgen.InboxEntry, status string) (settled bool, err error) {
	if entry.Status != Open && entry.Status != status {
		return false, hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked or dismissed already.")
	}
	return entry.Status == status, nil
}

func missingEntry(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return missing("Inbox entry")
	}
	return err
}

// LinkedEntry is what came of linking an entry.
type LinkedEntry struct {
	dbgen.InboxEntry
	Others       int  // that followed in the transaction
	StillLinking bool // more follow in the background
}

// Link says whom an inbox entry is about: the event gets its effect on the patient, its
// number counts as the patient's from now on, and what else waits from it, or about
// the same ticket or appointment, follows: the oldest [LinkedAtOnce] at once, the rest in
// the background. As soon as that has begun they are as good as linked.
func (t *Tx) Link(ctx context.Context, at Scope, id, patient uuid.UUID, by uuid.UUID) (done LinkedEntry, err error) {
	entry, err := t.InboxEntry(ctx, at.Clinic, at.Env, id)
	if err != nil {
		return done, missingEntry(err)
	}
	whole := dbgen.Linking{
		ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, PhoneKey: entry.PhoneKey, Source: entry.Source, ExternalID: entry.ExternalID, SettledBy: &by,
	}
	var rows []dbgen.WaitingRow
	if entry.Status == Open {
		if rows, err = t.lookAnew(ctx, whole); err != nil {
			return done, err
		}
		mine := dbgen.WaitingRow{Source: entry.Source, ExternalID: entry.ExternalID}
		if err := t.turns(ctx, at, entry.PhoneKey, append([]dbgen.WaitingRow{mine}, step(rows)...)); err != nil {
			return done, err
		}
		if err := t.keep(ctx, at, patient); err != nil {
			return done, err
		}
	}
	claimed, err := t.claimed(ctx, entry)
	if err != nil {
		return done, err
	}
	waiting, err := t.hold(ctx, at, step(rows), id)
	if err != nil {
		return done, err
	}
	mine := slices.IndexFunc(waiting, func(e dbgen.InboxEntry) bool { return e.ID == id })
	if mine < 0 {
		return done, missing("Inbox entry") // it was forgotten meanwhile
	}
	entry = waiting[mine]
	waiting = slices.Delete(waiting, mine, mine+1)
	settled, err := settledEntry(entry, Linked)
	if settled {
		claimed = entry.PatientID
	}
	if err == nil && claimed != nil && *claimed != patient {
		err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked to another patient.")
	}
	if err != nil {
		return done, err
	}
	if settled {
		done.InboxEntry = entry
		done.StillLinking, err = t.stillLinking(ctx, at, id)
		return done, err
	}
	if err := t.linkFirst(ctx, entry, whole); err != nil {
		return done, err
	}
	if done.Others, done.StillLinking, err = t.follow(ctx, whole, rows, waiting); err != nil {
		return done, err
	}
	done.InboxEntry, err = t.InboxEntry(ctx, at.Clinic, at.Env, id)
	return done, err
}

// linkFirst settles the entry that somebody linked, whatever is known of its appointment,
// and remembers the number.
func (t *Tx) linkFirst(ctx context.Context, entry dbgen.InboxEntry, l dbgen.Linking) error {
	if _, err := t.settle(ctx, entry, l.PatientID, l.SettledBy, true); err != nil || entry.PhoneKey == nil {
		return err
	}
	return t.LinkPhone(ctx, dbgen.LinkPhoneParams{ClinicID: l.ClinicID, Env: l.Env, PhoneKey: *entry.PhoneKey, PatientID: l.PatientID, CreatedAt: t.now})
}

// Dismiss says that an inbox entry is about nobody. What it held is dropped.
func (t *Tx) Dismiss(ctx context.Context, at Scope, id, by uuid.UUID) (dbgen.InboxEntry, error) {
	entry, err := t.InboxEntry(ctx, at.Clinic, at.Env, id)
	if err != nil {
		return entry, missingEntry(err)
	}
	claimed, err := t.claimed(ctx, entry)
	if err != nil {
		return entry, err
	}
	if entry, err = t.LockInboxEntry(ctx, at.Clinic, at.Env, id); err != nil {
		return entry, missingEntry(err)
	}
	settled, err := settledEntry(entry, Dismissed)
	if err == nil && !settled && claimed != nil {
		err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry is being linked to a patient.")
	}
	if err != nil || settled {
		return entry, err
	}
	return t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{ClinicID: at.Clinic, Env: at.Env, ID: id, Status: Dismissed, SettledBy: &by, SettledAt: &t.now})
}

// ListInbox gives a page of the entries with a status, the newest first, and how many
// there are, counted up to [CountedAtMost].
func (s *Store) ListInbox(ctx context.Context, at Scope, status string, limit, offset int) (rows []dbgen.InboxEntry, total int, err error) {
	total, err = s.CountInbox(ctx, dbgen.CountInboxParams{ClinicID: at.Clinic, Env: at.Env, Status: status, Most: CountedAtMost})
	if err != nil || offset >= total && total < CountedAtMost {
		return nil, total, err
	}
	rows, err = s.Queries.ListInbox(ctx, dbgen.ListInboxParams{ClinicID: at.Clinic, Env: at.Env, Status: status, RowLimit: limit, RowOffset: offset})
	return rows, total, err
}
