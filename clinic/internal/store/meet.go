package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/intake"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

// met is a patient that an import has to do with.
type met struct {
	dbgen.Patient
	line int // of the import, that was about this patient before; 0 = none yet
}

// party is whom a batch of an import may be about: the patients that the clinic has
// under its references, tax ids and phone numbers, those that it gave out itself, and those
// it makes.
type party struct {
	tx     *Tx
	at     Scope
	id     uuid.UUID // of the import
	key    []byte    // of the hashes of tax ids
	today  time.Time // where the clinic is
	byID   map[uuid.UUID]*met
	byRef  map[string]*met
	byCPF  map[string]*met
	byName map[string][]*met // by folded name
	gone   map[string]bool   // tombstones of those who were forgotten

	made                     []dbgen.Patient // that are new
	updated, skipped, failed int

	newLines    []int
	newPatients []uuid.UUID
	badLines    []int
	problems    []string
}

// meet finds whom a batch may be about, with a few questions for all of it.
func (t *Tx) meet(ctx context.Context, at Scope, id uuid.UUID, batch []line) (*party, error) {
	p := &party{tx: t, at: at, id: id, key: t.host.Sealer.Derive("cpf"), byID: make(map[uuid.UUID]*met), byRef: make(map[string]*met), byCPF: make(map[string]*met), byName: make(map[string][]*met)}
	clinic, err := t.Clinic(ctx, at.Clinic)
	if err != nil {
		return nil, err
	}
	if p.today, err = Today(clinic.Timezone, t.now); err != nil {
		return nil, err
	}
	var refs, phones, names []string
	var hashes [][]byte
	var ids []uuid.UUID
	for _, one := range batch {
		if id, err := uuid.Parse(one.Ref); err == nil {
			ids = append(ids, id)
		}
		if one.Ref != "" {
			refs = append(refs, t.Opaque(at, one.Ref))
		}
		if digits := care.CPF(one.CPF); digits != "" {
			hashes = append(hashes, cpfHash(p.key, at, digits))
		}
		if number := care.E164(one.Phone); number != "" {
			phones = append(phones, care.PhoneKey(number))
		} else if one.Name != "" {
			names = append(names, folded(care.HideCPF(one.Name)))
		}
	}
	for _, find := range []func() ([]dbgen.Patient, error){
		func() ([]dbgen.Patient, error) { return t.PatientsByIDs(ctx, at.Clinic, at.Env, ids) },
		func() ([]dbgen.Patient, error) { return t.PatientsByRefs(ctx, at.Clinic, at.Env, refs) },
		func() ([]dbgen.Patient, error) { return t.PatientsByCPFs(ctx, at.Clinic, at.Env, hashes) },
		func() ([]dbgen.Patient, error) { return t.PatientsByPhones(ctx, at.Clinic, at.Env, phones) },
		func() ([]dbgen.Patient, error) { return t.PatientsWithoutPhone(ctx, at.Clinic, at.Env, names) },
	} {
		list, err := find()
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if p.byID[one.ID] == nil {
				p.know(&met{Patient: one})
			}
		}
	}
	if err := t.LockPatients(ctx, at.Clinic, at.Env, p.ids()); err != nil {
		return nil, err
	}
	if err := p.mourn(ctx, batch); err != nil {
		return nil, err
	}
	return p, p.remember(ctx)
}

// ids are those of the patients that are known.
func (p *party) ids() []uuid.UUID { return slices.Collect(maps.Keys(p.byID)) }

// mourn learns who of a batch was forgotten.
func (p *party) mourn(ctx context.Context, batch []line) error {
	var hashes [][]byte
	for _, one := range batch {
		if t, problem := p.check(one.Row); problem == "" {
			hashes = append(hashes, p.tx.tombstones(p.at, t.Name, t.Phone, t.Email, t.ExternalRef, t.hash)...)
		}
	}
	found, err := p.tx.Forgotten(ctx, p.at.Clinic, p.at.Env, hashes)
	p.gone = make(map[string]bool, len(found))
	for _, hash := range found {
		p.gone[string(hash)] = true
	}
	return err
}

