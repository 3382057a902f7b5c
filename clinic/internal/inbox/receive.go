package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Receive applies an event of a connected product in the caller's transaction. It returns
// [module.ErrIgnored] if the event matches no patient, or no appointment of the patient:
// then it waits in the inbox. It also returns that if the product must not send the event.
func (s *Service) Receive(ctx context.Context, raw pgx.Tx, e hub.Event) error {
	return s.join(s.store.Join(raw)).receive(ctx, e)
}

func (t *transaction) receive(ctx context.Context, e hub.Event) error {
	if !rulesByType[e.Type].mayComeFrom(e.Product) {
		return module.ErrIgnored
	}
	event, err := parseEvent(store.Scope{Clinic: e.TenantID, Env: e.Environment}, e.Product, e.ID, e.Type, e.Time, e.Data)
	if err != nil {
		return err
	}
	if err := t.lockForEvent(ctx, &event); err != nil {
		return err
	}
	if err := t.resolveErasedAppointment(ctx, &event); err != nil {
		return err
	}
	patient, err := t.findPatient(ctx, &event)
	if err != nil {
		return err
	}
	if patient == nil {
		erased, err := t.isAboutErasedTicket(ctx, &event)
		if err != nil {
			return err
		}
		if erased {
			return module.ErrIgnored // nothing about an erased patient is stored
		}
		return t.addEntry(ctx, &event)
	}
	locked, err := t.LockPatientShared(ctx, event.scope.Clinic, event.scope.Env, patient.ID)
	if err != nil {
		return err
	}
	if locked.Status == store.Anonymized {
		return module.ErrIgnored
	}
	mustWait, err := t.isBehindLinking(ctx, &event)
	if err != nil {
		return err
	}
	if mustWait {
		event.meantFor = &patient.ID
		return t.addEntry(ctx, &event)
	}
	switch applied, err := t.applyWithWaiting(ctx, &event, patient.ID, uuid.Nil); {
	case err != nil:
		return err
	case !applied:
		return t.addEntry(ctx, &event)
	}
	return nil
}

// applyWithWaiting applies an event to a patient whom the transaction has locked, and then
// the open entries about the same ticket or appointment. entry is the event's own inbox
// entry, or [uuid.Nil]. applied is false if the event's appointment is not known.
func (t *transaction) applyWithWaiting(ctx context.Context, event *inboundEvent, patient, entry uuid.UUID) (applied bool, err error) {
	linking := dbgen.Linking{ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: entry, PatientID: patient, Source: event.source, ExternalID: event.subject()}
	var rows []dbgen.WaitingEntriesRow
	var waiting []dbgen.InboxEntry
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
	if applied, err = t.apply(ctx, event, patient, false); err != nil || !applied || len(rows) == 0 {
		return applied, err
	}
	if linking.ID == uuid.Nil {
		linking.ID = store.NewID()
	}
	_, _, err = t.beginLinking(ctx, linking, rows, waiting)
	return true, err
}

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

// resolveErasedAppointment finds out whether the event's appointment belongs to an erased
// patient, and sets the id under which it is stored then.
func (t *transaction) resolveErasedAppointment(ctx context.Context, event *inboundEvent) error {
	id := event.data.AppointmentID
	if id == "" || !event.isAboutAppointment() || store.IsGeneratedID(id) {
		return nil
	}
	erasedID := t.ErasedExternalID(event.scope, event.source, id)
	_, err := t.ExternalAppointment(ctx, dbgen.ExternalAppointmentParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &erasedID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil:
		event.erasedID = erasedID
	}
	return err
}

// isAboutErasedTicket reports whether the event's ticket belonged to an erased patient.
func (t *transaction) isAboutErasedTicket(ctx context.Context, event *inboundEvent) (bool, error) {
	if event.data.TicketID == "" || event.isAboutAppointment() {
		return false, nil
	}
	return t.IsErasedTicket(ctx, event.scope, event.source, event.data.TicketID)
}

