package imports

import (
	"context"
	"fmt"
	"strings"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// batchImporter imports the rows of a batch and collects their outcomes.
type batchImporter struct {
	matcher  *patientMatcher
	isDryRun bool

	newPatients                       []store.Patient // new patients, inserted by commit
	created, updated, skipped, failed int
	warned                            int

	changes      changes
	dryRunDrafts []dbgen.UpsertImportDraftsParams // what a dry run would have done

	// Parallel lists for the database.
	problemLines []int
	problems     []string
	warningLines []int
	warnings     []string
	refs         dbgen.InsertPatientReferencesParams
}

// importRow applies one row: it updates the matching patient now, and keeps a new one for
// [batchImporter.commit]. A row without new data is skipped. A row with a problem fails; its
// line is listed.
func (b *batchImporter) importRow(ctx context.Context, row parsedRow) error {
	if row.problem != "" {
		b.fail(row, row.problem)
		return nil
	}
	d := b.matcher.index.match(row)
	match := d.patient
	switch {
	case d.problem != "":
		b.fail(row, d.problem)
		return nil
	case match == nil && b.matcher.isErased(row), match != nil && match.Status == store.Anonymized:
		b.skipped++
		b.addProblem(row, "skipped: this patient was erased; add them by hand")
		return nil
	case match == nil:
		b.addNewPatient(row)
		b.addWarnings(row, d.warning)
		return nil
	case !row.hasNewData(match):
		b.skipped++
		b.addMatch(row, match)
	case match.firstMatchedLine > 0:
		b.fail(row, "contradicts an earlier line about the same patient")
		return nil
	default:
		if err := b.updatePatient(ctx, row, match); err != nil {
			return err
		}
	}
	b.addWarnings(row, d.warning)
	return nil
}

// updatePatient applies a row to a patient.
func (b *batchImporter) updatePatient(ctx context.Context, row parsedRow, match *candidate) error {
	b.updated++
	if b.isDryRun {
		b.matcher.index.update(match, row.applyTo(match.Patient), row)
		b.addMatch(row, match)
		return nil
	}
	tx, key := b.matcher.tx, b.matcher.key
	var before, after store.PatientData
	updated, err := tx.ChangePatient(ctx, key.scope(), match.ID, func(d *store.PatientData) error {
		if d.HasUnreadableCPF() { // the undo could not restore it
			return fmt.Errorf("the CPF of patient %s: %w", match.ID, store.ErrUnreadable)
		}
		before = *d
		row.apply(d)
		after = *d
		return nil
	})
	if err != nil {
		return err
	}
	b.addMatch(row, match)
	b.changes.describe(tx, key, row, match, &before, after)
	b.addReference(row, match)
	b.matcher.index.update(match, updated, row)
	return nil
}

// addNewPatient adds the patient of a row to the new ones. Later rows match it.
func (b *batchImporter) addNewPatient(row parsedRow) {
	if row.Status == "" {
		row.Status = store.Active
	}
	b.created++
	c := newCandidate(b.matcher.tx.DraftPatient(b.matcher.key.scope(), row.PatientData))
	if b.isDryRun {
		b.matcher.index.update(c, c.Patient, row)
		b.addMatch(row, c)
		return
	}
	b.newPatients = append(b.newPatients, c.Patient)
	b.addMatch(row, c)
	b.changes.describe(b.matcher.tx, b.matcher.key, row, c, nil, row.PatientData)
	b.addReference(row, c)
	b.matcher.index.update(c, c.Patient, row)
}

// addReference lists the number of a patient in a list that is not the clinic's own.
func (b *batchImporter) addReference(row parsedRow, c *candidate) {
	if row.ref.source == "" || !row.addsReference(c) {
		return
	}
	b.refs.Sources, b.refs.Refs, b.refs.Patients = append(b.refs.Sources, row.ref.source), append(b.refs.Refs, row.ref.text), append(b.refs.Patients, c.ID)
}

// addMatch records the first line that described a patient.
func (b *batchImporter) addMatch(row parsedRow, c *candidate) {
	if b.isDryRun {
		b.addDryRunDraft(row, c)
	}
	if c.firstMatchedLine > 0 {
		return
	}
	c.firstMatchedLine = row.line.Line
	b.changes.add(row, c)
}

// addDryRunDraft records what a row would have made of a patient.
func (b *batchImporter) addDryRunDraft(row parsedRow, c *candidate) {
	draft := dbgen.UpsertImportDraftsParams{
		ClinicID: b.matcher.key.Clinic, Env: b.matcher.key.Env, ImportID: b.matcher.key.ID, ID: c.ID, Name: c.Name, Phone: c.Phone, Email: c.Email, CpfHmac: c.CpfHmac,
		BirthDate: c.BirthDate, Status: c.Status, ExternalRef: c.ExternalRef, Line: row.line.Line,
	}
	if row.ref.source != "" && c.refs[row.ref.source] == row.ref.text {
		draft.Source, draft.Reference = &row.ref.source, &row.ref.text
	}
	b.dryRunDrafts = append(b.dryRunDrafts, draft)
}

func (b *batchImporter) fail(row parsedRow, problem string) {
	b.failed++
	b.addProblem(row, problem)
}

// addProblem lists a line with a problem.
func (b *batchImporter) addProblem(row parsedRow, problem string) {
	b.problemLines, b.problems = append(b.problemLines, row.line.Line), append(b.problems, problem)
}

// addWarnings lists what of a line was left out, and what else users should look at.
func (b *batchImporter) addWarnings(row parsedRow, further string) {
	warnings := row.warnings
	if further != "" {
		warnings = append([]string{further}, warnings...)
	}
	if len(warnings) > 0 {
		b.warned++
		b.warningLines, b.warnings = append(b.warningLines, row.line.Line), append(b.warnings, strings.Join(warnings, "; "))
	}
}

// commit inserts the new patients, and stores the outcomes of the batch and where the next one
// begins.
func (b *batchImporter) commit(ctx context.Context, end importfile.Position) error {
	tx, key := b.matcher.tx, b.matcher.key
	if err := b.storePatients(ctx); err != nil {
		return err
	}
	if err := b.storeLines(ctx); err != nil {
		return err
	}
	return tx.UpdateImportProgress(ctx, dbgen.UpdateImportProgressParams{
		ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Status: statusRunning, Created: b.created, Updated: b.updated, Skipped: b.skipped, Failed: b.failed,
		Warned: b.warned, Position: end.Offset, Line: end.Line, FullRowsUntil: end.FullRowsUntil,
	})
}

// storePatients stores what the batch made of the patients.
func (b *batchImporter) storePatients(ctx context.Context) error {
	tx, key := b.matcher.tx, b.matcher.key
	if b.isDryRun {
		return execBatch(tx.UpsertImportDrafts(ctx, b.dryRunDrafts).Exec)
	}
	if err := tx.CreatePatients(ctx, key.scope(), b.newPatients); err != nil {
		return err
	}
	if len(b.refs.Refs) > 0 {
		b.refs.ClinicID, b.refs.Env, b.refs.CreatedAt = key.Clinic, key.Env, tx.Now()
		if err := tx.InsertPatientReferences(ctx, b.refs); err != nil {
			return err
		}
	}
	if len(b.changes.patients) == 0 {
		return nil
	}
	return tx.InsertImportMatches(ctx, dbgen.InsertImportMatchesParams{
		ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Patients: b.changes.patients, Lines: b.changes.lines, Befores: b.changes.befores, Afters: b.changes.afters,
		Sources: b.changes.sources, Refs: b.changes.refs,
	})
}

// execBatch returns the first error of a batch of statements.
func execBatch(exec func(func(int, error))) (err error) {
	exec(func(_ int, statementErr error) {
		if err == nil {
			err = statementErr
		}
	})
	return err
}

// storeLines stores the lines with problems and warnings, until the import has [maxErrors]
// of each. Skipped lines of erased patients count too, so the stored rows are counted, not
// the failures.
func (b *batchImporter) storeLines(ctx context.Context) error {
	tx, key := b.matcher.tx, b.matcher.key
	if len(b.problemLines) > 0 {
		stored, err := tx.CountImportErrors(ctx, key.Clinic, key.Env, key.ID)
		if err != nil {
			return err
		}
		n := min(len(b.problemLines), max(0, maxErrors-stored))
		if err := tx.InsertImportErrors(ctx, dbgen.InsertImportErrorsParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Lines: b.problemLines[:n], Errors: b.problems[:n]}); err != nil {
			return err
		}
	}
	if len(b.warningLines) == 0 {
		return nil
	}
	stored, err := tx.CountImportWarnings(ctx, key.Clinic, key.Env, key.ID)
	if err != nil {
		return err
	}
	n := min(len(b.warningLines), max(0, maxErrors-stored))
	return tx.InsertImportWarnings(ctx, dbgen.InsertImportWarningsParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Lines: b.warningLines[:n], Warnings: b.warnings[:n]})
}
