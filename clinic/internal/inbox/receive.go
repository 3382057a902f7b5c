package inbox

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
)

// Receive applies an event of a connected product in the caller's transaction. It returns
// [module.ErrIgnored] if the event matches no patient, or no appointment of the patient:
// then it waits in the inbox. It also returns that if the product must not send the event.
// The transaction has screened the event: see [Service.ScreenEvent].
func (s *Service) Receive(ctx context.Context, raw pgx.Tx, e hub.Event) error {
	return s.join(s.store.Join(raw)).receive(ctx, e)
}

func (t *transaction) receive(ctx context.Context, e hub.Event) error {
	if !rulesByType[e.Type].mayComeFrom(e.Product) {
		return module.ErrIgnored
	}
	event, err := t.parse(ctx, e)
	if err != nil {
		return err
	}
	event.maskIDs(t.MaskSubjectID)
	if event.completePhone, err = t.CompletePhone(ctx, event.scope.Clinic, event.phone()); err != nil {
		return err
	}
	if err := t.lockForEvent(ctx, &event); err != nil {
		return err
	}
	if err := t.maskStoredID(ctx, &event); err != nil {
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
		if err := t.removeMovedBooking(ctx, &event); err != nil {
			return err
		}
		return t.addEntry(ctx, &event)
	}
	locked, err := t.LockPatientShared(ctx, event.scope.Clinic, event.scope.Env, patient.ID)
	if errors.Is(err, pgx.ErrNoRows) { // merged into another one just now: the peer's next try finds that one
		return hub.Errorf(hub.ErrUnavailable, "patient_merged", "The patient was merged into another one just now; send the event again.")
	}
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

// parse parses an event. A time without an offset counts in the clinic's zone. The event's
// data get the offset, because the zone may change while the event waits in the inbox.
func (t *transaction) parse(ctx context.Context, e hub.Event) (inboundEvent, error) {
	scope := store.Scope{Clinic: e.TenantID, Env: e.Environment}
	event, err := parseEvent(scope, e.Product, e.ID, e.Type, e.Time, e.Data)
	if err == nil && e.Type == events.TypeAppointmentCreated {
		err = checkStatus(e.Data)
	}
	if err != nil || !event.lacksOffset {
		return event, err
	}
	datetime, err := t.CompleteDatetime(ctx, scope.Clinic, event.data.Datetime)
	if err != nil {
		return event, err
	}
	data, err := replaceDatetime(e.Data, datetime)
	if err != nil {
		return event, err
	}
	return parseEvent(scope, e.Product, e.ID, e.Type, e.Time, data)
}

// addEntry stores an event in the inbox and returns [module.ErrIgnored].
func (t *transaction) addEntry(ctx context.Context, event *inboundEvent) error {
	id := store.NewID()
	entry := dbgen.InsertInboxEntryParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: id, Source: event.source, EventID: event.id, EventType: event.eventType, OccurredAt: event.time,
		ExternalID: event.subject(), DataEnc: t.host.Sealer.Seal(event.raw, sealContext(id)), EmailHmac: t.InboxEmailHash(event.scope, event.data.Email),
		MeantFor: event.meantFor, ReceivedAt: t.Now(),
	}
	if number := care.FormatE164(event.phone()); number != "" {
		entry.Phone = &number
	}
	if name := event.name(); name != "" {
		name = care.Truncate(care.RedactCPFs(name), 120)
		entry.Name = &name
	}
	if err := t.InsertInboxEntry(ctx, entry); err != nil {
		return err
	}
	return module.ErrIgnored
}
