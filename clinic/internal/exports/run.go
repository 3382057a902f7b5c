package exports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// Continue is a run of [ExportJob]. It writes batches of an export for a few seconds, and
// leaves the rest to another run. Each batch is one transaction with its progress, so that
// a run that dies loses and repeats nothing.
func (s *Service) Continue(ctx context.Context, payload []byte) error {
	var key exportKey
	if err := json.Unmarshal(payload, &key); err != nil {
		return fmt.Errorf("decoding the export to continue: %w", err)
	}
	deadline := time.Now().Add(runTime)
	for {
		isFinished, err := s.writeBatch(ctx, key)
		if err != nil || isFinished {
			return err
		}
		if !time.Now().Before(deadline) {
			return s.store.InTx(ctx, "planning an export", func(tx *store.Tx) error { return s.enqueue(ctx, tx, key) })
		}
	}
}

// writeBatch writes the next resources of an export. It reports whether nothing is left to
// do, also if the export was deleted or has expired.
func (s *Service) writeBatch(ctx context.Context, key exportKey) (isFinished bool, err error) {
	err = s.store.InTx(ctx, "writing an export", func(tx *store.Tx) error {
		if err := tx.ShareExports(ctx, key.scope()); err != nil {
			return err
		}
		export, err := tx.LockExport(ctx, dbgen.LockExportParams{ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Now: tx.Now()})
		if isFinished = errors.Is(err, pgx.ErrNoRows) || err == nil && export.FinishedAt != nil; isFinished {
			return nil
		}
		if err != nil {
			return err
		}
		files, err := tx.ExportFiles(ctx, key.Clinic, key.Env, key.ID)
		if err != nil {
			return err
		}
		next := slices.IndexFunc(files, func(file store.ExportFile) bool { return !file.Done })
		if isFinished = next < 0; isFinished {
			now := tx.Now()
			return tx.FinishExport(ctx, dbgen.FinishExportParams{ClinicID: key.Clinic, Env: key.Env, ID: key.ID, FinishedAt: &now})
		}
		return s.writePage(ctx, tx, export, files[next])
	})
	return isFinished, err
}

// writePage adds a page to a file, or marks the file as done after the last one.
func (s *Service) writePage(ctx context.Context, tx *store.Tx, export store.Export, file store.ExportFile) error {
	query := PageQuery{
		Scope: store.Scope{Clinic: export.ClinicID, Env: export.Env}, Viewer: Viewer{Peer: export.Peer}, Type: file.Type, After: file.AfterID, Limit: batchSize,
	}
	if export.KeyID != nil {
		query.KeyID = *export.KeyID
	}
	if export.ChangedSince != nil {
		query.Since = *export.ChangedSince
	}
	page, err := s.source.ExportPage(ctx, tx, query)
	if err != nil {
		return err
	}
	if page.IsEnd {
		file.Done = true
		return s.appendLines(ctx, tx, file, Lines{})
	}
	file.AfterID = page.Last
	if err := s.appendLines(ctx, tx, file, page.Lines); err != nil || page.Errors.Count == 0 {
		return err
	}
	file, err = errorFile(ctx, tx, export)
	if err != nil {
		return err
	}
	return s.appendLines(ctx, tx, file, page.Errors)
}

// appendLines adds lines to a file, and stores its progress.
func (s *Service) appendLines(ctx context.Context, tx *store.Tx, file store.ExportFile, lines Lines) error {
	progress := dbgen.UpdateExportFileParams{
		ClinicID: file.ClinicID, Env: file.Env, ExportID: file.ExportID, Type: file.Type, AfterID: file.AfterID, Resources: lines.Count, Done: file.Done,
	}
	if lines.Count > 0 {
		progress.Chunks = 1
		if err := tx.InsertExportChunk(ctx, dbgen.InsertExportChunkParams{
			ClinicID: file.ClinicID, Env: file.Env, ExportID: file.ExportID, Type: file.Type, N: file.Chunks,
			Content: s.host.Sealer.Seal(lines.Text, chunkContext(file.ExportID, file.Type, file.Chunks)),
		}); err != nil {
			return err
		}
	}
	return tx.UpdateExportFile(ctx, progress)
}

// errorFile returns the file of an export's errors, and adds it if there is none. It is done:
// no run has to go through resources of its type.
func errorFile(ctx context.Context, tx *store.Tx, export store.Export) (store.ExportFile, error) {
	files, err := tx.ExportFiles(ctx, export.ClinicID, export.Env, export.ID)
	if err != nil {
		return store.ExportFile{}, err
	}
	for _, file := range files {
		if file.Type == ErrorType {
			return file, nil
		}
	}
	file := store.ExportFile{ClinicID: export.ClinicID, Env: export.Env, ExportID: export.ID, N: len(files), Type: ErrorType, Done: true}
	return file, tx.InsertExportFile(ctx, dbgen.InsertExportFileParams{ClinicID: file.ClinicID, Env: file.Env, ExportID: file.ExportID, N: file.N, Type: file.Type})
}