// findPatient finds the patient of an event by its ticket or appointment, or by its phone
// number; nil if there is none.
func (t *transaction) findPatient(ctx context.Context, event *inboundEvent) (*dbgen.Patient, error) {
	// The number identifies who sent a message or made a booking. For a later change, the
	// ticket or appointment does, if it is known.
	if event.eventType != ticketClosed && !event.isAppointmentUpdate() {
		if patient, err := t.findPatientByPhone(ctx, event); patient != nil || err != nil {
			return patient, err
		}
	}
	patient, err := t.findPatientBySubject(ctx, event)
	if err == nil {
		return &patient, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	return t.findPatientByPhone(ctx, event)
}

func (t *transaction) findPatientByPhone(ctx context.Context, event *inboundEvent) (*dbgen.Patient, error) {
	patients, err := t.FindByPhone(ctx, event.scope, event.phone())
	if err != nil || len(patients) == 0 {
		return nil, err
	}
	return &patients[mostLikely(patients, event)], nil
}

// findPatientBySubject returns [pgx.ErrNoRows] if the ticket or appointment is unknown.
func (t *transaction) findPatientBySubject(ctx context.Context, event *inboundEvent) (dbgen.Patient, error) {
	switch {
	case event.subject() == nil:
		return dbgen.Patient{}, pgx.ErrNoRows
	case event.isAboutAppointment():
		id := event.storedAppointmentID()
		return t.PatientByAppointment(ctx, dbgen.PatientByAppointmentParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &id})
	}
	return t.PatientByTicket(ctx, dbgen.PatientByTicketParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: event.source, TicketID: event.data.TicketID})
}

// mostLikely returns the index of the patient, among those who share a number, whose name
// or e-mail address the event has; else of the first.
func mostLikely(patients []dbgen.Patient, event *inboundEvent) int {
	for i, patient := range patients {
		if event.name() != "" && store.FoldName(event.name()) == store.FoldName(patient.Name) ||
			patient.Email != nil && strings.EqualFold(*patient.Email, strings.TrimSpace(event.data.Email)) {
			return i
		}
	}
	return 0
}

// addEntry stores an event in the inbox and returns [module.ErrIgnored].
func (t *transaction) addEntry(ctx context.Context, event *inboundEvent) error {
	id := store.NewID()
	entry := dbgen.InsertInboxEntryParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: id, Source: event.source, EventID: event.id, EventType: event.eventType, OccurredAt: event.time,
		ExternalID: event.subject(), DataEnc: t.host.Sealer.Seal(event.raw, sealContext(id)), EmailHmac: t.InboxEmailHash(event.scope, event.data.Email),
		MeantFor: event.meantFor, ReceivedAt: t.Now(),
	}
	if number := care.E164(event.phone()); number != "" {
		entry.Phone = &number
	}
	if name := event.name(); name != "" {
		name = care.Shorten(care.HideCPF(name), 120)
		entry.Name = &name
	}
	if err := t.InsertInboxEntry(ctx, entry); err != nil {
		return err
	}
	return module.ErrIgnored
}

// apply applies an event to a patient whom the transaction has locked. If its appointment
// is not known, apply changes nothing, unless a user linked this very event (byUser): then
// it only adds the event to the history.
func (t *transaction) apply(ctx context.Context, event *inboundEvent, patient uuid.UUID, byUser bool) (applied bool, err error) {
	summary := event.text()
	switch event.eventType {
	case appointmentCreated:
		if summary, err = t.saveBooking(ctx, event, patient); err != nil {
			return false, err
		}
	case appointmentCancelled, appointmentReminded, appointmentNoShow:
		a, err := t.updateBooking(ctx, event, patient)
		if err != nil || a == nil && !byUser {
			return false, err
		}
		if event.eventType != appointmentCancelled && a != nil {
			summary = describeBooking(a.Service, a.Professional, a.StartsAt)
		}
	}
	if ticketID := event.data.TicketID; ticketID != "" && !event.isAboutAppointment() {
		if err := t.SaveTicket(ctx, dbgen.SaveTicketParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: event.source, TicketID: ticketID, PatientID: patient}); err != nil {
			return false, err
		}
	}
	_, err = t.AddInteraction(ctx, event.scope, patient, store.InteractionData{
		Type: strings.ReplaceAll(event.eventType, ".", "_"), Summary: summary, Source: event.source, SourceID: event.id, Origin: store.OriginEvent, At: event.time,
	})
	return err == nil, err
}
