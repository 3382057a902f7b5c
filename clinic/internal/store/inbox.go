package store

import (
	"context"
	"errors"

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

// lockEntry loads an inbox entry that is about to get a status: settled tells that it
// has it already. [hub.ErrNotFound]; [hub.ErrConflict] where it has another.
func (t *Tx) lockEntry(ctx context.Context, at Scope, id uuid.UUID, status string) (entry dbgen.InboxEntry, settled bool, err error) {
	entry, err = t.LockInboxEntry(ctx, at.Clinic, at.Env, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return entry, false, missing("Inbox entry")
	case err != nil:
		return entry, false, err
	case entry.Status != Open && entry.Status != status:
		return entry, false, hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked or dismissed already.")
	}
	return entry, entry.Status == status, nil
}

// Link says whom an inbox entry is about: the event gets its effect on the patient, its
// number counts as the patient's from now on, and what else waits from it, or about
// the same ticket or appointment, follows. others is how many those were.
func (t *Tx) Link(ctx context.Context, at Scope, id, patient uuid.UUID, by uuid.UUID) (entry dbgen.InboxEntry, others int, err error) {
	entry, settled, err := t.lockEntry(ctx, at, id, Linked)
	if err != nil {
		return entry, 0, err
	}
	if settled {
		if *entry.PatientID != patient {
			err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked to another patient.")
		}
		return entry, 0, err
	}
	if err := t.keep(ctx, at, patient); err != nil {
		return entry, 0, err
	}
	if err := t.settle(ctx, entry, patient, &by); err != nil {
		return entry, 0, err
	}
	if entry.PhoneKey != nil {
		if err := t.LinkPhone(ctx, dbgen.LinkPhoneParams{ClinicID: at.Clinic, Env: at.Env, PhoneKey: *entry.PhoneKey, PatientID: patient, CreatedAt: t.now}); err != nil {
			return entry, 0, err
		}
	}
	others, err = t.settleWaiting(ctx, dbgen.LockWaitingParams{
		ClinicID: at.Clinic, Env: at.Env, Source: entry.Source, ExternalID: entry.ExternalID, PhoneKey: entry.PhoneKey,
	}, patient, &by)
	if err != nil {
		return entry, 0, err
	}
	entry, err = t.LockInboxEntry(ctx, at.Clinic, at.Env, id)
	return entry, others, err
}

// Dismiss says that an inbox entry is about nobody. What it held is dropped.
func (t *Tx) Dismiss(ctx context.Context, at Scope, id, by uuid.UUID) (dbgen.InboxEntry, error) {
	entry, settled, err := t.lockEntry(ctx, at, id, Dismissed)
	if err != nil || settled {
		return entry, err
	}
	return t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{ClinicID: at.Clinic, Env: at.Env, ID: id, Status: Dismissed, SettledBy: &by, SettledAt: &t.now})
}
