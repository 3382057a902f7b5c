package inbox

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// lockForEvent serializes the events of one ticket or appointment: the second must see
// what the first changed, or left in the inbox. Events of one phone number run at the same
// time, but not while a user links an entry of that number.
func (t *transaction) lockForEvent(ctx context.Context, event *inboundEvent) error {
	var phone, subject string
	if key := event.phoneKey(); key != nil {
		phone = phoneLock(event.scope, *key)
	}
	if event.subject() != nil {
		subject = subjectLock(event.scope, event.source, *event.subject())
	}
	if phone == "" && subject == "" {
		return nil
	}
	_, err := t.Raw.Exec(ctx, `select case when $1 <> '' then pg_advisory_xact_lock_shared(hashtextextended($1, 0)) end,
		case when $2 <> '' then pg_advisory_xact_lock(hashtextextended($2, 0)) end`, phone, subject)
	return err
}

// phoneLock returns the name of a phone number's advisory lock.
func phoneLock(scope store.Scope, key string) string {
	return scope.Clinic.String() + "/" + string(scope.Env) + "//" + key
}

// subjectLock returns the name of a ticket's or appointment's advisory lock.
func subjectLock(scope store.Scope, source, subject string) string {
	return scope.Clinic.String() + "/" + string(scope.Env) + "/" + source + "/" + subject
}

// lockSubjects takes the advisory locks of a phone number, if it is not nil, and of the
// tickets and appointments of some entries. The number comes first, then the others in
// alphabetical order, to avoid deadlocks.
func (t *transaction) lockSubjects(ctx context.Context, scope store.Scope, phoneKey *string, rows []dbgen.WaitingEntriesRow) error {
	if phoneKey != nil {
		if err := t.advisoryLock(ctx, phoneLock(scope, *phoneKey)); err != nil {
			return err
		}
	}
	var names []string
	for _, row := range rows {
		if row.ExternalID != nil {
			names = append(names, subjectLock(scope, row.Source, *row.ExternalID))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := t.advisoryLock(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) advisoryLock(ctx context.Context, name string) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", name)
	return err
}

// lockEntries locks the entries of some rows that are still open, and the entry with an id,
// which may be [uuid.Nil].
func (t *transaction) lockEntries(ctx context.Context, scope store.Scope, rows []dbgen.WaitingEntriesRow, id uuid.UUID) ([]store.InboxEntry, error) {
	ids := make([]uuid.UUID, 0, len(rows)+1)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return t.LockInboxEntries(ctx, dbgen.LockInboxEntriesParams{ClinicID: scope.Clinic, Env: scope.Env, Ids: append(ids, id), ID: id})
}
