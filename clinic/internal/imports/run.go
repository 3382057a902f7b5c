package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
)

// importRun is the payload of [ImportJob].
type importRun struct {
	importKey
	MaxRows int `json:"max_rows,omitempty"` // in a transaction, after one that took too long; 0 = batchSize
	Tries   int `json:"tries,omitempty"`    // of the next row alone, that took too long
}

// A row that takes too long alone is tried again, after pauses that double: the database may
// have stalled. With these tries that is for ten minutes.
const (
	maxSlowTries   = 6
	firstSlowPause = 10 * time.Second
)

// ContinueImport is a run of [ImportJob]. It imports more rows of a file for a few seconds,
// and leaves the rest to another run. If a batch takes too long, the next run tries half of it.
func (s *Service) ContinueImport(ctx context.Context, payload []byte) error {
	var run importRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("decoding the import to continue: %w", err)
	}
	if run.MaxRows < 1 || run.MaxRows > batchSize {
		run.MaxRows = batchSize
	}
	key := run.importKey
	importState, err := s.store.ImportByID(ctx, key.Clinic, key.Env, key.ID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && importState.FinishedAt != nil {
		return nil
	}
	if err != nil {
		return dberr.Wrap("reading an import", err)
	}
	err = s.importUntilDeadline(ctx, run, importState, time.Now().Add(runTime))
	var slow *slowBatchError
	switch {
	case errors.Is(err, errConcurrentRun):
		return nil
	case errors.Is(err, errUnreadable):
		s.host.Log.ErrorContext(ctx, "an import failed", "import_id", key.ID, "error", err)
		return s.markFailed(ctx, key)
	case errors.As(err, &slow):
		s.host.Log.WarnContext(ctx, "a batch of an import took too long; fewer rows will be tried", "import_id", key.ID, "rows", slow.rows, "error", slow.cause)
		// The time of this run may be over.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), planTimeout)
		defer cancel()
		next, at := importRun{importKey: key, MaxRows: max(1, slow.rows/2), Tries: slow.tries}, time.Time{}
		if slow.tries > 0 {
			at = s.host.Now().Add(firstSlowPause << (slow.tries - 1))
		}
		return s.enqueueRun(ctx, next, at)
	}
	return err
}

// enqueueRun enqueues a further run of [ImportJob], at a time; zero is now.
func (s *Service) enqueueRun(ctx context.Context, run importRun, at time.Time) error {
	return s.store.InTx(ctx, "planning an import", func(tx *store.Tx) error { return s.enqueueJob(ctx, tx, ImportJob, run.ID, run, at) })
}

// importUntilDeadline imports batches until the file ends or the deadline has passed. After a
// batch that was cut because it took too long, the size grows again.
func (s *Service) importUntilDeadline(ctx context.Context, run importRun, importState store.Import, deadline time.Time) error {
	rows, err := s.openRows(ctx, run.importKey, importState)
	if err != nil {
		return err
	}
	position := rows.Position()
	for {
		batch, err := readBatch(rows, run.MaxRows)
		if err != nil {
			return err
		}
		if err := s.importBatchSplitting(ctx, &run, position, batch); err != nil {
			return err
		}
		if len(batch) < run.MaxRows {
			return s.finish(ctx, run.importKey, statusDone, nil)
		}
		position = rows.Position()
		run.MaxRows = min(2*run.MaxRows, batchSize)
		if !time.Now().Before(deadline) {
			return s.enqueueRun(ctx, run, time.Time{})
		}
	}
}

// importLine is a row of the file and where the next one begins.
type importLine struct {
	importfile.Row
	end importfile.Position
}

// readBatch reads up to limit rows; fewer are the last.
func readBatch(rows importfile.Reader, limit int) ([]importLine, error) {
	var batch []importLine
	for len(batch) < limit {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		batch = append(batch, importLine{row, rows.Position()})
	}
	return batch, nil
}

// errConcurrentRun means that another run of the job has advanced the import.
var errConcurrentRun = errors.New("another run has advanced the import")

// slowBatchError means that a batch was rolled back because it took too long.
type slowBatchError struct {
	rows  int // of the batch
	tries int // of a single row; 0: it had only the rest of a run's time
	cause error
}

// Error implements error.
func (e *slowBatchError) Error() string {
	return fmt.Sprintf("a batch of %d rows took too long: %v", e.rows, e.cause)
}

// Problems of rows that the database refused, for users.
const (
	problemConflict = "conflicts with another patient's CPF or external_id"
	problemSlow     = "took too long to import, and was left out; import this line again"
	// Also of patients that an undo leaves as they are.
	problemUnreadable = "what is stored of this patient cannot be decrypted; who runs the hub can say why"
)

