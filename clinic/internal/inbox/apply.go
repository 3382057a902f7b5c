package inbox

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/events"
)

// resolveErasedAppointment finds out whether the event's appointment belongs to an erased
// patient, and sets the id under which it is stored then. The transaction shares the clinic's
// erasures.
func (t *transaction) resolveErasedAppointment(ctx context.Context, event *inboundEvent) error {
	id := event.data.AppointmentID
	if id == "" || !event.isAboutAppointment() || store.IsGeneratedID(id) {
		return nil
	}
	for _, id := range []string{id, event.clearID} { // erasures before ids were masked hashed the clear one
		if id == "" {
			continue
		}
		erasedID := t.ErasedExternalID(event.scope, event.source, id)
		_, err := t.AppointmentByExternalID(ctx, dbgen.AppointmentByExternalIDParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &erasedID})
		if err == nil {
			event.erasedID = erasedID
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return nil
}

// maskStoredID masks the id of the event's appointment or ticket where it was stored in clear,
// before such ids were masked.
func (t *transaction) maskStoredID(ctx context.Context, event *inboundEvent) error {
	if event.clearID == "" {
		return nil
	}
	scope := event.scope
	clearSubject := strings.TrimSuffix(*event.subject(), *event.subjectID()) + event.clearID
	if err := t.RenameWaitingSubject(ctx, dbgen.RenameWaitingSubjectParams{ClinicID: scope.Clinic, Env: scope.Env, Source: event.source, ExternalID: &clearSubject, MaskedID: event.subject()}); err != nil {
		return err
	}
	if !event.isAboutAppointment() {
		return t.RenameTicket(ctx, dbgen.RenameTicketParams{ClinicID: scope.Clinic, Env: scope.Env, Source: event.source, TicketID: event.clearID, MaskedID: event.data.TicketID})
	}
	a, err := t.LockAppointmentByExternalID(ctx, dbgen.LockAppointmentByExternalIDParams{ClinicID: scope.Clinic, Env: scope.Env, Source: &event.source, ExternalID: &event.clearID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.MaskAppointmentID(ctx, dbgen.MaskAppointmentIDParams{ClinicID: scope.Clinic, Env: scope.Env, ID: a.ID, MaskedID: event.data.AppointmentID})
}

// apply applies an event to a patient whom the transaction has locked. If its appointment
// is not known, apply changes nothing, unless a user linked this very event
// (isChosenEntry): then it only adds the event to the history.
func (t *transaction) apply(ctx context.Context, event *inboundEvent, patient uuid.UUID, isChosenEntry bool) (applied bool, err error) {
	summary := event.text()
	switch event.eventType {
	case events.TypeAppointmentCreated:
		if summary, err = t.saveBooking(ctx, event, patient); err != nil {
			return false, err
		}
	case events.TypeAppointmentCancelled, events.TypeAppointmentReminded, events.TypeAppointmentNoShow:
		a, err := t.updateBooking(ctx, event, patient)
		if err != nil || a == nil && !isChosenEntry {
			return false, err
		}
		if event.eventType != events.TypeAppointmentCancelled && a != nil {
			summary = describeBooking(a.Service, a.Professional, a.StartsAt)
		}
	}
	if ticketID := event.data.TicketID; ticketID != "" && !event.isAboutAppointment() {
		if err := t.UpsertTicket(ctx, dbgen.UpsertTicketParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: event.source, TicketID: ticketID, PatientID: patient}); err != nil {
			return false, err
		}
	}
	_, err = t.AddInteraction(ctx, event.scope, patient, store.InteractionData{
		Type: strings.ReplaceAll(event.eventType, ".", "_"), Summary: summary, Source: event.source, SourceID: event.id, Origin: store.OriginEvent, At: event.time,
	})
	return err == nil, err
}