// forgotten tells whether a line is about somebody who asked to be forgotten.
func (p *party) forgotten(t told) bool {
	return len(p.gone) > 0 && slices.ContainsFunc(p.tx.tombstones(p.at, t.Name, t.Phone, t.Email, t.ExternalRef, t.hash), func(hash []byte) bool { return p.gone[string(hash)] })
}

// remember notes which patients earlier lines were about.
func (p *party) remember(ctx context.Context) error {
	before, err := p.tx.ImportMatches(ctx, dbgen.ImportMatchesParams{ClinicID: p.at.Clinic, Env: p.at.Env, ImportID: p.id, Patients: p.ids()})
	for _, one := range before {
		p.byID[one.PatientID].line = one.Line
	}
	return err
}

// know makes a patient known under what it goes by now.
func (p *party) know(one *met) {
	p.byID[one.ID] = one
	if one.ExternalRef != nil {
		p.byRef[*one.ExternalRef] = one
	}
	if one.CpfHmac != nil {
		p.byCPF[hex.EncodeToString(one.CpfHmac)] = one
	}
	name := folded(one.Name)
	for _, known := range p.byName[name] {
		if known == one {
			return
		}
	}
	p.byName[name] = append(p.byName[name], one)
}

// told is what a line tells, checked.
type told struct {
	PatientData
	status string // "" = not told
	hash   []byte // of the tax id
	own    *met   // whose id here the reference is: the file came from this clinic
}

// check reads what a line tells. problem is for people, without values.
func (p *party) check(l intake.Row) (t told, problem string) {
	var wrong rest.FieldErrors
	t.Name, t.status = care.HideCPF(l.Name), l.Status
	wrong.CheckName(t.Name, "name", 120)
	if l.Ref != "" {
		wrong.CheckLength(l.Ref, "external_id", 1, 200)
		if id, err := uuid.Parse(l.Ref); err == nil {
			t.own = p.byID[id]
		}
		if ref := p.tx.Opaque(p.at, l.Ref); t.own == nil {
			t.ExternalRef = &ref
		}
	}
	if l.Phone != "" {
		number := care.E164(l.Phone)
		wrong.Check(number != "", "phone", "must be a phone number of 8 to 15 digits")
		t.Phone = &number
	}
	if l.Email != "" {
		t.Email = &l.Email
		wrong.CheckEmail(t.Email, "email")
	}
	if l.CPF != "" {
		digits := care.CPF(l.CPF)
		wrong.Check(digits != "", "cpf", "must be a CPF: 11 digits with the right check digits")
		t.CPF = &digits
		t.hash = cpfHash(p.key, p.at, digits)
	}
	if l.BirthDate != "" {
		born := wrong.ParseDate(l.BirthDate, "birth_date")
		wrong.Check(!born.After(p.today), "birth_date", "must not be in the future")
		t.BirthDate = &born
	}
	if err := wrong.Err(); err != nil {
		return t, err.Error()
	}
	return t, ""
}

// find is whom a line is about, nil for somebody new: by its reference or id here, else
// by its tax id, else by phone, name and day of birth together.
func (p *party) find(t told) (found *met, problem string) {
	var owner *met // of the tax id
	if t.hash != nil {
		owner = p.byCPF[hex.EncodeToString(t.hash)]
	}
	if found = t.own; t.ExternalRef != nil {
		found = p.byRef[*t.ExternalRef]
	}
	switch {
	case found == nil && owner != nil:
		return owner, ""
	case found == nil:
		return p.alike(t), ""
	case owner != nil && owner != found:
		return nil, "cpf is another patient's"
	case t.hash != nil && found.CpfHmac != nil && !bytes.Equal(t.hash, found.CpfHmac),
		t.BirthDate != nil && found.BirthDate != nil && !t.BirthDate.Equal(*found.BirthDate) && folded(t.Name) != folded(found.Name):
		return nil, "external_id is another patient's"
	}
	return found, ""
}