// importBatchSplitting imports a batch that begins at a position: its patients and the
// progress in one transaction. A batch that violates a constraint of the database, or
// has a patient who cannot be decrypted, is halved until that row is alone; it fails. A batch that takes too long is a
// slowBatchError; a single row fails after [maxSlowTries], so that the import ends.
func (s *Service) importBatchSplitting(ctx context.Context, run *importRun, position importfile.Position, batch []importLine) error {
	if len(batch) == 0 {
		return nil
	}
	key := run.importKey
	err := s.importBatchInTime(ctx, key, position, batch)
	if isTimeout(err) {
		if errors.Is(ctx.Err(), context.Canceled) { // the hub stops
			return err
		}
		slow := &slowBatchError{rows: len(batch), cause: err}
		if len(batch) == 1 && ctx.Err() == nil { // else it had only the rest of the run's time
			slow.tries = run.Tries + 1
		}
		if slow.tries > maxSlowTries {
			run.Tries = 0
			return s.failBatch(ctx, key, position, batch, problemSlow)
		}
		return slow
	}
	run.Tries = 0
	if !isRowError(err) {
		return err
	}
	if len(batch) == 1 {
		problem := problemConflict
		if errors.Is(err, store.ErrUnreadable) {
			s.host.Log.ErrorContext(ctx, "a line of an import fails", "import_id", key.ID, "error", err)
			problem = problemUnreadable
		}
		return s.failBatch(ctx, key, position, batch, problem)
	}
	half := len(batch) / 2
	if err := s.importBatchSplitting(ctx, run, position, batch[:half]); err != nil {
		return err
	}
	return s.importBatchSplitting(ctx, run, batch[half-1].end, batch[half:])
}

// importBatchInTime imports a batch in one transaction, within [batchTimeout].
func (s *Service) importBatchInTime(ctx context.Context, key importKey, position importfile.Position, batch []importLine) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	return s.changeInTx(ctx, key, position, func(tx *store.Tx, importState store.Import) error {
		matcher, err := newPatientMatcher(ctx, tx, key, importState, batch)
		if err != nil {
			return err
		}
		importer := &batchImporter{matcher: matcher, isDryRun: importState.DryRun}
		for _, row := range matcher.rows {
			if err := importer.importRow(ctx, row); err != nil {
				return err
			}
		}
		return importer.commit(ctx, batch[len(batch)-1].end)
	})
}

// failBatch lists all rows of a batch with a problem. It looks for no patients, because that
// may be what takes too long.
func (s *Service) failBatch(ctx context.Context, key importKey, position importfile.Position, batch []importLine, problem string) error {
	return s.changeInTx(ctx, key, position, func(tx *store.Tx, importState store.Import) error {
		importer := &batchImporter{matcher: &patientMatcher{tx: tx, key: key}, isDryRun: importState.DryRun}
		for _, line := range batch {
			importer.fail(parsedRow{line: line}, problem)
		}
		return importer.commit(ctx, batch[len(batch)-1].end)
	})
}

// isTimeout reports whether the time for a transaction or a statement was over.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || dberr.Code(err) == dberr.QueryCanceled
}

// isRowError reports whether the contents of a row, or of its patient, caused an error.
func isRowError(err error) bool {
	return errors.Is(err, hub.ErrConflict) || errors.Is(err, hub.ErrMalformed) || errors.Is(err, store.ErrUnreadable) || dberr.ConstraintName(err) != ""
}

// changeInTx runs work in a transaction that holds the import, unless another run has advanced
// it from the position.
func (s *Service) changeInTx(ctx context.Context, key importKey, position importfile.Position, work func(tx *store.Tx, importState store.Import) error) error {
	return s.store.InTx(ctx, "importing patients", func(tx *store.Tx) error {
		tx.Priority = hub.PriorityBulk
		// A plan that was made while the table was empty scans it all, until PostgreSQL
		// gathers statistics a minute later.
		if _, err := tx.Raw.Exec(ctx, "set local plan_cache_mode = force_custom_plan"); err != nil {
			return err
		}
		importState, err := tx.LockImport(ctx, key.Clinic, key.Env, key.ID)
		if err != nil {
			return err
		}
		if importState.FinishedAt != nil || importState.Position != position.Offset {
			return errConcurrentRun
		}
		return work(tx, importState)
	})
}

func (s *Service) markFailed(ctx context.Context, key importKey) error {
	problem := "The stored file cannot be opened any more; upload it again."
	return s.finish(ctx, key, statusFailed, &problem)
}

// finish ends an import and deletes its file.
func (s *Service) finish(ctx context.Context, key importKey, status string, problem *string) error {
	return s.store.InTx(ctx, "finishing an import", func(tx *store.Tx) error {
		importState, err := tx.LockImport(ctx, key.Clinic, key.Env, key.ID)
		if err != nil {
			return err
		}
		now := tx.Now()
		if err := tx.UpdateImportProgress(ctx, dbgen.UpdateImportProgressParams{
			ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Status: status, Position: importState.Position, Line: importState.Line, FullRowsUntil: importState.FullRowsUntil, Problem: problem, FinishedAt: &now,
		}); err != nil {
			return err
		}
		if err := tx.DeleteImportDrafts(ctx, key.Clinic, key.Env, key.ID); err != nil {
			return err
		}
		if err := tx.DeleteUnchangedImportMatches(ctx, key.Clinic, key.Env, key.ID); err != nil {
			return err
		}
		return tx.DeleteImportChunks(ctx, key.Clinic, key.Env, key.ID)
	})
}
