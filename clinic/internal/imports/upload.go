package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module/table"
)

// Upload is a file of patients.
type Upload struct {
	Format importfile.Format
	Source string // the list that the patients' numbers belong to; "" is what the file names, else the clinic's own
	DryRun bool   // nothing is changed
	File   io.ReadSeeker
	User   uuid.UUID // the uploader
}

// Preview says how a file is read, before any of it is imported.
type Preview struct {
	Total   int                 // rows
	Columns []importfile.Column // of a table
	Rows    []PreviewRow        // the first ones
}

// PreviewRow is a row of a file as it is read. Empty fields are missing, or left out.
type PreviewRow struct {
	Line                                     int
	ExternalID, Name, Phone, Email, CPFLast2 string
	BirthDate, Status                        string
	Warnings                                 []string
	Problem                                  string // why the row cannot be imported; "" if it can
}

// previewSize is how many rows a [Preview] has.
const previewSize = 20

// MaxUnfinished is how many imports of a clinic can be unfinished at a time in each environment.
// The imports of all clinics have their turn one after the other.
const MaxUnfinished = 5

// Create stores a file, encrypted, and enqueues the job that imports it. It returns the id
// of the import and how the file is read. A file that cannot be read as its format is a
// [hub.ErrInvalid]. It is a [hub.ErrRateLimited] if [MaxUnfinished] imports are unfinished.
func (s *Service) Create(ctx context.Context, scope store.Scope, upload Upload) (uuid.UUID, Preview, error) {
	upload.Source = normalizeSource(upload.Source)
	start, preview, err := s.readFile(ctx, scope, upload)
	var formatErr importfile.FormatError
	if errors.As(err, &formatErr) {
		return uuid.Nil, preview, hub.Invalid("body.file", formatErr.Error())
	}
	if err != nil {
		return uuid.Nil, preview, err
	}
	if preview.Total == 0 {
		return uuid.Nil, preview, hub.Invalid("body.file", "holds no patients")
	}
	key := importKey{scope.Clinic, scope.Env, store.NewID()}
	err = s.store.InTx(ctx, "storing an import", func(tx *store.Tx) error {
		unfinished, err := tx.CountUnfinishedImports(ctx, key.Clinic, key.Env)
		if err != nil {
			return err
		}
		if unfinished >= MaxUnfinished { // several at the same moment may be a few more
			limited := hub.Errorf(hub.ErrRateLimited, "too_many_imports", "%d imports of the clinic are not finished. Wait until one of them is.", unfinished)
			limited.RetryAfter = time.Minute
			return limited
		}
		if err := tx.InsertImport(ctx, dbgen.InsertImportParams{
			ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Format: string(upload.Format), Source: upload.Source, DryRun: upload.DryRun, Total: preview.Total, Position: start.Offset, Line: start.Line,
			CreatedBy: &upload.User, CreatedAt: tx.Now(),
		}); err != nil {
			return err
		}
		if err := s.storeFile(ctx, tx, key, upload.File); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, key)
	})
	return key.ID, preview, err
}

// readFile reads the whole file. It returns where the rows begin, how many there are, and
// the first ones. storeFile reads the file again.
func (s *Service) readFile(ctx context.Context, scope store.Scope, upload Upload) (start importfile.Position, preview Preview, err error) {
	if err := importfile.CheckFormat(upload.File, upload.Format); err != nil {
		return start, preview, err
	}
	text, err := table.Text(upload.File)
	if err != nil {
		return start, preview, err
	}
	var header *importfile.Header
	start = importfile.Start
	if upload.Format == importfile.CSV {
		if header, start, err = importfile.ReadHeader(text, s.host.Now().Year()); err != nil {
			return start, preview, err
		}
		if preview.Columns = header.Columns(); len(preview.Columns) > table.MaxColumns { // files that are stored go on
			return start, preview, importfile.ErrManyColumns
		}
		if text, err = table.Text(upload.File); err != nil {
			return start, preview, err
		}
		if _, err = io.CopyN(io.Discard, text, start.Offset); err != nil {
			return start, preview, fmt.Errorf("reading the file: %w", err)
		}
	}
	parser, err := s.previewParser(ctx, scope, upload.Source)
	if err != nil {
		return start, preview, err
	}
	for rows := importfile.NewReader(text, start, header); ; preview.Total++ {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return start, preview, nil
		}
		if err != nil {
			return start, preview, err
		}
		if preview.Total < previewSize {
			preview.Rows = append(preview.Rows, newPreviewRow(parser.parse(importLine{Row: row})))
		}
	}
}

func (s *Service) previewParser(ctx context.Context, scope store.Scope, source string) (*rowParser, error) {
	clinic, err := s.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return nil, err
	}
	today, err := store.Today(clinic.Timezone, s.host.Now())
	return newRowParser(s.store.Join(nil), scope, clinic, today, source), err
}

func newPreviewRow(row parsedRow) PreviewRow {
	preview := PreviewRow{Line: row.line.Line, ExternalID: row.ref.text, Name: row.Name, Status: row.Status, Warnings: row.warnings, Problem: row.problem}
	for _, field := range []struct {
		target *string
		value  *string
	}{{&preview.Phone, row.Phone}, {&preview.Email, row.Email}} {
		if field.value != nil {
			*field.target = *field.value
		}
	}
	if row.CPF != nil {
		preview.CPFLast2 = (*row.CPF)[len(*row.CPF)-2:]
	}
	if row.BirthDate != nil {
		preview.BirthDate = row.BirthDate.Format(time.DateOnly)
	}
	return preview
}
