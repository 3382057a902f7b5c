// Package exports writes bulk exports of a clinic's FHIR resources. A job writes the
// resources of each type, a batch at a time, to encrypted chunks. They are kept for a day, or
// until a patient of the clinic is erased.
package exports

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

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

const (
	// ExportJob is the name of the job that writes exports.
	ExportJob = "fhir-export"
	// ExportTimeout bounds one run of the job, with a slow database.
	ExportTimeout = 15 * time.Second
	// CleanupJob is the name of the job that deletes expired exports.
	CleanupJob = "fhir-export-cleanup"
	// KeptFor is how long after its request an export is kept.
	KeptFor = 24 * time.Hour
	// MaxStored is how many exports a clinic can have at a time in each environment.
	MaxStored = 3

	// changeDelay is how much earlier than the request an export is complete: a transaction
	// that began before may commit its changes while the export is written.
	changeDelay  = time.Minute
	runTime      = 3 * time.Second // exports of several clinics take turns
	batchSize    = 50              // resources in a transaction; records may be long
	cleanupBatch = 20              // exports in a transaction
)

// Viewer is whose view of the clinic's data an export has.
type Viewer struct {
	KeyID uuid.UUID // zero: the clinic's administrators
	Peer  string    // product of the key's integration, or ""
}

// PageQuery selects a page of resources, in the order of their ids.
type PageQuery struct {
	store.Scope
	Viewer
	Type  string
	Since time.Time // of the last change; zero = any
	After uuid.UUID // the row before the page; zero = the first page
	Limit int
}

// Page is a page of resources.
type Page struct {
	Lines
	Errors Lines     // OperationOutcomes about resources that cannot be read
	IsEnd  bool      // the page is after the last row; it has no lines
	Last   uuid.UUID // row of the page
}

// Lines are resources as a file has them.
type Lines struct {
	Text  []byte // of JSON, each with a line feed at its end
	Count int
}

// ErrorType is the type of the file about resources that are left out of an export because
// they cannot be read. It is written beside the files of the requested types.
const ErrorType = "OperationOutcome"

// Source reads resources as a viewer may see them.
type Source interface {
	// ExportPage returns a page, read in a transaction.
	ExportPage(ctx context.Context, tx *store.Tx, query PageQuery) (Page, error)
}

// Service exports the resources of all clinics.
type Service struct {
	host   module.Host
	store  *store.Store
	source Source
}

// New returns the export service of an opened product.
func New(host module.Host, s *store.Store, source Source) *Service { return &Service{host, s, source} }

// Jobs returns the service's jobs. Names are stored with waiting runs, so they never change.
func (s *Service) Jobs() []module.Job {
	return []module.Job{
		{Name: ExportJob, Timeout: ExportTimeout, Run: s.Continue},
		{Name: CleanupJob, Every: time.Hour, Timeout: 10 * time.Minute, Run: func(ctx context.Context, _ []byte) error { return s.Cleanup(ctx) }},
	}
}

// exportKey is the key of an export, and the payload of the job.
type exportKey struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

func (k exportKey) scope() store.Scope { return store.Scope{Clinic: k.Clinic, Env: k.Env} }

// Request asks for an export.
type Request struct {
	Viewer
	Address string // of the request, without anything that identifies a person
	Types   []string
	Since   time.Time // of the resources' last change; zero = any
}

