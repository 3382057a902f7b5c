// Package imports brings patients from files into a clinic. A file is stored encrypted, and
// a job reads it in batches. Each row is matched with the clinic's patients: it creates a
// patient, changes one, says nothing new, or is listed with an error.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Statuses of imports.
const (
	statusRunning = "running"
	statusDone    = "done"
	statusFailed  = "failed" // its file cannot be read any more
)

const (
	// Job is the name of the job that reads imported files.
	Job = "import"
	// Timeout is for one run of the job, with a slow database.
	Timeout = 15 * time.Second

	// Runs are short: imports of several clinics take turns, and an import whose process
	// died goes on within a minute.
	runTime   = 3 * time.Second
	batchSize = 100  // rows in a transaction
	maxErrors = 1000 // rows with errors that are stored for an import
)

// Service imports patients of all clinics.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the import service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// importKey is the key of an import, and the payload of the job.
type importKey struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

func (k importKey) scope() store.Scope { return store.Scope{Clinic: k.Clinic, Env: k.Env} }

// Upload is a file of patients.
type Upload struct {
	Format importfile.Format
	File   io.ReadSeeker
	User   uuid.UUID // who uploads it
}

// Create stores a file, encrypted, and has it read in the background. It returns the id of
// the import. A file that cannot be read as its format is a [hub.ErrInvalid].
func (s *Service) Create(ctx context.Context, scope store.Scope, upload Upload) (uuid.UUID, error) {
	start, total, err := countRows(upload)
	var unfit importfile.UnfitError
	if errors.As(err, &unfit) {
		return uuid.Nil, hub.Invalid("body.file", unfit.Error())
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

// countRows reads a file once. It returns where the rows begin and how many there are.
func countRows(upload Upload) (start importfile.Position, total int, err error) {
	if err := importfile.Recognize(upload.File, upload.Format); err != nil {
		return start, 0, err
	}
	text, err := importfile.Text(upload.File)
	if err != nil {
		return start, 0, err
	}
	var table *importfile.Table
	start = importfile.Start
	if upload.Format == importfile.CSV {
		if table, start, err = importfile.ReadHead(text); err != nil {
			return start, 0, err
		}
		if text, err = importfile.Text(upload.File); err != nil {
			return start, 0, err
		}
		if _, err = io.CopyN(io.Discard, text, start.Offset); err != nil {
			return start, 0, fmt.Errorf("reading the file: %w", err)
		}
	}
	for rows := importfile.Open(text, start, table); ; total++ {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return start, total, nil
		} else if err != nil {
			return start, 0, err
		}
	}
}

func (s *Service) enqueue(ctx context.Context, tx *store.Tx, key importKey) error {
	payload, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("planning an import: %w", err)
	}
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: Job, Key: key.ID.String(), Payload: payload})
}
