package imports

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// maxSource is how many characters the name of a list may have.
const maxSource = 200

// reference is a patient's number in a list.
type reference struct {
	source string // the list; "" is the clinic's own, whose numbers are external references
	text   string // "" is no reference
}

// parsedRow is a row of a file with what is valid of it. Its Status is "" if the file does
// not say it.
type parsedRow struct {
	line importLine
	store.PatientData
	civilName   string // as documents have the name, if Name is a social name
	partialDate string // of birth: YYYY or YYYY-MM; "" if BirthDate is complete
	ref         reference
	cpfHash     []byte
	exportedID  uuid.UUID // the reference, if it is a UUID: the clinic may have exported the file
	// isUncertain reports that a phone number, a CPF or a birth date was left out because it
	// cannot be read. It may be another than a namesake's.
	isUncertain bool

	warnings []string // what was left out, for users and without values
	problem  string   // why the row cannot be imported, as warnings; "" if it can
}

// rowParser validates the rows of a clinic's file.
type rowParser struct {
	today    time.Time // in the clinic's time zone
	areaCode string    // of phone numbers without theirs; "" if they are refused
	source   string    // of all references; "" if the rows or nothing names it

	hashCPF func(digits string) []byte
	maskID  func(id string) string // see [store.Tx.MaskExternalID]
}

func newRowParser(tx *store.Tx, scope store.Scope, clinic store.Clinic, today time.Time, source string) *rowParser {
	return &rowParser{
		today: today, areaCode: store.AreaCode(clinic), source: source, hashCPF: tx.CPFHasher(scope),
		maskID: func(id string) string { return tx.MaskExternalID(scope, id) },
	}
}

// parse validates a row. What is wrong with its name or reference refuses the row; what is
// wrong with another field leaves that field out.
func (p *rowParser) parse(line importLine) parsedRow {
	row := parsedRow{line: line, warnings: line.Warnings, problem: line.Problem, isUncertain: line.HasUnreadableDate}
	if row.problem != "" {
		return row
	}
	var errs rest.FieldErrors
	row.Name, row.civilName, row.Status = care.RedactCPFs(line.Name), care.RedactCPFs(line.CivilName), line.Status
	errs.CheckName(row.Name, "name", 120)
	if line.ExternalRef != "" {
		p.parseReference(&row, &errs)
	}
	if err := errs.Err(); err != nil {
		row.problem = err.Error()
		return row
	}
	p.parsePhone(&row)
	if line.Email != "" {
		row.Email = &row.line.Email
		row.check(func(errs *rest.FieldErrors) { errs.CheckEmail(row.Email, "email") }, func() { row.Email = nil })
	}
	if line.CPF != "" {
		digits := care.ParseCPF(line.CPF)
		row.CPF, row.cpfHash = &digits, p.hashCPF(digits)
		row.check(func(errs *rest.FieldErrors) {
			errs.Check(digits != "", "cpf", "must be a CPF: 11 digits with the right check digits")
		}, func() { row.CPF, row.cpfHash, row.isUncertain = nil, nil, true })
	}
	p.parseBirthDate(&row)
	return row
}

// check leaves a field out, with a warning, if a check finds something wrong with it.
func (r *parsedRow) check(check func(*rest.FieldErrors), leaveOut func()) {
	var errs rest.FieldErrors
	check(&errs)
	if err := errs.Err(); err != nil {
		if warning := err.Error() + ": left out"; !slices.Contains(r.warnings, warning) {
			r.warnings = append(slices.Clip(r.warnings), warning)
		}
		leaveOut()
	}
}

func (p *rowParser) parseReference(row *parsedRow, errs *rest.FieldErrors) {
	text := row.line.ExternalRef
	errs.CheckLength(text, "external_id", 1, 200)
	if id, err := uuid.Parse(text); err == nil {
		row.exportedID = id
	}
	row.ref = reference{p.source, p.maskID(text)}
	if row.ref.source == "" {
		row.ref.source = p.maskID(normalizeSource(row.line.Source))
		errs.Check(utf8.RuneCountInString(row.ref.source) <= maxSource, "identifier.system", "must have at most 200 characters")
	}
	if row.ref.source == "" {
		row.ExternalRef = &row.ref.text
	}
}

