package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// checkSettled reports whether an entry has the status already that it is about to get. It
// is a [hub.ErrConflict] if the entry was settled otherwise.
func checkSettled(entry store.InboxEntry, status string) (settled bool, err error) {
	if entry.Status != Open && entry.Status != status {
		return false, hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked or dismissed already.")
	}
	return entry.Status == status, nil
}

func mapNoEntry(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.NotFound("Inbox entry")
	}
	return err
}

// LinkResult is the outcome of linking an entry.
type LinkResult struct {
	Entry        store.InboxEntry
	AlsoLinked   int  // other entries that were linked in the same transaction
	StillLinking bool // the job links more of them
}

// Link links an entry to a patient: its event is applied to the patient, and its phone
// number is the patient's from now on. Other open entries with the same number, ticket or
// appointment follow: the oldest [MaxLinkedPerTransaction] at once, the rest in the background.
// They count as linked as soon as that has begun. user is who links it.
func (s *Service) Link(ctx context.Context, scope store.Scope, id, patient, user uuid.UUID) (result LinkResult, err error) {
	err = s.store.InTx(ctx, "linking an event", func(tx *store.Tx) error {
		result, err = s.join(tx).link(ctx, scope, id, patient, user)
		return err
	})
	return result, err
}

// link is [Service.Link] in a transaction.
func (t *transaction) link(ctx context.Context, scope store.Scope, id, patient, user uuid.UUID) (result LinkResult, err error) {
	if err := t.BlockErasures(ctx, scope); err != nil {
		return result, err
	}
	entry, err := t.InboxEntry(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return result, mapNoEntry(err)
	}
	linking := store.Linking{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: patient, PhoneKey: identifyingKey(entry), Source: entry.Source, ExternalID: entry.ExternalID, SettledBy: &user,
	}
	rows, err := t.lockForLinking(ctx, entry, linking)
	if err != nil {
		return result, err
	}
	claimedFor, err := t.claimedFor(ctx, entry)
	if err != nil {
		return result, err
	}
	waiting, err := t.lockEntries(ctx, scope, firstStep(rows), id)
	if err != nil {
		return result, err
	}
	own := slices.IndexFunc(waiting, func(e store.InboxEntry) bool { return e.ID == id })
	if own < 0 {
		return result, hub.NotFound("Inbox entry") // an erasure deleted it meanwhile
	}
	entry = waiting[own]
	waiting = slices.Delete(waiting, own, own+1)
	settled, err := checkSettled(entry, Linked)
	if settled {
		claimedFor = entry.PatientID
	}
	if err == nil && claimedFor != nil && *claimedFor != patient {
		err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry was linked to another patient.")
	}
	if err != nil {
		return result, err
	}
	if settled {
		result.Entry = entry
		result.StillLinking, err = t.isStillLinking(ctx, scope, id)
		return result, err
	}
	earlier, waiting := divideEarlier(waiting, entry, linking)
	earlierLinked, err := t.settleLocked(ctx, earlier, linking, linking.SettledBy)
	if err != nil {
		return result, err
	}
	if err := t.linkEntry(ctx, entry, linking); err != nil {
		return result, err
	}
	if result.AlsoLinked, result.StillLinking, err = t.beginLinking(ctx, linking, rows, waiting); err != nil {
		return result, err
	}
	result.AlsoLinked += earlierLinked
	result.Entry, err = t.InboxEntry(ctx, scope.Clinic, scope.Env, id)
	return result, err
}

// lockForLinking locks the number and what an open entry is about, its patient, and the number
// and subjects of the entries that follow it. It returns those.
func (t *transaction) lockForLinking(ctx context.Context, entry store.InboxEntry, linking store.Linking) (followers []dbgen.WaitingEntriesRow, err error) {
	if entry.Status != Open {
		return nil, nil
	}
	if followers, err = t.unclaimedEntries(ctx, linking); err != nil {
		return nil, err
	}
	scope := store.Scope{Clinic: linking.ClinicID, Env: linking.Env}
	own := dbgen.WaitingEntriesRow{Source: entry.Source, ExternalID: entry.ExternalID}
	if err := t.lockSubjects(ctx, scope, linking.PhoneKey, append([]dbgen.WaitingEntriesRow{own}, firstStep(followers)...)); err != nil {
		return nil, err
	}
	return followers, t.LockUnerasedPatient(ctx, scope, linking.PatientID)
}

