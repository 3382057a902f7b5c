// Package imports brings patients from files into a clinic. A file is stored encrypted, and
// a job reads it in batches. Each row is matched with the clinic's patients: it creates a
// patient, updates one, is skipped, or is listed with an error.
package imports

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Statuses of imports. A new import is pending, the column's default.
const (
	statusRunning = "running"
	statusDone    = "done"
	statusFailed  = "failed" // its file cannot be read any more
)

const (
	// ImportJob is the name of the job that reads imported files.
	ImportJob = "import-file"
	// OldImportJob is the name by which earlier versions know the job. They must not run imports
	// with sources or dry runs. This version runs the jobs of both names.
	OldImportJob = "import"
	// ImportTimeout bounds one run of the job, with a slow database.
	ImportTimeout = 15 * time.Second

	// Runs are short: imports of several clinics take turns, and an import whose process
	// died goes on within 20 seconds.
	runTime   = 3 * time.Second
	batchSize = 100  // rows in a transaction
	maxErrors = 1000 // lines with problems that are stored for an import

	// batchTimeout bounds a transaction of rows. With runTime it stays below ImportTimeout,
	// so that a run has time to record what took too long.
	batchTimeout = 10 * time.Second
	planTimeout  = 5 * time.Second // for a run whose time is over to enqueue the next
)

// Service imports patients of all clinics.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the import service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// importKey is the key of an import.
type importKey struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

func (k importKey) scope() store.Scope { return store.Scope{Clinic: k.Clinic, Env: k.Env} }

func (s *Service) enqueue(ctx context.Context, tx *store.Tx, key importKey) error {
	return s.enqueueJob(ctx, tx, ImportJob, key.ID, importRun{importKey: key}, time.Time{})
}

// LineMessage is a problem with a line of an imported file, or a warning.
type LineMessage struct {
	Line    int
	Message string // for users, without values of the line
}

// LineErrors returns the stored problems of an import, by line: the first thousand.
func (s *Service) LineErrors(ctx context.Context, scope store.Scope, id uuid.UUID) ([]LineMessage, error) {
	rows, err := s.store.ImportErrorLines(ctx, scope.Clinic, scope.Env, id)
	messages := make([]LineMessage, len(rows))
	for i, row := range rows {
		messages[i] = LineMessage{Line: row.Line, Message: row.Error}
	}
	return messages, err
}

// LineWarnings returns the stored warnings of an import, by line: the first thousand.
func (s *Service) LineWarnings(ctx context.Context, scope store.Scope, id uuid.UUID) ([]LineMessage, error) {
	rows, err := s.store.ImportWarningLines(ctx, scope.Clinic, scope.Env, id)
	messages := make([]LineMessage, len(rows))
	for i, row := range rows {
		messages[i] = LineMessage{Line: row.Line, Message: row.Warning}
	}
	return messages, err
}