// alike is a patient with the same phone, name and day of birth; where the day is
// known of one side only, one whose reference is no other either.
func (p *party) alike(t told) *met {
	var likely *met
	for _, one := range p.byName[folded(t.Name)] {
		switch {
		case key(t.Phone) != key(one.Phone), t.hash != nil && one.CpfHmac != nil && !bytes.Equal(t.hash, one.CpfHmac):
		case t.BirthDate != nil && one.BirthDate != nil && t.BirthDate.Equal(*one.BirthDate):
			return one
		case likely == nil && (t.BirthDate == nil || one.BirthDate == nil) && (t.ExternalRef == nil || one.ExternalRef == nil):
			likely = one
		}
	}
	return likely
}

// key is what a number is compared by; "" for none.
func key(phone *string) string {
	if phone == nil {
		return ""
	}
	return care.PhoneKey(*phone)
}

// folded is a name as name_search has it: lower case, without accents.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Mn, c) {
			return -1
		}
		return c
	}, norm.NFD.String(strings.ToLower(name)))
}

// news tells whether a line knows something that the clinic does not. Of a patient
// that has a reference already another one is none: it may come from several places.
func (t told) news(of dbgen.Patient) bool {
	differs := func(told, known *string) bool { return told != nil && !same(told, known) }
	return t.Name != of.Name || differs(t.Phone, of.Phone) || differs(t.Email, of.Email) || t.hash != nil && !bytes.Equal(t.hash, of.CpfHmac) ||
		t.BirthDate != nil && (of.BirthDate == nil || !t.BirthDate.Equal(*of.BirthDate)) || t.status != "" && t.status != of.Status ||
		t.ExternalRef != nil && of.ExternalRef == nil
}

// into adds to a patient what a line tells.
func (t told) into(d *PatientData) error {
	d.Name = t.Name
	for _, one := range []struct{ told, known **string }{{&t.Phone, &d.Phone}, {&t.Email, &d.Email}, {&t.CPF, &d.CPF}} {
		if *one.told != nil {
			*one.known = *one.told
		}
	}
	if t.BirthDate != nil {
		d.BirthDate = t.BirthDate
	}
	if t.status != "" {
		d.Status = t.status
	}
	if d.ExternalRef == nil {
		d.ExternalRef = t.ExternalRef
	}
	return nil
}

// take makes of a line what it is: a new patient, a change, nothing new, or an error.
func (p *party) take(ctx context.Context, l intake.Row) error {
	if l.Problem != "" {
		p.fail(l, l.Problem)
		return nil
	}
	t, problem := p.check(l)
	if problem != "" {
		p.fail(l, problem)
		return nil
	}
	found, problem := p.find(t)
	switch {
	case problem != "":
		p.fail(l, problem)
		return nil
	case found == nil && p.forgotten(t), found != nil && found.Status == Anonymized:
		p.skipped++
		p.note(l, "skipped: this patient asked to be forgotten; who comes back is added by hand")
		return nil
	case found == nil:
		p.create(l, t)
		return nil
	case !t.news(found.Patient):
		p.skipped++
	case found.line > 0:
		p.fail(l, "tells another thing of a patient that an earlier line was about")
		return nil
	default:
		changed, err := p.tx.ChangePatient(ctx, p.at, found.ID, t.into)
		if err != nil {
			return err
		}
		p.updated++
		found.Patient = changed
		p.know(found)
	}
	p.mark(l, found)
	return nil
}

// create plans a patient; [party.save] makes it, with all others of the batch.
func (p *party) create(l intake.Row, t told) {
	if t.Status = t.status; t.Status == "" {
		t.Status = Active
	}
	one := &met{Patient: dbgen.Patient{
		ClinicID: p.at.Clinic, Env: p.at.Env, ID: NewID(), Name: t.Name, Phone: t.Phone, Email: t.Email, BirthDate: t.BirthDate,
		Status: t.Status, ExternalRef: t.ExternalRef,
	}}
	one.CpfEnc, one.CpfHmac, one.CpfLast2 = p.tx.sealed(p.at, one.ID, t.CPF)
	p.made = append(p.made, one.Patient)
	p.know(one)
	p.mark(l, one)
}

