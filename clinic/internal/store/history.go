package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// RecordData is a record that is about to be written.
type RecordData struct {
	Date         time.Time // midnight UTC
	Type         string
	Professional string // display name
	Content      string // encrypted; nobody but the clinic's users reads it
	Summary      string // for connected products
	URL          *string
	Sensitivity  care.Sensitivity
	ExternalRef  *string    // its id where it was imported from
	By           *uuid.UUID // user
}

// contentContext binds sealed content to its record.
func contentContext(id uuid.UUID) string { return "record/" + id.String() + "/content" }

// Content opens a record's content.
func (s *Store) Content(r dbgen.Record) (string, error) {
	if r.ContentEnc == nil {
		return "", nil
	}
	content, err := s.kit.Sealer.Open(r.ContentEnc, contentContext(r.ID))
	if err != nil {
		return "", fmt.Errorf("opening a record: %w", err)
	}
	return string(content), nil
}

// CreateRecord writes a record about a patient and tells the connected products as
// much as its sensitivity allows. Errors as [Tx.CreatePatient] and [Tx.ChangePatient]
// have them.
func (t *Tx) CreateRecord(ctx context.Context, at Scope, patient uuid.UUID, d RecordData) (dbgen.Record, error) {
	if err := t.keep(ctx, at, patient); err != nil {
		return dbgen.Record{}, err
	}
	id := NewID()
	var content []byte
	if d.Content != "" {
		content = t.kit.Sealer.Seal([]byte(d.Content), contentContext(id))
	}
	r, err := t.InsertRecord(ctx, dbgen.InsertRecordParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, Date: d.Date, Type: d.Type, Professional: d.Professional, ContentEnc: content,
		ExternalSummary: care.Scrub(d.Summary), Url: d.URL, Sensitivity: d.Sensitivity, ExternalRef: d.ExternalRef, CreatedBy: d.By, CreatedAt: t.now,
	})
	if err != nil {
		return r, err
	}
	shown := r.Sensitivity.Outside(r.Type, r.ExternalSummary)
	if shown == nil {
		return r, nil
	}
	_, err = t.publish(ctx, at, "record.created", struct {
		PatientID  uuid.UUID `json:"patient_id"`
		RecordType string    `json:"record_type"`
		Summary    string    `json:"summary"`
	}{patient, shown.Type, shown.Summary})
	return r, err
}

// AppointmentData is an appointment of the clinic's own.
type AppointmentData struct {
	StartsAt     time.Time
	Service      string
	Professional string
	Status       care.AppointmentStatus
	Reason       *string
}

// CreateAppointment gives a patient an appointment.
func (t *Tx) CreateAppointment(ctx context.Context, at Scope, patient uuid.UUID, d AppointmentData) (dbgen.Appointment, error) {
	if err := t.keep(ctx, at, patient); err != nil {
		return dbgen.Appointment{}, err
	}
	return t.InsertAppointment(ctx, dbgen.InsertAppointmentParams{
		ClinicID: at.Clinic, Env: at.Env, ID: NewID(), PatientID: patient, StartsAt: d.StartsAt, Service: d.Service, Professional: d.Professional,
		Status: d.Status, Reason: d.Reason, CreatedAt: t.now,
	})
}

// ChangeAppointment edits an appointment.
func (t *Tx) ChangeAppointment(ctx context.Context, at Scope, id uuid.UUID, edit func(*AppointmentData) error) (dbgen.Appointment, error) {
	a, err := t.LockAppointment(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, missing("Appointment")
	}
	if err != nil {
		return a, err
	}
	if err := t.keep(ctx, at, a.PatientID); err != nil {
		return a, err
	}
	d := AppointmentData{a.StartsAt, a.Service, a.Professional, a.Status, a.Reason}
	if err := edit(&d); err != nil {
		return a, err
	}
	a.StartsAt, a.Service, a.Professional, a.Status, a.Reason = d.StartsAt, d.Service, d.Professional, d.Status, d.Reason
	return t.setAppointment(ctx, a)
}

func (t *Tx) setAppointment(ctx context.Context, a dbgen.Appointment) (dbgen.Appointment, error) {
	return t.SetAppointment(ctx, dbgen.SetAppointmentParams{
		ClinicID: a.ClinicID, Env: a.Env, ID: a.ID, PatientID: a.PatientID, StartsAt: a.StartsAt, Service: a.Service, Professional: a.Professional,
		Status: a.Status, Reason: a.Reason, RemindedAt: a.RemindedAt, ExternalID: a.ExternalID, UpdatedAt: t.now,
	})
}

// InteractionData is what a product, or the clinic itself, did with a patient.
type InteractionData struct {
	Type     string // lower_snake
	Summary  string
	Source   string // product
	SourceID string // there; the same one is on the history once
	At       time.Time
}

// LogInteraction puts something on a patient's history, once; what is there already
// is given back as it is.
func (t *Tx) LogInteraction(ctx context.Context, at Scope, patient uuid.UUID, d InteractionData) (dbgen.Interaction, error) {
	if err := t.keep(ctx, at, patient); err != nil {
		return dbgen.Interaction{}, err
	}
	i, err := t.InsertInteraction(ctx, dbgen.InsertInteractionParams{
		ClinicID: at.Clinic, Env: at.Env, ID: NewID(), PatientID: patient, Type: d.Type, Summary: care.Shorten(care.Scrub(d.Summary), MaxSummary),
		Source: d.Source, SourceID: d.SourceID, OccurredAt: d.At, CreatedAt: t.now,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return t.InteractionOfSource(ctx, dbgen.InteractionOfSourceParams{ClinicID: at.Clinic, Env: at.Env, Source: d.Source, SourceID: d.SourceID})
	}
	return i, err
}

// MaxSummary is how many characters of an interaction's summary are kept.
const MaxSummary = 4000