// normalizeSource returns the name of a list as it is stored and compared.
func normalizeSource(source string) string { return strings.ToLower(strings.TrimSpace(source)) }

// parsePhone takes the best number that can be read.
func (p *rowParser) parsePhone(row *parsedRow) {
	if row.line.Phone == "" {
		return
	}
	for _, phone := range append([]string{row.line.Phone}, row.line.OtherPhones...) {
		if row.Phone != nil {
			break
		}
		number := care.FormatE164In(phone, p.areaCode)
		row.Phone = &number
		row.check(func(errs *rest.FieldErrors) {
			problem := brazil.PhoneProblem(phone, p.areaCode)
			errs.Check(problem == "", "phone", problem)
		}, func() { row.Phone = nil })
	}
	row.isUncertain = row.isUncertain || row.Phone == nil
}

func (p *rowParser) parseBirthDate(row *parsedRow) {
	if row.partialDate = row.line.PartialDate; row.line.BirthDate == "" {
		return
	}
	row.partialDate = ""
	row.check(func(errs *rest.FieldErrors) {
		birthDate := errs.ParseDate(row.line.BirthDate, "birth_date")
		errs.Check(!birthDate.After(p.today), "birth_date", "must not be in the future")
		row.BirthDate = &birthDate
	}, func() { row.BirthDate, row.isUncertain = nil, true })
}

// names returns the names that the row has for the patient.
func (r parsedRow) names() []string {
	if r.civilName == "" {
		return []string{r.Name}
	}
	return []string{r.Name, r.civilName}
}

// newName returns the name of a patient that the row describes: the row's, unless it is
// shorter than the present one.
func (r parsedRow) newName(current string) string {
	if r.civilName != "" {
		return r.Name
	}
	return care.FullerName(current, r.Name)
}

// hasNewData reports whether the row has something that the patient does not. A reference
// counts only if the patient has none in the same list.
func (r parsedRow) hasNewData(c *candidate) bool {
	differs := func(value, current *string) bool {
		return value != nil && (current == nil || *value != *current)
	}
	return r.newName(c.Name) != c.Name || differs(r.Phone, c.Phone) || differs(r.Email, c.Email) || r.cpfHash != nil && !bytes.Equal(r.cpfHash, c.CpfHmac) ||
		r.BirthDate != nil && (c.BirthDate == nil || !r.BirthDate.Equal(*c.BirthDate)) || r.Status != "" && r.Status != c.Status || r.addsReference(c)
}

// hasOtherReference reports whether the patient has another reference in the row's list.
func (r parsedRow) hasOtherReference(c *candidate) bool {
	current := c.refs[r.ref.source]
	return r.ref.text != "" && current != "" && current != r.ref.text && !slices.Contains(c.mergedRefs, r.ref)
}

// addsReference reports whether the patient gets the row's reference.
func (r parsedRow) addsReference(c *candidate) bool {
	return r.ref.text != "" && c.refs[r.ref.source] == ""
}

// apply writes what the row has into a patient's data, for [store.Tx.ChangePatient].
func (r parsedRow) apply(d *store.PatientData) {
	d.Name = r.newName(d.Name)
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
}

// applyTo returns a patient as [parsedRow.apply] would leave it in the database.
func (r parsedRow) applyTo(p store.Patient) store.Patient {
	data := store.PatientData{Name: p.Name, Phone: p.Phone, Email: p.Email, BirthDate: p.BirthDate, Status: p.Status, ExternalRef: p.ExternalRef}
	r.apply(&data)
	p.Name, p.Phone, p.Email, p.BirthDate, p.Status, p.ExternalRef = data.Name, data.Phone, data.Email, data.BirthDate, data.Status, data.ExternalRef
	if r.cpfHash != nil {
		p.CpfHmac = r.cpfHash
	}
	return p
}

// identifiers returns what an erased patient would be recognized by.
func (r parsedRow) identifiers() store.TombstoneIdentifiers {
	identifiers := store.TombstoneIdentifiers{Name: r.Name, Phone: r.Phone, Email: r.Email, CPFHash: r.cpfHash}
	if r.ref.text != "" {
		identifiers.Source, identifiers.ExternalRef = r.ref.source, &r.ref.text
	}
	return identifiers
}
