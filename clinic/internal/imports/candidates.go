package imports

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/tx"
)

// patientMatcher finds the patients that the rows of a batch describe, and recognizes rows
// about erased patients. Patients that the batch creates count as well.
type patientMatcher struct {
	tx    *store.Tx
	key   importKey
	index *patientIndex

	rows   []parsedRow
	erased map[string]bool // tombstones of erased patients that rows describe
}

// newPatientMatcher validates the rows of a batch and loads their candidates, with a few
// queries for all of them. Unless nothing is to be changed, it locks the candidates.
func newPatientMatcher(ctx context.Context, tx *store.Tx, key importKey, importState store.Import, batch []importLine) (*patientMatcher, error) {
	clinic, err := tx.Clinic(ctx, key.Clinic)
	if err != nil {
		return nil, err
	}
	today, err := store.Today(clinic.Timezone, tx.Now())
	if err != nil {
		return nil, err
	}
	parser := newRowParser(tx, key.scope(), clinic, today, importState.Source)
	m := &patientMatcher{tx: tx, key: key, index: newPatientIndex()}
	for _, line := range batch {
		m.rows = append(m.rows, parser.parse(line))
	}
	if err := m.loadCandidates(ctx, importState.DryRun); err != nil {
		return nil, err
	}
	// If a row has the id of a candidate, the clinic itself exported the file: the id is not
	// stored as a reference.
	for i := range m.rows {
		if m.index.byID[m.rows[i].exportedID] != nil {
			m.rows[i].ref, m.rows[i].ExternalRef = reference{}, nil
		}
	}
	if err := m.loadTombstones(ctx); err != nil {
		return nil, err
	}
	return m, m.loadPriorMatches(ctx)
}

// rowKeys are the identifiers of rows, as the database finds patients by them.
type rowKeys struct {
	ids                                 []uuid.UUID
	externalRefs, sources, refs, phones []string
	hashes                              [][]byte
	names                               []string // of rows without a phone number that identifies people
	fillers                             []string // those rows' phone numbers
}

func (m *patientMatcher) rowKeys() (keys rowKeys) {
	for _, row := range m.rows {
		if row.problem != "" {
			continue
		}
		if row.exportedID != uuid.Nil {
			keys.ids = append(keys.ids, row.exportedID)
		}
		switch {
		case row.ExternalRef != nil:
			keys.externalRefs = append(keys.externalRefs, *row.ExternalRef)
			keys.sources, keys.refs = append(keys.sources, store.MergedExternalRefs), append(keys.refs, *row.ExternalRef)
		case row.ref.text != "":
			keys.sources, keys.refs = append(keys.sources, row.ref.source), append(keys.refs, row.ref.text)
		}
		if row.cpfHash != nil {
			keys.hashes = append(keys.hashes, row.cpfHash)
		}
		if key := phoneKey(row.Phone); key != "" {
			keys.phones = append(keys.phones, key)
			continue
		}
		keys.names = append(keys.names, care.FoldName(row.Name))
		if row.Phone != nil {
			keys.fillers = append(keys.fillers, care.PhoneKey(*row.Phone))
		}
	}
	return keys
}

// loadCandidates loads the patients that share an identifier with a row. They are read as
// they are when they are locked: the decisions depend on them. If one was deleted meanwhile,
// by a merge or an undo, all are found anew, because the survivor of a merge was not found.
func (m *patientMatcher) loadCandidates(ctx context.Context, isDryRun bool) error {
	keys := m.rowKeys()
	var found []uuid.UUID
	clinic, env := m.key.Clinic, m.key.Env
	for _, query := range []func() ([]uuid.UUID, error){
		func() ([]uuid.UUID, error) { return m.tx.PatientIDsByExternalRefs(ctx, clinic, env, keys.externalRefs) },
		func() ([]uuid.UUID, error) {
			if len(keys.refs) == 0 {
				return nil, nil
			}
			return m.tx.PatientsByReferences(ctx, dbgen.PatientsByReferencesParams{ClinicID: clinic, Env: env, Sources: keys.sources, Refs: keys.refs})
		},
		func() ([]uuid.UUID, error) { return m.tx.PatientIDsByCPFHashes(ctx, clinic, env, keys.hashes) },
		func() ([]uuid.UUID, error) { return m.tx.PatientIDsByPhoneKeys(ctx, clinic, env, keys.phones) },
		func() ([]uuid.UUID, error) {
			return m.tx.PatientIDsByNamesWithoutPhone(ctx, dbgen.PatientIDsByNamesWithoutPhoneParams{ClinicID: clinic, Env: env, Names: keys.names, Fillers: keys.fillers})
		},
	} {
		ids, err := query()
		if err != nil {
			return err
		}
		found = append(found, ids...)
	}
	ids := slices.Concat(keys.ids, found)
	read := m.tx.LockPatients
	if isDryRun {
		read = m.tx.PatientsByIDs
	}
	patients, err := read(ctx, clinic, env, ids)
	if err != nil {
		return err
	}
	candidates := make(map[uuid.UUID]*candidate, len(patients))
	var order []*candidate
	for _, patient := range patients {
		c := newCandidate(patient)
		candidates[c.ID], order = c, append(order, c)
	}
	for _, id := range found {
		if candidates[id] == nil {
			return tx.ErrConflict
		}
	}
	references, err := m.tx.ReferencesOfPatients(ctx, clinic, env, ids)
	if err != nil {
		return err
	}
	for _, r := range references {
		if c := candidates[r.PatientID]; c != nil {
			c.setReference(r)
		}
	}
	if isDryRun {
		if order, err = m.addDrafts(ctx, keys, ids, candidates, order); err != nil {
			return err
		}
	}
	for _, c := range order {
		m.index.add(c)
	}
	return nil
}

