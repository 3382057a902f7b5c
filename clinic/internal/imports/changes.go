package imports

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
)

// snapshot is a patient's data before or after an import. Its JSON is stored, encrypted or
// hashed, until the import can no longer be undone.
type snapshot struct {
	Name        string  `json:"name"`
	Phone       *string `json:"phone"`
	Email       *string `json:"email"`
	CPF         *string `json:"cpf"`
	BirthDate   *string `json:"birth_date"`
	Status      string  `json:"status"`
	ExternalRef *string `json:"external_ref"`
}

func newSnapshot(d store.PatientData) snapshot {
	s := snapshot{Name: d.Name, Phone: d.Phone, Email: d.Email, CPF: d.CPF, Status: d.Status, ExternalRef: d.ExternalRef}
	if d.BirthDate != nil {
		date := d.BirthDate.Format(time.DateOnly)
		s.BirthDate = &date
	}
	return s
}

// patientData returns the data that a snapshot was made of.
func (s snapshot) patientData() (store.PatientData, error) {
	d := store.PatientData{Name: s.Name, Phone: s.Phone, Email: s.Email, CPF: s.CPF, Status: s.Status, ExternalRef: s.ExternalRef}
	if s.BirthDate != nil {
		date, err := time.Parse(time.DateOnly, *s.BirthDate)
		if err != nil {
			return d, fmt.Errorf("reading a patient's data before an import: %w", err)
		}
		d.BirthDate = &date
	}
	return d, nil
}

// encode returns the snapshot's JSON.
func (s snapshot) encode() []byte {
	encoded, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts only
	}
	return encoded
}

// hashAfter returns the hash by which an undo recognizes a patient as the import left it.
func hashAfter(tx *store.Tx, scope store.Scope, patient uuid.UUID, d store.PatientData) []byte {
	return tx.ImportedHash(scope, patient, newSnapshot(d).encode())
}

// changeContext binds encrypted data to a patient and the import that changed it.
func changeContext(importID, patient uuid.UUID) string {
	return "import/" + importID.String() + "/before/" + patient.String()
}

// changes are the patients that a batch described, as parallel lists for the database.
// Elements of befores and afters are nil where nothing was changed.
type changes struct {
	lines           []int
	patients        []uuid.UUID
	befores, afters [][]byte
	sources, refs   []string // of references that were added; "" for none
}

// add lists a patient that a row describes.
func (c *changes) add(row parsedRow, patient *candidate) {
	c.lines, c.patients = append(c.lines, row.line.Line), append(c.patients, patient.ID)
	c.befores, c.afters, c.sources, c.refs = append(c.befores, nil), append(c.afters, nil), append(c.sources, ""), append(c.refs, "")
}

// describe adds to the last patient what an undo needs to know: what a row created or, if
// before is not nil, changed. It comes before the row's reference is the patient's.
func (c *changes) describe(tx *store.Tx, key importKey, row parsedRow, patient *candidate, before *store.PatientData, after store.PatientData) {
	last := len(c.lines) - 1
	c.afters[last] = hashAfter(tx, key.scope(), patient.ID, after)
	if before != nil {
		c.befores[last] = tx.Host.Sealer.Seal(newSnapshot(*before).encode(), changeContext(key.ID, patient.ID))
	}
	if row.ref.source != "" && row.addsReference(patient) {
		c.sources[last], c.refs[last] = row.ref.source, row.ref.text
	}
}