// divideEarlier returns the entries about the same ticket or appointment that happened before an
// entry, and the others. The earlier count first: a no-show needs its booking.
func divideEarlier(waiting []store.InboxEntry, entry store.InboxEntry, linking store.Linking) (earlier, others []store.InboxEntry) {
	for _, other := range waiting {
		if hasSameSubject(other, linking) && compareEntries(other.OccurredAt, entry.OccurredAt, other.ID, entry.ID) < 0 {
			earlier = append(earlier, other)
		} else {
			others = append(others, other)
		}
	}
	return earlier, others
}

// linkEntry settles the entry that a user links, even if its appointment is not known, and
// stores its phone number as the patient's.
func (t *transaction) linkEntry(ctx context.Context, entry store.InboxEntry, linking store.Linking) error {
	event, err := t.openEntry(entry)
	if err != nil {
		return err
	}
	if _, err := t.settle(ctx, entry, linking.PatientID, linking.SettledBy, true); err != nil || linking.PhoneKey == nil {
		return err
	}
	return t.rememberContact(ctx, &event, *linking.PhoneKey, linking.PatientID)
}

// identifyingKey returns the key of an entry's number, nil if it has none, or one that forms are
// filled with.
func identifyingKey(entry store.InboxEntry) *string {
	if entry.PhoneKey == nil || care.IsFillerPhone(*entry.PhoneKey) {
		return nil
	}
	return entry.PhoneKey
}

// rememberContact stores that a number is a patient's. If others have it too, the event's name
// is the patient's as well: the next event with both does not wait.
func (t *transaction) rememberContact(ctx context.Context, event *inboundEvent, phoneKey string, patient uuid.UUID) error {
	scope := event.scope
	hasPhone, err := t.PatientHasPhone(ctx, dbgen.PatientHasPhoneParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, PhoneKey: phoneKey})
	if err != nil {
		return err
	}
	if !hasPhone { // else the number stays linked to whom it was linked before
		if err := t.UpsertLinkedPhone(ctx, dbgen.UpsertLinkedPhoneParams{ClinicID: scope.Clinic, Env: scope.Env, PhoneKey: phoneKey, PatientID: patient, CreatedAt: t.Now()}); err != nil {
			return err
		}
	}
	patients, err := t.FindByPhone(ctx, scope, event.phone())
	if err != nil || len(patients) < 2 || !care.HasLetter(event.name()) {
		return err
	}
	return t.AddKnownName(ctx, scope, patient, event.name())
}

// Dismiss marks an entry as being about no patient, and deletes its data. user is who
// dismisses it.
func (s *Service) Dismiss(ctx context.Context, scope store.Scope, id, user uuid.UUID) (entry store.InboxEntry, err error) {
	err = s.store.InTx(ctx, "dismissing an event", func(tx *store.Tx) error {
		entry, err = s.join(tx).dismiss(ctx, scope, id, user)
		return err
	})
	return entry, err
}

func (t *transaction) dismiss(ctx context.Context, scope store.Scope, id, user uuid.UUID) (store.InboxEntry, error) {
	entry, err := t.InboxEntry(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return entry, mapNoEntry(err)
	}
	claimedFor, err := t.claimedFor(ctx, entry)
	if err != nil {
		return entry, err
	}
	if entry, err = t.LockInboxEntry(ctx, scope.Clinic, scope.Env, id); err != nil {
		return entry, mapNoEntry(err)
	}
	settled, err := checkSettled(entry, Dismissed)
	if err == nil && !settled && claimedFor != nil {
		err = hub.Errorf(hub.ErrConflict, "already_settled", "This entry is being linked to a patient.")
	}
	if err != nil || settled {
		return entry, err
	}
	now := t.Now()
	return t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{ClinicID: scope.Clinic, Env: scope.Env, ID: id, Status: Dismissed, SettledBy: &user, SettledAt: &now})
}