func newCandidate(patient store.Patient) *candidate {
	c := &candidate{Patient: patient, refs: make(map[string]string)}
	if patient.ExternalRef != nil {
		c.refs[""] = *patient.ExternalRef
	}
	return c
}

// setReference notes a number that the patient has in a list. Of several in one list, as a merge
// leaves them, the first is the patient's own.
func (c *candidate) setReference(r store.PatientReference) {
	switch {
	case r.Source == store.MergedExternalRefs:
		c.mergedRefs = append(c.mergedRefs, reference{"", r.Reference})
	case c.refs[r.Source] == "":
		c.refs[r.Source] = r.Reference
	default:
		c.mergedRefs = append(c.mergedRefs, reference{r.Source, r.Reference})
	}
}

// addDrafts adds the patients that earlier rows of a dry run would have created, and changes
// those that they would have changed.
func (m *patientMatcher) addDrafts(ctx context.Context, keys rowKeys, ids []uuid.UUID, candidates map[uuid.UUID]*candidate, order []*candidate) ([]*candidate, error) {
	drafts, err := m.tx.ImportDrafts(ctx, dbgen.ImportDraftsParams{
		ClinicID: m.key.Clinic, Env: m.key.Env, ImportID: m.key.ID, Ids: ids, ExternalRefs: keys.externalRefs, Sources: keys.sources, Refs: keys.refs,
		Hashes: keys.hashes, PhoneKeys: keys.phones, Names: keys.names, Fillers: keys.fillers,
	})
	if err != nil {
		return nil, err
	}
	for _, draft := range drafts {
		c := candidates[draft.ID]
		if c == nil {
			c = newCandidate(store.Patient{ClinicID: m.key.Clinic, Env: m.key.Env, ID: draft.ID})
			order = append(order, c)
		}
		c.Name, c.Phone, c.Email, c.CpfHmac, c.BirthDate, c.Status, c.ExternalRef = draft.Name, draft.Phone, draft.Email, draft.CpfHmac, draft.BirthDate, draft.Status, draft.ExternalRef
		if c.ExternalRef != nil {
			c.refs[""] = *c.ExternalRef
		}
		if draft.Source != nil && draft.Reference != nil {
			c.refs[*draft.Source] = *draft.Reference
		}
		c.firstMatchedLine = draft.Line
	}
	return order, nil
}

// loadTombstones finds which rows of the batch describe an erased patient. Imports skip
// those: an erasure outlives the data it removed.
func (m *patientMatcher) loadTombstones(ctx context.Context) error {
	var hashes [][]byte
	for _, row := range m.rows {
		if row.problem == "" {
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

func (m *patientMatcher) tombstones(row parsedRow) [][]byte {
	return m.tx.Tombstones(m.key.scope(), row.identifiers())
}

// isErased reports whether a row describes an erased patient.
func (m *patientMatcher) isErased(row parsedRow) bool {
	return len(m.erased) > 0 && slices.ContainsFunc(m.tombstones(row), func(hash []byte) bool { return m.erased[string(hash)] })
}

// loadPriorMatches notes which candidates earlier lines of the import described.
func (m *patientMatcher) loadPriorMatches(ctx context.Context) error {
	ids := make([]uuid.UUID, 0, len(m.index.byID))
	for id := range m.index.byID {
		ids = append(ids, id)
	}
	matches, err := m.tx.ImportMatches(ctx, dbgen.ImportMatchesParams{ClinicID: m.key.Clinic, Env: m.key.Env, ImportID: m.key.ID, Patients: ids})
	for _, match := range matches {
		m.index.byID[match.PatientID].firstMatchedLine = match.Line
	}
	return err
}