// mark notes that a line was about a patient.
func (p *party) mark(l intake.Row, one *met) {
	if one.line > 0 {
		return
	}
	one.line = l.Line
	p.newLines, p.newPatients = append(p.newLines, l.Line), append(p.newPatients, one.ID)
}

func (p *party) fail(l intake.Row, problem string) {
	p.failed++
	p.note(l, problem)
}

// note has a line listed with a problem.
func (p *party) note(l intake.Row, problem string) {
	p.badLines, p.problems = append(p.badLines, l.Line), append(p.problems, problem)
}

// save makes the new patients, and notes what came of a batch and where the next one
// begins.
func (p *party) save(ctx context.Context, was dbgen.Import, end intake.Position) error {
	if room := max(0, maxErrors-was.Failed); len(p.badLines) > room {
		p.badLines, p.problems = p.badLines[:room], p.problems[:room]
	}
	if err := p.tx.createPatients(ctx, p.at, p.made); err != nil {
		return err
	}
	if len(p.badLines) > 0 {
		if err := p.tx.InsertImportErrors(ctx, dbgen.InsertImportErrorsParams{ClinicID: p.at.Clinic, Env: p.at.Env, ImportID: p.id, Lines: p.badLines, Errors: p.problems}); err != nil {
			return err
		}
	}
	if len(p.newPatients) > 0 {
		if err := p.tx.InsertImportMatches(ctx, dbgen.InsertImportMatchesParams{ClinicID: p.at.Clinic, Env: p.at.Env, ImportID: p.id, Patients: p.newPatients, Lines: p.newLines}); err != nil {
			return err
		}
	}
	return p.tx.AdvanceImport(ctx, dbgen.AdvanceImportParams{
		ClinicID: p.at.Clinic, Env: p.at.Env, ID: p.id, Status: ImportRunning, Created: len(p.made), Updated: p.updated, Skipped: p.skipped, Failed: p.failed,
		Position: end.Offset, Line: end.Line,
	})
}

// patientCreated is the event about a new patient.
const patientCreated = "patient.created"

// created is what it says.
type created struct {
	PatientID uuid.UUID `json:"patient_id"`
	Phone     *string   `json:"phone"`
	Name      string    `json:"name"`
	Email     *string   `json:"email"`
	CPF       *string   `json:"cpf"`
}

func createdOf(p dbgen.Patient) created { return created{p.ID, p.Phone, p.Name, p.Email, MaskedCPF(p)} }

// createPatients is [Tx.CreatePatient] for many, with a few statements for all of them.
func (t *Tx) createPatients(ctx context.Context, at Scope, list []dbgen.Patient) error {
	rows, events := make([]dbgen.InsertPatientsParams, len(list)), make([]hub.Event, len(list))
	for i, p := range list {
		rows[i] = dbgen.InsertPatientsParams{
			ClinicID: p.ClinicID, Env: p.Env, ID: p.ID, Name: p.Name, Phone: p.Phone, Email: p.Email, CpfEnc: p.CpfEnc, CpfHmac: p.CpfHmac, CpfLast2: p.CpfLast2,
			BirthDate: p.BirthDate, Status: p.Status, ExternalRef: p.ExternalRef, CreatedAt: t.now,
		}
		data, err := json.Marshal(createdOf(p))
		if err != nil {
			return fmt.Errorf("writing %s: %w", patientCreated, err)
		}
		events[i] = hub.Event{TenantID: at.Clinic, Environment: at.Env, Type: patientCreated, Data: data}
	}
	if len(list) == 0 {
		return nil
	}
	var failed error
	t.InsertPatients(ctx, rows).Exec(func(_ int, err error) {
		if failed == nil && err != nil {
			failed = patientTaken(err)
		}
	})
	if failed != nil {
		return failed
	}
	if _, err := t.host.Events.PublishAll(ctx, t.Raw, events); err != nil {
		return fmt.Errorf("publishing %s: %w", patientCreated, err)
	}
	return nil
}
