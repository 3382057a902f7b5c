package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/intake"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Statuses of imports.
const (
	ImportRunning = "running"
	ImportDone    = "done"
	ImportFailed  = "failed" // its file cannot be read any more
)

// Sizes and times of imports. What one run does is short, so that imports of several
// clinics take turns, and one whose process died goes on within a minute.
const (
	chunkSize     = 256 << 10 // bytes of text
	importBatch   = 100       // rows in a transaction
	importSlice   = 3 * time.Second
	importTimeout = 15 * time.Second // of a slice, on a database that is slow
	maxErrors     = 1000             // that are kept of an import
)

// jobImport is the job's name.
const jobImport = "import"

// importRun is what the job is told.
type importRun struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

// Imports is the job that reads imported files.
func (s *Store) Imports() module.Job {
	return module.Job{Name: jobImport, Timeout: importTimeout, Run: s.continueImport}
}

// Upload is a file of patients.
type Upload struct {
	Format intake.Format
	File   io.ReadSeeker
	By     uuid.UUID // user
}

// StoreImport keeps a file, encrypted, and has it read in the background. A file that
// cannot be one is a [hub.ErrInvalid].
func (s *Store) StoreImport(ctx context.Context, at Scope, u Upload) (uuid.UUID, error) {
	start, total, err := survey(u)
	var unfit intake.UnfitError
	if errors.As(err, &unfit) {
		return uuid.Nil, hub.Invalid("body.file", unfit.Error())
	}
	if err != nil {
		return uuid.Nil, err
	}
	if total == 0 {
		return uuid.Nil, hub.Invalid("body.file", "holds no patients")
	}
	id := NewID()
	err = s.InTx(ctx, "storing an import", func(tx *Tx) error {
		if err := tx.InsertImport(ctx, dbgen.InsertImportParams{
			ClinicID: at.Clinic, Env: at.Env, ID: id, Format: string(u.Format), Total: total, Position: start.Offset, Line: start.Line,
			CreatedBy: &u.By, CreatedAt: tx.now,
		}); err != nil {
			return err
		}
		if err := tx.storeFile(ctx, at, id, u.File); err != nil {
			return err
		}
		return tx.enqueueImport(ctx, importRun{at.Clinic, at.Env, id})
	})
	return id, err
}

// survey reads a file once: where its rows begin and how many there are.
func survey(u Upload) (start intake.Position, total int, err error) {
	if err := intake.Recognize(u.File, u.Format); err != nil {
		return start, 0, err
	}
	text, err := intake.Text(u.File)
	if err != nil {
		return start, 0, err
	}
	var table *intake.Table
	start = intake.Start
	if u.Format == intake.CSV {
		if table, start, err = intake.ReadHead(text); err != nil {
			return start, 0, err
		}
		if text, err = intake.Text(u.File); err != nil {
			return start, 0, err
		}
		if _, err = io.CopyN(io.Discard, text, start.Offset); err != nil {
			return start, 0, fmt.Errorf("reading the file: %w", err)
		}
	}
	for rows := intake.Open(text, start, table); ; total++ {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return start, total, nil
		} else if err != nil {
			return start, 0, err
		}
	}
}

func chunkContext(id uuid.UUID, n int) string {
	return "import/" + id.String() + "/" + strconv.Itoa(n)
}

func (t *Tx) storeFile(ctx context.Context, at Scope, id uuid.UUID, file io.ReadSeeker) error {
	text, err := intake.Text(file)
	if err != nil {
		return err
	}
	buffer := make([]byte, chunkSize)
	for n := 0; ; n++ {
		length, err := io.ReadFull(text, buffer)
		if length > 0 {
			sealed := t.host.Sealer.Seal(buffer[:length], chunkContext(id, n))
			if err := t.InsertChunk(ctx, dbgen.InsertChunkParams{ClinicID: at.Clinic, Env: at.Env, ImportID: id, N: n, Content: sealed}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the file: %w", err)
		}
	}
}

func (t *Tx) enqueueImport(ctx context.Context, run importRun) error {
	payload, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("planning an import: %w", err)
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: jobImport, Key: run.ID.String(), Payload: payload})
}

// errUnreadable is a stored file that cannot be read any more: no repetition helps.
var errUnreadable = errors.New("a stored file cannot be opened")

// chunks is the text of a stored file, one chunk at a time.
type chunks struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one read of a job
	s    *Store
	at   Scope
	id   uuid.UUID
	next int
	rest []byte
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		sealed, err := c.s.Chunk(c.ctx, dbgen.ChunkParams{ClinicID: c.at.Clinic, Env: c.at.Env, ImportID: c.id, N: c.next})
		if errors.Is(err, pgx.ErrNoRows) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		if c.rest, err = c.s.host.Sealer.Open(sealed, chunkContext(c.id, c.next)); err != nil {
			return 0, errors.Join(errUnreadable, err)
		}
		c.next++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// from is the text from a position on.
func (s *Store) from(ctx context.Context, run importRun, offset int64) (io.Reader, error) {
	c := &chunks{ctx: ctx, s: s, at: Scope{run.Clinic, run.Env}, id: run.ID, next: int(offset / chunkSize)}
	_, err := io.CopyN(io.Discard, c, offset%chunkSize)
	return c, err
}

