package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/tx"
)

// Patient is a row of clinic.patients.
type Patient = dbgen.Patient

// Statuses of patients.
const (
	Active     = "active"
	Inactive   = "inactive"
	Anonymized = "anonymized" // erased
)

func patientCreated(p Patient) events.PatientCreated {
	return events.PatientCreated{PatientID: p.ID.String(), Phone: p.Phone, Name: p.Name, Email: p.Email, CPF: MaskedCPF(p)}
}

// CreatePatient inserts a patient and publishes patient.created. It is a
// [hub.ErrConflict] if another patient has the CPF or the external reference.
func (t *Tx) CreatePatient(ctx context.Context, scope Scope, d PatientData) (Patient, error) {
	draft := t.DraftPatient(scope, d)
	p, err := t.InsertPatient(ctx, dbgen.InsertPatientParams{
		ClinicID: draft.ClinicID, Env: draft.Env, ID: draft.ID, Name: draft.Name, Phone: draft.Phone, Email: draft.Email, CpfEnc: draft.CpfEnc, CpfHmac: draft.CpfHmac,
		CpfLast2: draft.CpfLast2, BirthDate: draft.BirthDate, Status: draft.Status, ExternalRef: draft.ExternalRef, CreatedAt: t.Now(),
	})
	if err != nil {
		return p, mapPatientConflict(err)
	}
	module.SetSubject(ctx, p.ID.String())
	_, err = t.Publish(ctx, scope.Clinic, scope.Env, patientCreated(p))
	return p, err
}

// DraftPatient returns the row of a new patient, for [Tx.CreatePatients]. It has an id,
// and none of the columns that the database fills in.
func (t *Tx) DraftPatient(scope Scope, d PatientData) Patient {
	p := Patient{
		ClinicID: scope.Clinic, Env: scope.Env, ID: NewID(), Name: d.Name, Phone: d.Phone, Email: d.Email, BirthDate: d.BirthDate,
		Status: d.Status, ExternalRef: d.ExternalRef,
	}
	p.CpfEnc, p.CpfHmac, p.CpfLast2 = t.sealCPF(scope, p.ID, d.CPF)
	return p
}

// CreatePatients does what [Tx.CreatePatient] does for many drafts, with a few statements
// for all of them.
func (t *Tx) CreatePatients(ctx context.Context, scope Scope, drafts []Patient) error {
	if len(drafts) == 0 {
		return nil
	}
	rows, created := make([]dbgen.InsertPatientsParams, len(drafts)), make([]events.PatientCreated, len(drafts))
	for i, p := range drafts {
		rows[i] = dbgen.InsertPatientsParams{
			ClinicID: p.ClinicID, Env: p.Env, ID: p.ID, Name: p.Name, Phone: p.Phone, Email: p.Email, CpfEnc: p.CpfEnc, CpfHmac: p.CpfHmac, CpfLast2: p.CpfLast2,
			BirthDate: p.BirthDate, Status: p.Status, ExternalRef: p.ExternalRef, CreatedAt: t.Now(),
		}
		created[i] = patientCreated(p)
	}
	var insertErr error
	t.InsertPatients(ctx, rows).Exec(func(_ int, err error) {
		if insertErr == nil && err != nil {
			insertErr = mapPatientConflict(err)
		}
	})
	if insertErr != nil {
		return insertErr
	}
	return tx.PublishAll(ctx, t.Tx, scope.Clinic, scope.Env, created)
}

// mapPatientConflict turns violations of unique indexes into errors for callers.
func mapPatientConflict(err error) error {
	switch dberr.ConstraintName(err) {
	case "patients_cpf":
		return hub.Errorf(hub.ErrConflict, "cpf_taken", "Another patient of the clinic has this CPF.")
	case "patients_external_ref":
		return hub.Errorf(hub.ErrConflict, "external_ref_taken", "Another patient of the clinic has this external reference.")
	}
	return err
}

func errPatientAnonymized() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "patient_anonymized", "This patient was anonymized; nothing is changed any more.")
}

// PatientData returns the data of a stored patient, with the CPF decrypted.
func (t *Tx) PatientData(p Patient) (PatientData, error) {
	cpf, err := t.cpf(p)
	return PatientData{p.Name, p.Phone, p.Email, cpf, p.BirthDate, p.Status, p.ExternalRef}, err
}

