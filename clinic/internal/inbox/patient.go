package inbox

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/events"
)

// findPatient finds the patient of an event by its ticket or appointment, or by its phone
// number; nil if there is none.
func (t *transaction) findPatient(ctx context.Context, event *inboundEvent) (*store.Patient, error) {
	// The number identifies who sent a message or made a booking. For a later change, the
	// ticket or appointment does, if it is known.
	if event.eventType != events.TypeTicketClosed && !event.isAppointmentUpdate() {
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

func (t *transaction) findPatientByPhone(ctx context.Context, event *inboundEvent) (*store.Patient, error) {
	patients, err := t.FindByPhone(ctx, event.scope, event.phone())
	if err != nil || len(patients) == 0 {
		return nil, err
	}
	return &patients[mostLikely(patients, event)], nil
}

// findPatientBySubject returns [pgx.ErrNoRows] if the ticket or appointment is unknown.
func (t *transaction) findPatientBySubject(ctx context.Context, event *inboundEvent) (store.Patient, error) {
	switch {
	case event.subject() == nil:
		return store.Patient{}, pgx.ErrNoRows
	case event.isAboutAppointment():
		id := event.storedAppointmentID()
		return t.PatientByAppointment(ctx, dbgen.PatientByAppointmentParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &id})
	}
	return t.PatientByTicket(ctx, dbgen.PatientByTicketParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: event.source, TicketID: event.data.TicketID})
}

// mostLikely returns the index of the patient, among those who share a number, whose name
// or e-mail address the event has; else of the first.
func mostLikely(patients []store.Patient, event *inboundEvent) int {
	for i, patient := range patients {
		if event.name() != "" && store.FoldName(event.name()) == store.FoldName(patient.Name) ||
			patient.Email != nil && strings.EqualFold(*patient.Email, strings.TrimSpace(event.data.Email)) {
			return i
		}
	}
	return 0
}
