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

// ContinueImport is a run of [ImportJob]. It imports more rows of a file for a few seconds,
// and leaves the rest to another run.
func (s *Service) ContinueImport(ctx context.Context, payload []byte) error {
	var key importKey
	if err := json.Unmarshal(payload, &key); err != nil {
		return fmt.Errorf("decoding the import to continue: %w", err)
	}
	importState, err := s.store.ImportByID(ctx, key.Clinic, key.Env, key.ID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && importState.FinishedAt != nil {
		return nil
	}
	if err != nil {
		return dberr.Wrap("reading an import", err)
	}
	err = s.importUntilDeadline(ctx, key, importState, time.Now().Add(runTime))
	switch {
	case errors.Is(err, errConcurrentRun):
		return nil
	case errors.Is(err, errUnreadable):
		s.host.Log.ErrorContext(ctx, "an import failed", "import_id", key.ID, "error", err)
		return s.markFailed(ctx, key)
	}
	return err
}

// importUntilDeadline imports batches until the file ends or the deadline has passed.
func (s *Service) importUntilDeadline(ctx context.Context, key importKey, importState store.Import, deadline time.Time) error {
	rows, err := s.openRows(ctx, key, importState)
	if err != nil {
		return err
	}
	position := rows.Position()
	for {
		batch, err := readBatch(rows)
		if err != nil {
			return err
		}
		if err := s.importBatchSplitting(ctx, key, position, batch); err != nil {
			return err
		}
		if len(batch) < batchSize {
			return s.finish(ctx, key, statusDone, nil)
		}
		position = rows.Position()
		if !time.Now().Before(deadline) {
			return s.store.InTx(ctx, "planning an import", func(tx *store.Tx) error { return s.enqueue(ctx, tx, key) })
		}
	}
}

// importLine is a row of the file and where the next one begins.
type importLine struct {
	importfile.Row
	end importfile.Position
}

// readBatch reads up to [batchSize] rows; fewer are the last.
func readBatch(rows importfile.Reader) ([]importLine, error) {
	var batch []importLine
	for len(batch) < batchSize {
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

// importBatchSplitting imports a batch that begins at a position: its patients and the
// progress in one transaction. A batch that violates a constraint of the database is halved
// until the violating row is alone; that row fails.
func (s *Service) importBatchSplitting(ctx context.Context, key importKey, position importfile.Position, batch []importLine) error {
	if len(batch) == 0 {
		return nil
	}
	err := s.importBatchInTx(ctx, key, position, batch, "")
	if !isRowError(err) {
		return err
	}
	if len(batch) == 1 {
		return s.importBatchInTx(ctx, key, position, batch, "conflicts with another patient's CPF or external_id")
	}
	half := len(batch) / 2
	if err := s.importBatchSplitting(ctx, key, position, batch[:half]); err != nil {
		return err
	}
	return s.importBatchSplitting(ctx, key, batch[half-1].end, batch[half:])
}

// isRowError reports whether the contents of a row caused an error.
func isRowError(err error) bool {
	return errors.Is(err, hub.ErrConflict) || errors.Is(err, hub.ErrMalformed) || dberr.ConstraintName(err) != ""
}

// importBatchInTx imports a batch in one transaction. If problem is not "", all rows fail with
// it.
func (s *Service) importBatchInTx(ctx context.Context, key importKey, position importfile.Position, batch []importLine, problem string) error {
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
		matcher, err := newPatientMatcher(ctx, tx, key, importState, batch)
		if err != nil {
			return err
		}
		importer := &batchImporter{matcher: matcher, isDryRun: importState.DryRun}
		for _, row := range matcher.rows {
			if problem != "" {
				row.problem = problem
			}
			if err := importer.importRow(ctx, row); err != nil {
				return err
			}
		}
		return importer.commit(ctx, batch[len(batch)-1].end)
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
