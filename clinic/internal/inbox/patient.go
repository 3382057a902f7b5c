package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/events"
)

// findPatient finds the patient of an event by its ticket or appointment, or by its phone
// number; nil if there is none. It notes in the event if a booking was moved away from its
// patient.
func (t *transaction) findPatient(ctx context.Context, event *inboundEvent) (*store.Patient, error) {
	// The number identifies who sent a message or made a booking. For a later change, the
	// ticket or appointment does, if it is known.
	if event.eventType == events.TypeTicketClosed || event.isAppointmentUpdate() {
		if known, err := t.findPatientBySubject(ctx, event); !errors.Is(err, pgx.ErrNoRows) {
			return &known, err
		}
		patients, err := t.FindByPhone(ctx, event.scope, event.phone())
		if err != nil {
			return nil, err
		}
		return t.choosePatient(ctx, patients, event)
	}
	patients, err := t.FindByPhone(ctx, event.scope, event.phone())
	if err != nil {
		return nil, err
	}
	if patient, err := t.choosePatient(ctx, patients, event); patient != nil || err != nil {
		return patient, err
	}
	known, err := t.findPatientBySubject(ctx, event)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hasNumber := slices.ContainsFunc(patients, func(p store.Patient) bool { return p.ID == known.ID })
	if event.eventType == events.TypeAppointmentCreated && event.phoneKey() != nil && !hasNumber && known.Status != store.Anonymized {
		event.movedFrom = &known.ID
		return nil, nil
	}
	return &known, nil
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

// choosePatient returns the patient whom an event means among those who have its number. Who
// has it alone is meant, whatever the name says. Among several decide, in this order: the whole
// name; the e-mail address; a name that the patient had before or that a user linked; a name
// that agrees better than with the others. Nil: the name decides for nobody. An event that
// names nobody is about the patient of its ticket or appointment.
func (t *transaction) choosePatient(ctx context.Context, patients []store.Patient, event *inboundEvent) (*store.Patient, error) {
	name := event.name()
	if len(patients) <= 1 {
		return onlyPatient(patients), nil
	}
	named := selectPatients(patients, func(p store.Patient) bool { return care.NameAgreement(name, p.Name) == care.NamesAreEqual })
	if len(named) == 1 {
		return onlyPatient(named), nil
	}
	candidates := patients
	if len(named) > 1 {
		candidates = named
	}
	email := strings.TrimSpace(event.data.Email)
	if found := onlyPatient(selectPatients(candidates, func(p store.Patient) bool { return p.Email != nil && strings.EqualFold(*p.Email, email) })); found != nil {
		return found, nil
	}
	if !care.HasLetter(name) {
		return t.choosePatientBySubject(ctx, patients, event)
	}
	known, err := t.PatientsKnownAs(ctx, event.scope, candidates, name)
	if err != nil {
		return nil, err
	}
	if found := onlyPatient(selectPatients(candidates, func(p store.Patient) bool { return slices.Contains(known, p.ID) })); found != nil || len(named) > 1 {
		return found, nil
	}
	for degree := care.NameIsAbbreviated; degree > care.NamesDiffer; degree-- {
		if agreeing := selectPatients(patients, func(p store.Patient) bool { return care.NameAgreement(name, p.Name) == degree }); len(agreeing) > 0 {
			return onlyPatient(agreeing), nil
		}
	}
	return nil, nil
}

// choosePatientBySubject returns the patient of the event's ticket or appointment, if it is one of
// those who have the number, else the first of them.
func (t *transaction) choosePatientBySubject(ctx context.Context, patients []store.Patient, event *inboundEvent) (*store.Patient, error) {
	known, err := t.findPatientBySubject(ctx, event)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	for i := range patients {
		if patients[i].ID == known.ID {
			return &patients[i], nil
		}
	}
	return &patients[0], nil
}

func selectPatients(patients []store.Patient, isSelected func(store.Patient) bool) (selected []store.Patient) {
	for _, patient := range patients {
		if isSelected(patient) {
			selected = append(selected, patient)
		}
	}
	return selected
}

// onlyPatient returns the patient of a list of one, nil for any other list.
func onlyPatient(patients []store.Patient) *store.Patient {
	if len(patients) != 1 {
		return nil
	}
	return &patients[0]
}
