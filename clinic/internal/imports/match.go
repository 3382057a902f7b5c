package imports

import (
	"bytes"
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// patientMatcher finds the patients that the rows of a batch describe: by external
// reference, id, CPF, phone number or name. Patients that the batch creates count as well.
type patientMatcher struct {
	tx     *store.Tx
	key    importKey
	parser *rowParser

	byID   map[uuid.UUID]*candidate
	byRef  map[string]*candidate
	byCPF  map[string]*candidate   // by hash, in hexadecimal
	byName map[string][]*candidate // by folded name
	erased map[string]bool         // tombstones of erased patients that rows describe
}

// candidate is a patient that rows of a batch may describe.
type candidate struct {
	store.Patient
	firstMatchedLine int // the line of the import that described this patient; 0 = none so far
}

// newPatientMatcher loads and locks the candidates of a batch, with a few queries for all
// of its rows.
func newPatientMatcher(ctx context.Context, tx *store.Tx, key importKey, batch []importLine) (*patientMatcher, error) {
	clinic, err := tx.Clinic(ctx, key.Clinic)
	if err != nil {
		return nil, err
	}
	today, err := store.Today(clinic.Timezone, tx.Now())
	if err != nil {
		return nil, err
	}
	m := &patientMatcher{
		tx: tx, key: key, parser: &rowParser{tx, key.scope(), today, tx.CPFHasher(key.scope()), store.AreaCode(clinic)},
		byID: make(map[uuid.UUID]*candidate), byRef: make(map[string]*candidate), byCPF: make(map[string]*candidate), byName: make(map[string][]*candidate),
	}
	if err := m.loadCandidates(ctx, batch); err != nil {
		return nil, err
	}
	if err := tx.LockPatients(ctx, key.Clinic, key.Env, m.ids()); err != nil {
		return nil, err
	}
	if err := m.loadTombstones(ctx, batch); err != nil {
		return nil, err
	}
	return m, m.loadPriorMatches(ctx)
}

// loadCandidates loads the patients that share an identifier with a row.
func (m *patientMatcher) loadCandidates(ctx context.Context, batch []importLine) error {
	var refs, phones, names []string
	var hashes [][]byte
	var ids []uuid.UUID
	for _, line := range batch {
		if id, err := uuid.Parse(line.ExternalRef); err == nil {
			ids = append(ids, id)
		}
		if line.ExternalRef != "" {
			refs = append(refs, m.tx.MaskExternalID(m.key.scope(), line.ExternalRef))
		}
		if digits := care.ParseCPF(line.CPF); digits != "" {
			hashes = append(hashes, m.parser.hashCPF(digits))
		}
		if number := care.FormatE164In(line.Phone, m.parser.areaCode); number != "" {
			phones = append(phones, care.PhoneKey(number))
		} else if line.Name != "" {
			names = append(names, store.FoldName(care.RedactCPFs(line.Name)))
		}
	}
	clinic, env := m.key.Clinic, m.key.Env
	for _, query := range []func() ([]store.Patient, error){
		func() ([]store.Patient, error) { return m.tx.PatientsByIDs(ctx, clinic, env, ids) },
		func() ([]store.Patient, error) { return m.tx.PatientsByExternalRefs(ctx, clinic, env, refs) },
		func() ([]store.Patient, error) { return m.tx.PatientsByCPFHashes(ctx, clinic, env, hashes) },
		func() ([]store.Patient, error) { return m.tx.PatientsByPhoneKeys(ctx, clinic, env, phones) },
		func() ([]store.Patient, error) { return m.tx.PatientsByNamesWithoutPhone(ctx, clinic, env, names) },
	} {
		patients, err := query()
		if err != nil {
			return err
		}
		for _, patient := range patients {
			if m.byID[patient.ID] == nil {
				m.index(&candidate{Patient: patient})
			}
		}
	}
	return nil
}

// ids returns the ids of all candidates.
func (m *patientMatcher) ids() []uuid.UUID { return slices.Collect(maps.Keys(m.byID)) }

// loadTombstones finds which rows of the batch describe an erased patient. Imports skip
// those: an erasure outlives the data it removed.
func (m *patientMatcher) loadTombstones(ctx context.Context, batch []importLine) error {
	var hashes [][]byte
	for _, line := range batch {
		if row, problem := m.parseAndResolveID(line.Row); problem == "" {
			hashes = append(hashes, m.tombstones(row)...)
		}
	}
	found, err := m.tx.FindTombstones(ctx, m.key.Clinic, m.key.Env, hashes)
	m.erased = make(map[string]bool, len(found))
	for _, hash := range found {
		m.erased[string(hash)] = true
	}
	return err
}

// parseAndResolveID validates a row. If the row has the id of a candidate, the clinic itself
// exported the file: the id is not stored as an external reference.
func (m *patientMatcher) parseAndResolveID(fileRow importfile.Row) (row parsedRow, problem string) {
	row, problem = m.parser.parse(fileRow)
	if row.patientByExportedID = m.byID[row.exportedID]; row.patientByExportedID != nil {
		row.ExternalRef = nil
	}
	return row, problem
}

func (m *patientMatcher) tombstones(row parsedRow) [][]byte {
	return m.tx.Tombstones(m.key.scope(), row.identifiers())
}

// isErased reports whether a row describes an erased patient.
func (m *patientMatcher) isErased(row parsedRow) bool {
	return len(m.erased) > 0 && slices.ContainsFunc(m.tombstones(row), func(hash []byte) bool { return m.erased[string(hash)] })
}

// loadPriorMatches notes which candidates earlier lines of the import described.
func (m *patientMatcher) loadPriorMatches(ctx context.Context) error {
	matches, err := m.tx.ImportMatches(ctx, dbgen.ImportMatchesParams{ClinicID: m.key.Clinic, Env: m.key.Env, ImportID: m.key.ID, Patients: m.ids()})
	for _, match := range matches {
		m.byID[match.PatientID].firstMatchedLine = match.Line
	}
	return err
}

// index adds a candidate under its present identifiers.
func (m *patientMatcher) index(c *candidate) {
	m.byID[c.ID] = c
	if c.ExternalRef != nil {
		m.byRef[*c.ExternalRef] = c
	}
	if c.CpfHmac != nil {
		m.byCPF[hex.EncodeToString(c.CpfHmac)] = c
	}
	name := store.FoldName(c.Name)
	if !slices.Contains(m.byName[name], c) {
		m.byName[name] = append(m.byName[name], c)
	}
}

// match returns the patient that a row describes, nil if it is a new one: by external
// reference or id, else by CPF, else by phone number, name and birth date together. problem
// is for users, "" if there is none.
func (m *patientMatcher) match(row parsedRow) (match *candidate, problem string) {
	var cpfOwner *candidate
	if row.cpfHash != nil {
		cpfOwner = m.byCPF[hex.EncodeToString(row.cpfHash)]
	}
	if match = row.patientByExportedID; row.ExternalRef != nil {
		match = m.byRef[*row.ExternalRef]
	}
	switch {
	case match == nil && cpfOwner != nil:
		return cpfOwner, ""
	case match == nil:
		return m.matchByNameAndPhone(row), ""
	case cpfOwner != nil && cpfOwner != match:
		return nil, "cpf is another patient's"
	case row.cpfHash != nil && match.CpfHmac != nil && !bytes.Equal(row.cpfHash, match.CpfHmac),
		row.BirthDate != nil && match.BirthDate != nil && !row.BirthDate.Equal(*match.BirthDate) && store.FoldName(row.Name) != store.FoldName(match.Name):
		return nil, "external_id is another patient's"
	}
	return match, ""
}

// matchByNameAndPhone returns a patient with the same name and phone number, or one without
// a number if the row has none; their CPFs must not differ. A patient with the same birth
// date comes first. If the row or the patient lacks a birth date, one of them must also lack
// an external reference.
func (m *patientMatcher) matchByNameAndPhone(row parsedRow) *candidate {
	var matchWithoutBirthDate *candidate
	for _, c := range m.byName[store.FoldName(row.Name)] {
		switch {
		case phoneKey(row.Phone) != phoneKey(c.Phone), row.cpfHash != nil && c.CpfHmac != nil && !bytes.Equal(row.cpfHash, c.CpfHmac):
		case row.BirthDate != nil && c.BirthDate != nil && row.BirthDate.Equal(*c.BirthDate):
			return c
		case matchWithoutBirthDate == nil && (row.BirthDate == nil || c.BirthDate == nil) && (row.ExternalRef == nil || c.ExternalRef == nil):
			matchWithoutBirthDate = c
		}
	}
	return matchWithoutBirthDate
}

// phoneKey is [care.PhoneKey] for an optional number, "" for none.
func phoneKey(phone *string) string {
	if phone == nil {
		return ""
	}
	return care.PhoneKey(*phone)
}
