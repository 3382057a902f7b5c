package imports

import (
	"bytes"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// parsedRow is a valid row of a file. Its Status is "" if the file does not say it.
type parsedRow struct {
	store.PatientData
	cpfHash             []byte
	exportedID          uuid.UUID  // the external reference, if it is a UUID
	patientByExportedID *candidate // the patient with that id: the clinic exported the file itself
}

// rowParser validates the rows of a clinic's file.
type rowParser struct {
	tx      *store.Tx
	scope   store.Scope
	today   time.Time // in the clinic's time zone
	hashCPF func(digits string) []byte

	areaCode string // of phone numbers without theirs; "" if they are refused
}

// parse validates a row. problem is for users and has no values of the row; "" if the row
// is valid.
func (p *rowParser) parse(fileRow importfile.Row) (row parsedRow, problem string) {
	var errs rest.FieldErrors
	row.Name, row.Status = care.RedactCPFs(fileRow.Name), fileRow.Status
	errs.CheckName(row.Name, "name", 120)
	if fileRow.ExternalRef != "" {
		errs.CheckLength(fileRow.ExternalRef, "external_id", 1, 200)
		if id, err := uuid.Parse(fileRow.ExternalRef); err == nil {
			row.exportedID = id
		}
		ref := p.tx.MaskExternalID(p.scope, fileRow.ExternalRef)
		row.ExternalRef = &ref
	}
	if fileRow.Phone != "" {
		number, problem := care.FormatE164In(fileRow.Phone, p.areaCode), brazil.PhoneProblem(fileRow.Phone, p.areaCode)
		errs.Check(problem == "", "phone", problem)
		row.Phone = &number
	}
	if fileRow.Email != "" {
		row.Email = &fileRow.Email
		errs.CheckEmail(row.Email, "email")
	}
	if fileRow.CPF != "" {
		digits := care.ParseCPF(fileRow.CPF)
		errs.Check(digits != "", "cpf", "must be a CPF: 11 digits with the right check digits")
		row.CPF = &digits
		row.cpfHash = p.hashCPF(digits)
	}
	if fileRow.BirthDate != "" {
		birthDate := errs.ParseDate(fileRow.BirthDate, "birth_date")
		errs.Check(!birthDate.After(p.today), "birth_date", "must not be in the future")
		row.BirthDate = &birthDate
	}
	if err := errs.Err(); err != nil {
		return row, err.Error()
	}
	return row, ""
}

// hasNewData reports whether the row has something that the patient does not. An external
// reference counts only if the patient has none, as patients may come from several systems.
func (r parsedRow) hasNewData(p store.Patient) bool {
	differs := func(value, current *string) bool {
		return value != nil && (current == nil || *value != *current)
	}
	return r.Name != p.Name || differs(r.Phone, p.Phone) || differs(r.Email, p.Email) || r.cpfHash != nil && !bytes.Equal(r.cpfHash, p.CpfHmac) ||
		r.BirthDate != nil && (p.BirthDate == nil || !r.BirthDate.Equal(*p.BirthDate)) || r.Status != "" && r.Status != p.Status ||
		r.ExternalRef != nil && p.ExternalRef == nil
}

// apply writes what the row has into a patient's data, for [store.Tx.ChangePatient].
func (r parsedRow) apply(d *store.PatientData) error {
	d.Name = r.Name
	for _, field := range []struct{ value, target **string }{{&r.Phone, &d.Phone}, {&r.Email, &d.Email}, {&r.CPF, &d.CPF}} {
		if *field.value != nil {
			*field.target = *field.value
		}
	}
	if r.BirthDate != nil {
		d.BirthDate = r.BirthDate
	}
	if r.Status != "" {
		d.Status = r.Status
	}
	if d.ExternalRef == nil {
		d.ExternalRef = r.ExternalRef
	}
	return nil
}

// identifiers returns what an erased patient would be recognized by.
func (r parsedRow) identifiers() store.TombstoneIdentifiers {
	return store.TombstoneIdentifiers{Name: r.Name, Phone: r.Phone, Email: r.Email, ExternalRef: r.ExternalRef, CPFHash: r.cpfHash}
}
