package imports

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// batchImporter collects the outcome of a batch.
type batchImporter struct {
	matcher *patientMatcher

	drafts                   []dbgen.Patient
	updated, skipped, failed int

	// Parallel lists for the database.
	matchedLines    []int
	matchedPatients []uuid.UUID
	problemLines    []int
	problems        []string
}

// importRow matches a row and plans what it does: it creates a patient, changes one, is
// skipped, or fails. Changes are made at once, new patients by [batchImporter.commit].
func (b *batchImporter) importRow(ctx context.Context, fileRow importfile.Row) error {
	if fileRow.Problem != "" {
		b.fail(fileRow, fileRow.Problem)
		return nil
	}
	row, problem := b.matcher.parseAndResolveID(fileRow)
	if problem != "" {
		b.fail(fileRow, problem)
		return nil
	}
	match, problem := b.matcher.match(row)
	switch {
	case problem != "":
		b.fail(fileRow, problem)
		return nil
	case match == nil && b.matcher.isErased(row), match != nil && match.Status == store.Anonymized:
		b.skipped++
		b.addProblem(fileRow, "skipped: this patient asked to be forgotten; who comes back is added by hand")
		return nil
	case match == nil:
		b.draftPatient(fileRow, row)
		return nil
	case !row.hasNewData(match.Patient):
		b.skipped++
	case match.firstMatchedLine > 0:
		b.fail(fileRow, "tells another thing of a patient that an earlier line was about")
		return nil
	default:
		changed, err := b.matcher.tx.ChangePatient(ctx, b.matcher.key.scope(), match.ID, row.apply)
		if err != nil {
			return err
		}
		b.updated++
		match.Patient = changed
		b.matcher.index(match)
	}
	b.addMatch(fileRow, match)
	return nil
}

// draftPatient plans a new patient.
func (b *batchImporter) draftPatient(fileRow importfile.Row, row parsedRow) {
	if row.Status == "" {
		row.Status = store.Active
	}
	c := &candidate{Patient: b.matcher.tx.DraftPatient(b.matcher.key.scope(), row.PatientData)}
	b.drafts = append(b.drafts, c.Patient)
	b.matcher.index(c)
	b.addMatch(fileRow, c)
}

// addMatch notes that a line described a patient, if it is the first.
func (b *batchImporter) addMatch(fileRow importfile.Row, c *candidate) {
	if c.firstMatchedLine > 0 {
		return
	}
	c.firstMatchedLine = fileRow.Line
	b.matchedLines, b.matchedPatients = append(b.matchedLines, fileRow.Line), append(b.matchedPatients, c.ID)
}

func (b *batchImporter) fail(fileRow importfile.Row, problem string) {
	b.failed++
	b.addProblem(fileRow, problem)
}

// addProblem lists a line with a problem.
func (b *batchImporter) addProblem(fileRow importfile.Row, problem string) {
	b.problemLines, b.problems = append(b.problemLines, fileRow.Line), append(b.problems, problem)
}

// commit creates the new patients, and stores the outcome of the batch and where the next one
// begins. row is the import before the batch.
func (b *batchImporter) commit(ctx context.Context, row dbgen.Import, end importfile.Position) error {
	if room := max(0, maxErrors-row.Failed); len(b.problemLines) > room {
		b.problemLines, b.problems = b.problemLines[:room], b.problems[:room]
	}
	tx, key := b.matcher.tx, b.matcher.key
	if err := tx.CreatePatients(ctx, key.scope(), b.drafts); err != nil {
		return err
	}
	if len(b.problemLines) > 0 {
		if err := tx.InsertImportErrors(ctx, dbgen.InsertImportErrorsParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Lines: b.problemLines, Errors: b.problems}); err != nil {
			return err
		}
	}
	if len(b.matchedPatients) > 0 {
		if err := tx.InsertImportMatches(ctx, dbgen.InsertImportMatchesParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Patients: b.matchedPatients, Lines: b.matchedLines}); err != nil {
			return err
		}
	}
	return tx.UpdateImportProgress(ctx, dbgen.UpdateImportProgressParams{
		ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Status: statusRunning, Created: len(b.drafts), Updated: b.updated, Skipped: b.skipped, Failed: b.failed,
		Position: end.Offset, Line: end.Line,
	})
}
