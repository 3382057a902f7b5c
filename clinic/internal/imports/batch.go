package imports

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// batchImporter imports the rows of a batch and collects their outcomes.
type batchImporter struct {
	matcher *patientMatcher

	drafts                   []store.Patient // new patients, inserted by commit
	updated, skipped, failed int

	// Parallel lists for the database.
	matchedLines    []int
	matchedPatients []uuid.UUID
	problemLines    []int
	problems        []string
}

// importRow applies one row: it updates the matching patient now, and drafts a new one for
// [batchImporter.commit]. A row without new data is skipped. A row with a problem fails; its
// line is listed.
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
		b.addProblem(fileRow, "skipped: this patient was erased; add them by hand")
		return nil
	case match == nil:
		b.draftPatient(fileRow, row)
		return nil
	case !row.hasNewData(match.Patient):
		b.skipped++
	case match.firstMatchedLine > 0:
		b.fail(fileRow, "contradicts an earlier line about the same patient")
		return nil
	default:
		updated, err := b.matcher.tx.ChangePatient(ctx, b.matcher.key.scope(), match.ID, row.apply)
		if err != nil {
			return err
		}
		b.updated++
		match.Patient = updated
		b.matcher.index(match)
	}
	b.addMatch(fileRow, match)
	return nil
}

// draftPatient adds the patient of a row to the drafts. Later rows match it.
func (b *batchImporter) draftPatient(fileRow importfile.Row, row parsedRow) {
	if row.Status == "" {
		row.Status = store.Active
	}
	c := &candidate{Patient: b.matcher.tx.DraftPatient(b.matcher.key.scope(), row.PatientData)}
	b.drafts = append(b.drafts, c.Patient)
	b.matcher.index(c)
	b.addMatch(fileRow, c)
}

// addMatch records the first line that described a patient.
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

// commit inserts the drafts, and stores the outcomes of the batch and where the next one
// begins.
func (b *batchImporter) commit(ctx context.Context, end importfile.Position) error {
	tx, key := b.matcher.tx, b.matcher.key
	if err := tx.CreatePatients(ctx, key.scope(), b.drafts); err != nil {
		return err
	}
	if err := b.storeProblems(ctx); err != nil {
		return err
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

// storeProblems stores the lines with problems, until the import has [maxErrors] of them.
// Skipped lines of erased patients count too, so the stored rows are counted, not the
// failures.
func (b *batchImporter) storeProblems(ctx context.Context) error {
	if len(b.problemLines) == 0 {
		return nil
	}
	tx, key := b.matcher.tx, b.matcher.key
	stored, err := tx.CountImportErrors(ctx, key.Clinic, key.Env, key.ID)
	if err != nil {
		return err
	}
	n := min(len(b.problemLines), max(0, maxErrors-stored))
	return tx.InsertImportErrors(ctx, dbgen.InsertImportErrorsParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, Lines: b.problemLines[:n], Errors: b.problems[:n]})
}
