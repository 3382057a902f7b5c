package imports

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Upload is a file of patients.
type Upload struct {
	Format importfile.Format
	File   io.ReadSeeker
	User   uuid.UUID // the uploader
}

// Create stores a file, encrypted, and enqueues the job that imports it. It returns the id
// of the import. A file that cannot be read as its format is a [hub.ErrInvalid].
func (s *Service) Create(ctx context.Context, scope store.Scope, upload Upload) (uuid.UUID, error) {
	start, total, err := countRows(upload)
	var formatErr importfile.FormatError
	if errors.As(err, &formatErr) {
		return uuid.Nil, hub.Invalid("body.file", formatErr.Error())
	}
	if err != nil {
		return uuid.Nil, err
	}
	if total == 0 {
		return uuid.Nil, hub.Invalid("body.file", "holds no patients")
	}
	key := importKey{scope.Clinic, scope.Env, store.NewID()}
	err = s.store.InTx(ctx, "storing an import", func(tx *store.Tx) error {
		if err := tx.InsertImport(ctx, dbgen.InsertImportParams{
			ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Format: string(upload.Format), Total: total, Position: start.Offset, Line: start.Line,
			CreatedBy: &upload.User, CreatedAt: tx.Now(),
		}); err != nil {
			return err
		}
		if err := s.storeFile(ctx, tx, key, upload.File); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, key)
	})
	return key.ID, err
}

// countRows reads the whole file. It returns where the rows begin and how many there are.
// storeFile reads the file again.
func countRows(upload Upload) (start importfile.Position, total int, err error) {
	if err := importfile.CheckFormat(upload.File, upload.Format); err != nil {
		return start, 0, err
	}
	text, err := importfile.Text(upload.File)
	if err != nil {
		return start, 0, err
	}
	var header *importfile.Header
	start = importfile.Start
	if upload.Format == importfile.CSV {
		if header, start, err = importfile.ReadHeader(text); err != nil {
			return start, 0, err
		}
		if text, err = importfile.Text(upload.File); err != nil {
			return start, 0, err
		}
		if _, err = io.CopyN(io.Discard, text, start.Offset); err != nil {
			return start, 0, fmt.Errorf("reading the file: %w", err)
		}
	}
	for rows := importfile.NewReader(text, start, header); ; total++ {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return start, total, nil
		} else if err != nil {
			return start, 0, err
		}
	}
}
