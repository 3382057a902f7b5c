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
	"integrationhub/hub"
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
	content, err := s.host.Sealer.Open(r.ContentEnc, contentContext(r.ID))
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
		content = t.host.Sealer.Seal([]byte(d.Content), contentContext(id))
	}
	r, err := t.InsertRecord(ctx, dbgen.InsertRecordParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, Date: d.Date, Type: care.HideCPF(d.Type), Professional: care.HideCPF(d.Professional), ContentEnc: content,
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
		ClinicID: at.Clinic, Env: at.Env, ID: NewID(), PatientID: patient, StartsAt: d.StartsAt, Service: care.HideCPF(d.Service), Professional: care.HideCPF(d.Professional),
		Status: d.Status, Reason: hideCPF(d.Reason), CreatedAt: t.now,
	})
}

// hideCPF is [care.HideCPF] of a text that may be missing.
func hideCPF(text *string) *string {
	if text == nil {
		return nil
	}
	hidden := care.HideCPF(*text)
	return &hidden
}

// ChangeAppointment edits an appointment. [hub.ErrConflict] where it became another
// patient's at the same time.
func (t *Tx) ChangeAppointment(ctx context.Context, at Scope, id uuid.UUID, edit func(*AppointmentData) error) (dbgen.Appointment, error) {
	a, err := t.Appointment(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, missing("Appointment")
	}
	if err != nil {
		return a, err
	}
	patient := a.PatientID
	if err := t.keep(ctx, at, patient); err != nil {
		return a, err
	}
	if a, err = t.LockAppointment(ctx, at.Clinic, at.Env, id); err != nil {
		return a, err
	}
	if a.PatientID != patient {
		return a, hub.Errorf(hub.ErrConflict, "appointment_moved", "This appointment became another patient's just now; look at it again.")
	}
	was := AppointmentData{a.StartsAt, a.Service, a.Professional, a.Status, a.Reason}
	d := was
	if err := edit(&d); err != nil {
		return a, err
	}
	now := t.now.Truncate(time.Second) // other products tell seconds
	if d.Status != was.Status {
		a.StateAt = &now
	}
	if !d.StartsAt.Equal(was.StartsAt) || d.Service != was.Service || d.Professional != was.Professional {
		a.DetailsAt = &now
	}
	a.StartsAt, a.Service, a.Professional, a.Status, a.Reason = d.StartsAt, care.HideCPF(d.Service), care.HideCPF(d.Professional), d.Status, hideCPF(d.Reason)
	return t.setAppointment(ctx, a)
}

func (t *Tx) setAppointment(ctx context.Context, a dbgen.Appointment) (dbgen.Appointment, error) {
	return t.SetAppointment(ctx, dbgen.SetAppointmentParams{
		ClinicID: a.ClinicID, Env: a.Env, ID: a.ID, PatientID: a.PatientID, StartsAt: a.StartsAt, Service: a.Service, Professional: a.Professional,
		Status: a.Status, Reason: a.Reason, RemindedAt: a.RemindedAt, ExternalID: a.ExternalID, DetailsAt: a.DetailsAt, StateAt: a.StateAt, UpdatedAt: t.now,
	})
}

// Origin says who named the source of an interaction.
type Origin string

// The origins. What one calls its source keeps nothing of another out.
const (
	OriginEvent Origin = "event" // the hub, which knows whose event it is; and the clinic itself
	OriginPeer  Origin = "peer"  // a connected product, of itself
	OriginKey   Origin = "key"   // somebody with a key of no product's
)

// InteractionData is what a product, or the clinic itself, did with a patient.
type InteractionData struct {
	Type     string // lower_snake
	Summary  string
	Source   string // product
	SourceID string // there; the same one is on the history once
	Origin   Origin
	At       time.Time
}

// LogInteraction puts something on a patient's history, once; what is there already
// is given back as it is. [hub.ErrConflict] where the same source said another thing, or
// of somebody else.
func (t *Tx) LogInteraction(ctx context.Context, at Scope, patient uuid.UUID, d InteractionData) (dbgen.Interaction, error) {
	if err := t.keep(ctx, at, patient); err != nil {
		return dbgen.Interaction{}, err
	}
	i, err := t.addInteraction(ctx, at, patient, d)
	if err != nil || d.Origin == OriginEvent { // whose ids are drawn
		return i, err
	}
	// Looked at after the row is there: who is forgotten at this moment has been by now.
	taken, err := t.taken(ctx, at, d)
	if err == nil && taken {
		err = sourceReused()
	}
	return i, err
}

func sourceReused() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "source_id_reused", "Another interaction was logged under this source_id before.")
}

// addInteraction is [Tx.LogInteraction] for a patient who is held.
func (t *Tx) addInteraction(ctx context.Context, at Scope, patient uuid.UUID, d InteractionData) (dbgen.Interaction, error) {
	d.Summary = historyLine(d.Summary)
	i, err := t.InsertInteraction(ctx, dbgen.InsertInteractionParams{
		ClinicID: at.Clinic, Env: at.Env, ID: NewID(), PatientID: patient, Type: d.Type, Summary: d.Summary,
		Source: d.Source, SourceID: d.SourceID, OccurredAt: d.At, Origin: string(d.Origin), CreatedAt: t.now,
	})
	if !errors.Is(err, pgx.ErrNoRows) {
		return i, err
	}
	i, err = t.InteractionOfSource(ctx, dbgen.InteractionOfSourceParams{ClinicID: at.Clinic, Env: at.Env, Source: d.Source, SourceID: d.SourceID, Origin: string(d.Origin)})
	if err == nil && (i.PatientID != patient || i.Type != d.Type || i.Summary != d.Summary) {
		err = sourceReused()
	}
	return i, err
}

// MaxSummary is how many characters of an interaction's summary are kept.
const MaxSummary = 4000
