package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Appointment is a row of clinic.appointments.
type Appointment = dbgen.Appointment

// ListAppointments returns a page of a patient's appointments with a status ("" = any),
// latest first.
func (s *Store) ListAppointments(ctx context.Context, scope Scope, patient uuid.UUID, status string, page Page) ([]Appointment, error) {
	return s.AppointmentsPage(ctx, dbgen.AppointmentsPageParams{
		ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, Status: status, RowLimit: page.Limit, RowOffset: page.Offset,
	})
}

// CountPatientAppointments returns how many appointments with a status a patient has,
// counted up to [MaxCount].
func (s *Store) CountPatientAppointments(ctx context.Context, scope Scope, patient uuid.UUID, status string) (int, error) {
	return s.CountAppointments(ctx, dbgen.CountAppointmentsParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, Status: status, MaxCount: MaxCount})
}

// AppointmentData are the fields of an appointment that users write.
type AppointmentData struct {
	StartsAt     time.Time
	Service      string
	Professional string
	Status       care.AppointmentStatus
	Reason       *string
}

// CreateAppointment inserts an appointment of a patient. Errors like [Tx.LockUnerasedPatient].
func (t *Tx) CreateAppointment(ctx context.Context, scope Scope, patient uuid.UUID, d AppointmentData) (Appointment, error) {
	if err := t.LockUnerasedPatient(ctx, scope, patient); err != nil {
		return Appointment{}, err
	}
	return t.InsertAppointment(ctx, dbgen.InsertAppointmentParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: NewID(), PatientID: patient, StartsAt: d.StartsAt, Service: care.RedactCPFs(d.Service), Professional: care.RedactCPFs(d.Professional),
		Status: d.Status, Reason: redactCPFs(d.Reason), CreatedAt: t.Now(),
	})
}

// ChangeAppointment edits an appointment. It is a [hub.ErrConflict] if an event moved the
// appointment to another patient at the same time.
func (t *Tx) ChangeAppointment(ctx context.Context, scope Scope, id uuid.UUID, edit func(*AppointmentData) error) (Appointment, error) {
	a, err := t.Appointment(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, hub.NotFound("Appointment")
	}
	if err != nil {
		return a, err
	}
	patient := a.PatientID
	if err := t.LockUnerasedPatient(ctx, scope, patient); err != nil {
		return a, err
	}
	a, err = t.LockAppointment(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) { // an event moved it to a client who is unknown
		return a, hub.NotFound("Appointment")
	}
	if err != nil {
		return a, err
	}
	if a.PatientID != patient {
		return a, hub.Errorf(hub.ErrConflict, "appointment_moved", "This appointment became another patient's just now; look at it again.")
	}
	before := AppointmentData{a.StartsAt, a.Service, a.Professional, a.Status, a.Reason}
	after := before
	if err := edit(&after); err != nil {
		return a, err
	}
	now := t.Now().Truncate(time.Second) // the times of peers' events are whole seconds
	if after.Status != before.Status {
		a.StateAt = &now
	}
	if !after.StartsAt.Equal(before.StartsAt) || after.Service != before.Service || after.Professional != before.Professional {
		a.DetailsAt = &now
	}
	a.StartsAt, a.Service, a.Professional, a.Status, a.Reason = after.StartsAt, care.RedactCPFs(after.Service), care.RedactCPFs(after.Professional), after.Status, redactCPFs(after.Reason)
	return t.SaveAppointment(ctx, a)
}

// SaveAppointment stores all fields of an appointment that the transaction has locked.
func (t *Tx) SaveAppointment(ctx context.Context, a Appointment) (Appointment, error) {
	return t.UpdateAppointmentRow(ctx, dbgen.UpdateAppointmentRowParams{
		ClinicID: a.ClinicID, Env: a.Env, ID: a.ID, PatientID: a.PatientID, StartsAt: a.StartsAt, Service: a.Service, Professional: a.Professional,
		Status: a.Status, Reason: a.Reason, RemindedAt: a.RemindedAt, ExternalID: a.ExternalID, DetailsAt: a.DetailsAt, StateAt: a.StateAt, UpdatedAt: t.Now(),
	})
}

// redactCPFs is [care.RedactCPFs] for an optional text.
func redactCPFs(text *string) *string {
	if text == nil {
		return nil
	}
	redacted := care.RedactCPFs(*text)
	return &redacted
}
