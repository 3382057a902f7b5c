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

// Link says whom an inbox entry is about: the event gets its effect on the patient, its
// number counts as the patient's from now on, and what else waits from it, or about
// the same ticket or appointment, follows. others is how many those were.
func (t *Tx) Link(ctx context.Context, at Scope, id, patient uuid.UUID, by uuid.UUID) (entry dbgen.InboxEntry, others int, err error) {
	if entry, err = t.InboxEntry(ctx, at.Clinic, at.Env, id); err != nil {
		return entry, 0, missingEntry(err)
	}
	if entry.Status == Open {
		if err := t.keep(ctx, at, patient); err != nil {
			return entry, 0, err
		}
	}
	waiting, err := t.LockWaiting(ctx, dbgen.LockWaitingParams{
		ClinicID: at.Clinic, Env: at.Env, ID: &id, Source: entry.Source, ExternalID: entry.ExternalID, PhoneKey: entry.PhoneKey,
	})
	if err != nil {
		return entry, 0, err
	}
	mine := slices.IndexFunc(waiting, func(e dbgen.InboxEntry) bool { return e.ID == id })
	if mine < 0 {
		return entry, 0, missing("Inbox entry") // it was forgotten meanwhile
	}
	key := entry.PhoneKey // gone where somebody was faster
	entry = waiting[mine]
	waiting = slices.Delete(waiting, mine, mine+1)
	settled, err := settledEntry(entry, Linked)
	if settled && *entry.PatientID != patient {
		err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked to another patient.")
	}
	if err != nil || settled {
		return entry, 0, err
	}
	if _, err := t.settle(ctx, entry, patient, &by, true); err != nil {
		return entry, 0, err
	}
	if key != nil {
		if err := t.LinkPhone(ctx, dbgen.LinkPhoneParams{ClinicID: at.Clinic, Env: at.Env, PhoneKey: *key, PatientID: patient, CreatedAt: t.now}); err != nil {
			return entry, 0, err
		}
	}
	if others, err = t.settleAll(ctx, waiting, patient, &by); err != nil {
		return entry, 0, err
	}
	entry, err = t.InboxEntry(ctx, at.Clinic, at.Env, id)
	return entry, others, err
}

// Dismiss says that an inbox entry is about nobody. What it held is dropped.
func (t *Tx) Dismiss(ctx context.Context, at Scope, id, by uuid.UUID) (dbgen.InboxEntry, error) {
	entry, err := t.LockInboxEntry(ctx, at.Clinic, at.Env, id)
	if err != nil {
		return entry, missingEntry(err)
	}
	if settled, err := settledEntry(entry, Dismissed); err != nil || settled {
		return entry, err
	}
	return t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{ClinicID: at.Clinic, Env: at.Env, ID: id, Status: Dismissed, SettledBy: &by, SettledAt: &t.now})
}