// Create stores a request, enqueues the job and returns the export's id. It is a
// [hub.ErrRateLimited] if the clinic has [MaxStored] exports.
func (s *Service) Create(ctx context.Context, scope store.Scope, request Request) (uuid.UUID, error) {
	key := exportKey{scope.Clinic, scope.Env, store.NewID()}
	err := s.store.InTx(ctx, "storing an export", func(tx *store.Tx) error {
		if err := tx.LockExports(ctx, scope); err != nil { // two requests may count at the same time
			return err
		}
		now := tx.Now()
		count, err := tx.StoredExports(ctx, now, scope.Clinic, scope.Env)
		if err != nil {
			return err
		}
		if count.Stored >= MaxStored {
			limited := hub.Errorf(hub.ErrRateLimited, "too_many_exports", "The clinic has %d exports. Delete one, or wait until one expires.", MaxStored)
			limited.RetryAfter = max(time.Second, count.FirstExpiry.Sub(now))
			return limited
		}
		export := dbgen.InsertExportParams{
			ClinicID: scope.Clinic, Env: scope.Env, ID: key.ID, Peer: request.Peer, Request: request.Address,
			CompleteTo: now.Add(-changeDelay).Truncate(time.Millisecond), CreatedAt: now, ExpiresAt: now.Add(KeptFor),
		}
		if request.KeyID != uuid.Nil {
			export.KeyID = &request.KeyID
		}
		if !request.Since.IsZero() {
			export.ChangedSince = &request.Since
		}
		if err := tx.InsertExport(ctx, export); err != nil {
			return err
		}
		for n, name := range request.Types {
			if err := tx.InsertExportFile(ctx, dbgen.InsertExportFileParams{ClinicID: scope.Clinic, Env: scope.Env, ExportID: key.ID, N: n, Type: name}); err != nil {
				return err
			}
		}
		return s.enqueue(ctx, tx, key)
	})
	return key.ID, err
}

func (s *Service) enqueue(ctx context.Context, tx *store.Tx, key exportKey) error {
	payload, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("planning an export: %w", err)
	}
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: ExportJob, Key: key.ID.String(), Payload: payload})
}

// Export returns an export with its files, in order. It is a [hub.ErrNotFound] if there is
// none, or it has expired, or the viewer is another key.
func (s *Service) Export(ctx context.Context, scope store.Scope, viewer Viewer, id uuid.UUID) (store.Export, []store.ExportFile, error) {
	export, err := s.store.ExportByID(ctx, dbgen.ExportByIDParams{ClinicID: scope.Clinic, Env: scope.Env, ID: id, Now: s.host.Now()})
	isVisible := viewer.KeyID == uuid.Nil || export.KeyID != nil && *export.KeyID == viewer.KeyID
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !isVisible {
		return export, nil, hub.NotFound("Export")
	}
	if err != nil {
		return export, nil, err
	}
	files, err := s.store.ExportFiles(ctx, scope.Clinic, scope.Env, id)
	return export, files, err
}

// chunkContext binds an encrypted chunk to its export and place.
func chunkContext(id uuid.UUID, name string, n int) string {
	return "export/" + id.String() + "/" + name + "/" + strconv.Itoa(n)
}

// WriteFile writes the lines of a file, one chunk at a time.
func (s *Service) WriteFile(ctx context.Context, w io.Writer, file store.ExportFile) error {
	for n := range file.Chunks {
		sealed, err := s.store.ExportChunkContent(ctx, dbgen.ExportChunkContentParams{ClinicID: file.ClinicID, Env: file.Env, ExportID: file.ExportID, Type: file.Type, N: n})
		if err != nil {
			return dberr.Wrap("reading an export", err)
		}
		lines, err := s.host.Sealer.Open(sealed, chunkContext(file.ExportID, file.Type, n))
		if err != nil {
			return fmt.Errorf("decrypting an export: %w", err)
		}
		if _, err := w.Write(lines); err != nil {
			return fmt.Errorf("sending an export: %w", err)
		}
	}
	return nil
}

// Cleanup is a run of [CleanupJob].
func (s *Service) Cleanup(ctx context.Context) error {
	for {
		var deleted int64
		err := s.store.InTx(ctx, "deleting expired exports", func(tx *store.Tx) (err error) {
			deleted, err = tx.DeleteExpiredExports(ctx, tx.Now(), cleanupBatch)
			return err
		})
		if err != nil || deleted < cleanupBatch {
			return err
		}
	}
}