// rows opens a stored file where its import stands.
func (s *Store) rows(ctx context.Context, run importRun, row dbgen.Import) (*intake.Reader, error) {
	var table *intake.Table
	if row.Format == string(intake.CSV) {
		head, err := s.from(ctx, run, 0)
		if err == nil {
			table, _, err = intake.ReadHead(head)
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := s.from(ctx, run, row.Position)
	if err != nil {
		return nil, err
	}
	return intake.Open(text, intake.Position{Offset: row.Position, Line: row.Line}, table), nil
}

// continueImport reads on in a file for a while, and leaves the rest to another run.
func (s *Store) continueImport(ctx context.Context, payload []byte) error {
	var run importRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("reading what to import: %w", err)
	}
	row, err := s.ImportByID(ctx, run.Clinic, run.Env, run.ID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.FinishedAt != nil {
		return nil
	}
	if err != nil {
		return dberr.Wrap("reading an import", err)
	}
	err = s.readOn(ctx, run, row, time.Now().Add(importSlice))
	switch {
	case errors.Is(err, errOvertaken):
		return nil
	case errors.Is(err, errUnreadable):
		s.host.Log.ErrorContext(ctx, "an import failed", "import_id", run.ID, "error", err)
		return s.giveUp(ctx, run)
	}
	return err
}

func (s *Store) readOn(ctx context.Context, run importRun, row dbgen.Import, until time.Time) error {
	rows, err := s.rows(ctx, run, row)
	if err != nil {
		return err
	}
	at := intake.Position{Offset: row.Position, Line: row.Line}
	for {
		batch, err := next(rows)
		if err != nil {
			return err
		}
		if err := s.takeIn(ctx, run, at, batch); err != nil {
			return err
		}
		if len(batch) < importBatch {
			return s.finishImport(ctx, run)
		}
		at = rows.Position()
		if !time.Now().Before(until) {
			return s.InTx(ctx, "planning an import", func(tx *Tx) error { return tx.enqueueImport(ctx, run) })
		}
	}
}

// line is a row with the place where the next one begins.
type line struct {
	intake.Row
	end intake.Position
}

// next reads a batch; one that is not full is the last.
func next(rows *intake.Reader) ([]line, error) {
	var batch []line
	for len(batch) < importBatch {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		batch = append(batch, line{row, rows.Position()})
	}
	return batch, nil
}

// errOvertaken tells that another run has read on meanwhile.
var errOvertaken = errors.New("the import was read on elsewhere")

// takeIn makes patients of a batch that begins at a position: all of it and the
// progress in one transaction. A batch that breaks a rule of the database is divided,
// until the line that does so is alone.
func (s *Store) takeIn(ctx context.Context, run importRun, at intake.Position, batch []line) error {
	if len(batch) == 0 {
		return nil
	}
	err := s.takeInAll(ctx, run, at, batch, "")
	if !refusedRow(err) {
		return err
	}
	if len(batch) == 1 {
		return s.takeInAll(ctx, run, at, batch, "clashes with another patient")
	}
	half := len(batch) / 2
	if err := s.takeIn(ctx, run, at, batch[:half]); err != nil {
		return err
	}
	return s.takeIn(ctx, run, batch[half-1].end, batch[half:])
}

func refusedRow(err error) bool {
	return errors.Is(err, hub.ErrConflict) || errors.Is(err, hub.ErrMalformed) || dberr.ConstraintName(err) != ""
}

func (s *Store) takeInAll(ctx context.Context, run importRun, at intake.Position, batch []line, problem string) error {
	return s.InTx(ctx, "importing patients", func(tx *Tx) error {
		// A plan made while the table was empty would read all of it, again and again,
		// until PostgreSQL gathers new statistics a minute later.
		if _, err := tx.Raw.Exec(ctx, "set local plan_cache_mode = force_custom_plan"); err != nil {
			return err
		}
		row, err := tx.LockImport(ctx, run.Clinic, run.Env, run.ID)
		if err != nil {
			return err
		}
		if row.FinishedAt != nil || row.Position != at.Offset {
			return errOvertaken
		}
		p, err := tx.meet(ctx, Scope{run.Clinic, run.Env}, run.ID, batch)
		if err != nil {
			return err
		}
		for _, one := range batch {
			if problem != "" {
				one.Problem = problem
			}
			if err := p.take(ctx, one.Row); err != nil {
				return err
			}
		}
		return p.save(ctx, row, batch[len(batch)-1].end)
	})
}

// finishImport drops the file.
func (s *Store) finishImport(ctx context.Context, run importRun) error {
	return s.endImport(ctx, run, ImportDone, nil)
}

func (s *Store) giveUp(ctx context.Context, run importRun) error {
	problem := "The stored file cannot be opened any more; upload it again."
	return s.endImport(ctx, run, ImportFailed, &problem)
}

func (s *Store) endImport(ctx context.Context, run importRun, status string, problem *string) error {
	return s.InTx(ctx, "finishing an import", func(tx *Tx) error {
		row, err := tx.LockImport(ctx, run.Clinic, run.Env, run.ID)
		if err != nil {
			return err
		}
		if err := tx.AdvanceImport(ctx, dbgen.AdvanceImportParams{
			ClinicID: run.Clinic, Env: run.Env, ID: run.ID, Status: status, Position: row.Position, Line: row.Line, Problem: problem, FinishedAt: &tx.now,
		}); err != nil {
			return err
		}
		if err := tx.DropImportMatches(ctx, run.Clinic, run.Env, run.ID); err != nil {
			return err
		}
		return tx.DropImportFile(ctx, run.Clinic, run.Env, run.ID)
	})
}