// ChangePatient edits a patient. If a field changed, it publishes patient.updated with the
// names of the changed fields. Errors: [hub.ErrNotFound]; [hub.ErrConflict] if the patient
// was anonymized, and like [Tx.CreatePatient].
func (t *Tx) ChangePatient(ctx context.Context, scope Scope, id uuid.UUID, edit func(*PatientData) error) (Patient, error) {
	patient, err := t.LockPatient(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return patient, hub.NotFound("Patient")
	}
	if err != nil {
		return patient, err
	}
	if patient.Status == Anonymized {
		return patient, errPatientAnonymized()
	}
	before, err := t.PatientData(patient)
	if errors.Is(err, ErrUnreadable) {
		unreadable := unreadableCPF
		before.CPF, err = &unreadable, nil
	}
	if err != nil {
		return patient, err
	}
	after := before
	if err := edit(&after); err != nil {
		return patient, err
	}
	changed := before.changedFields(after)
	if len(changed) == 0 {
		return patient, nil
	}
	params := dbgen.UpdatePatientRowParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, Name: after.Name, Phone: after.Phone, Email: after.Email, CpfEnc: patient.CpfEnc, CpfHmac: patient.CpfHmac,
		CpfLast2: patient.CpfLast2, BirthDate: after.BirthDate, Status: after.Status, ExternalRef: after.ExternalRef, UpdatedAt: t.Now(),
	}
	if err := t.saveEarlierContacts(ctx, scope, id, before, after); err != nil {
		return patient, err
	}
	if !equal(before.CPF, after.CPF) {
		params.CpfEnc, params.CpfHmac, params.CpfLast2 = t.sealCPF(scope, id, after.CPF)
	}
	p, err := t.UpdatePatientRow(ctx, params)
	if err != nil {
		return p, mapPatientConflict(err)
	}
	_, err = t.Publish(ctx, scope.Clinic, scope.Env, events.PatientUpdated{PatientID: id.String(), ChangedFields: changed, Phone: patient.Phone})
	return p, err
}

// LockUnerasedPatient locks a patient with a shared lock, so that something can be added to it: it
// is not changed or erased before the transaction ends. Errors: [hub.ErrNotFound];
// [hub.ErrConflict] if the patient was anonymized.
func (t *Tx) LockUnerasedPatient(ctx context.Context, scope Scope, id uuid.UUID) error {
	p, err := t.LockPatientShared(ctx, scope.Clinic, scope.Env, id)
	if err == nil {
		module.SetSubject(ctx, id.String())
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return hub.NotFound("Patient")
	case err == nil && p.Status == Anonymized:
		return errPatientAnonymized()
	}
	return err
}

// FindByPhone returns a clinic's patients with a phone number in any notation, the most
// likely first. A number that forms are filled with finds none ([care.IsFillerPhone]).
func (s *Store) FindByPhone(ctx context.Context, scope Scope, phone string) ([]Patient, error) {
	return findByPhone(ctx, s.Queries, scope, phone)
}

// FindByPhone is [Store.FindByPhone] in the transaction.
func (t *Tx) FindByPhone(ctx context.Context, scope Scope, phone string) ([]Patient, error) {
	return findByPhone(ctx, t.Queries, scope, phone)
}

// HasPhone reports whether a patient has a phone number, in any notation, of its own or by
// a link.
func (t *Tx) HasPhone(ctx context.Context, scope Scope, patient uuid.UUID, phone string) (bool, error) {
	key := care.PhoneKey(care.FormatE164(phone))
	return t.PatientHasPhone(ctx, dbgen.PatientHasPhoneParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, PhoneKey: key})
}

// maxByPhone is how many patients with the same number are returned: families share one.
const maxByPhone = 100

func findByPhone(ctx context.Context, q *dbgen.Queries, scope Scope, phone string) ([]Patient, error) {
	number := care.FormatE164(phone)
	if number == "" || care.IsFillerPhone(number) {
		return nil, nil
	}
	key := care.PhoneKey(number)
	return q.PatientsByPhone(ctx, dbgen.PatientsByPhoneParams{ClinicID: scope.Clinic, Env: scope.Env, PhoneKey: &key, Phone: number, RowLimit: maxByPhone})
}
