package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Statuses of patients.
const (
	Active     = "active"
	Inactive   = "inactive"
	Anonymized = "anonymized"
)

// PatientData is what people say about a patient.
type PatientData struct {
	Name        string
	Phone       *string    // as [care.E164] writes it
	Email       *string    //
	CPF         *string    // as [care.CPF] writes it
	BirthDate   *time.Time // midnight UTC
	Status      string     // active or inactive
	ExternalRef *string    // its id where it was imported from
}

// cpfContext binds a sealed tax id to its patient.
func cpfContext(id uuid.UUID) string { return "patient/" + id.String() + "/cpf" }

// CPFHash is what a tax id is found by, in one clinic's live or test data.
func (s *Store) CPFHash(at Scope, digits string) []byte {
	return cpfHash(s.host.Sealer.Derive("cpf"), at, digits)
}

func cpfHash(key []byte, at Scope, digits string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(at.Clinic[:])
	mac.Write([]byte(at.Env))
	mac.Write([]byte(digits))
	return mac.Sum(nil)
}

// CPF opens a patient's tax id, nil where there is none.
func (s *Store) CPF(p dbgen.Patient) (*string, error) { return s.Join(nil).cpf(p) }

func (t *Tx) cpf(p dbgen.Patient) (*string, error) {
	if p.CpfEnc == nil {
		return nil, nil
	}
	digits, err := t.host.Sealer.Open(p.CpfEnc, cpfContext(p.ID))
	if err != nil {
		return nil, fmt.Errorf("opening a tax id: %w", err)
	}
	text := string(digits)
	return &text, nil
}

// MaskedCPF is what others see of a patient's tax id, nil where there is none.
func MaskedCPF(p dbgen.Patient) *string {
	if p.CpfLast2 == nil {
		return nil
	}
	masked := care.MaskCPF(*p.CpfLast2)
	return &masked
}

// sealed is a tax id as it is stored.
func (t *Tx) sealed(at Scope, id uuid.UUID, digits *string) (enc, hash []byte, last2 *string) {
	if digits == nil {
		return nil, nil, nil
	}
	end := (*digits)[len(*digits)-2:]
	return t.host.Sealer.Seal([]byte(*digits), cpfContext(id)), cpfHash(t.host.Sealer.Derive("cpf"), at, *digits), &end
}

// CreatePatient makes a patient and tells the connected products. [hub.ErrConflict]
// where another one has the tax id or the external reference.
func (t *Tx) CreatePatient(ctx context.Context, at Scope, d PatientData) (dbgen.Patient, error) {
	id := NewID()
	enc, hash, last2 := t.sealed(at, id, d.CPF)
	p, err := t.InsertPatient(ctx, dbgen.InsertPatientParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, Name: d.Name, Phone: d.Phone, Email: d.Email, CpfEnc: enc, CpfHmac: hash, CpfLast2: last2,
		BirthDate: d.BirthDate, Status: d.Status, ExternalRef: d.ExternalRef, CreatedAt: t.now,
	})
	if err != nil {
		return p, patientTaken(err)
	}
	module.SetSubject(ctx, id.String())
	_, err = t.publish(ctx, at, patientCreated, createdOf(p))
	return p, err
}

// patientTaken answers for what another patient has.
func patientTaken(err error) error {
	switch dberr.ConstraintName(err) {
	case "patients_cpf":
		return hub.Errorf(hub.ErrConflict, "cpf_taken", "Another patient of the clinic has this CPF.")
	case "patients_external_ref":
		return hub.Errorf(hub.ErrConflict, "external_ref_taken", "Another patient of the clinic has this external reference.")
	}
	return err
}

func forgotten() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "patient_anonymized", "This patient was anonymized; nothing is changed any more.")
}

// ChangePatient edits a patient and tells the connected products which fields
// changed, if any did. [hub.ErrNotFound]; [hub.ErrConflict] where the patient was
// anonymized, and as [Tx.CreatePatient] has it.
func (t *Tx) ChangePatient(ctx context.Context, at Scope, id uuid.UUID, edit func(*PatientData) error) (dbgen.Patient, error) {
	was, err := t.LockPatient(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return was, missing("Patient")
	}
	if err != nil {
		return was, err
	}
	if was.Status == Anonymized {
		return was, forgotten()
	}
	cpf, err := t.cpf(was)
	if err != nil {
		return was, err
	}
	before := PatientData{was.Name, was.Phone, was.Email, cpf, was.BirthDate, was.Status, was.ExternalRef}
	after := before
	if err := edit(&after); err != nil {
		return was, err
	}
	changed := before.changed(after)
	if len(changed) == 0 {
		return was, nil
	}
	set := dbgen.SetPatientParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, Name: after.Name, Phone: after.Phone, Email: after.Email, CpfEnc: was.CpfEnc, CpfHmac: was.CpfHmac,
		CpfLast2: was.CpfLast2, BirthDate: after.BirthDate, Status: after.Status, ExternalRef: after.ExternalRef, UpdatedAt: t.now,
	}
	if err := t.keepEarlier(ctx, at, id, before, after); err != nil {
		return was, err
	}
	if !same(before.CPF, after.CPF) {
		set.CpfEnc, set.CpfHmac, set.CpfLast2 = t.sealed(at, id, after.CPF)
	}
	p, err := t.SetPatient(ctx, set)
	if err != nil {
		return p, patientTaken(err)
	}
	_, err = t.publish(ctx, at, "patient.updated", struct {
		PatientID uuid.UUID `json:"patient_id"`
		Changed   []string  `json:"changed_fields"`
		Phone     *string   `json:"phone"` // by which the others know the patient
	}{id, changed, was.Phone})
	return p, err
}

// changed names the fields that differ.
func (d PatientData) changed(to PatientData) []string {
	var names []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", d.Name == to.Name}, {"phone", same(d.Phone, to.Phone)}, {"email", same(d.Email, to.Email)}, {"cpf", same(d.CPF, to.CPF)},
		{"birth_date", same(d.BirthDate, to.BirthDate)}, {"status", d.Status == to.Status}, {"external_ref", same(d.ExternalRef, to.ExternalRef)},
	} {
		if !field.same {
			names = append(names, field.name)
		}
	}
	return names
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// keep holds a patient as it is until the transaction ends, for something to be
// added to it. [hub.ErrNotFound], or [hub.ErrConflict] where it was anonymized.
func (t *Tx) keep(ctx context.Context, at Scope, id uuid.UUID) error {
	p, err := t.SharePatient(ctx, at.Clinic, at.Env, id)
	if err == nil {
		module.SetSubject(ctx, id.String())
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return missing("Patient")
	case err == nil && p.Status == Anonymized:
		return forgotten()
	}
	return err
}

// ByPhone finds a clinic's patients under a phone number as people write it, the
// likeliest first.
func (s *Store) ByPhone(ctx context.Context, at Scope, phone string) ([]dbgen.Patient, error) {
	return byPhone(ctx, s.Queries, at, phone)
}

// ByPhone is [Store.ByPhone] in the transaction.
func (t *Tx) ByPhone(ctx context.Context, at Scope, phone string) ([]dbgen.Patient, error) {
	return byPhone(ctx, t.Queries, at, phone)
}

// samePhone bounds how many patients of one number are looked at: families share one.
const samePhone = 20

func byPhone(ctx context.Context, q *dbgen.Queries, at Scope, phone string) ([]dbgen.Patient, error) {
	number := care.E164(phone)
	if number == "" {
		return nil, nil
	}
	key := care.PhoneKey(number)
	return q.PatientsByPhone(ctx, dbgen.PatientsByPhoneParams{ClinicID: at.Clinic, Env: at.Env, PhoneKey: &key, Phone: number, RowLimit: samePhone})
}
