// Package imports stores contacts from files: small ones at once, larger ones in a job that
// survives restarts.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/importfile"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	// Job is the name of the background job.
	Job = "contact-imports"
	// MaxRowsAtOnce is how many rows are imported while the request waits.
	MaxRowsAtOnce = 2000
	// MaxUnfinished is how many imports of a company can be unfinished at a time. The imports of
	// all companies have their turn one after the other.
	MaxUnfinished = 5

	batchSize     = 500
	batchesPerRun = 10   // of the job; then imports of others have their turn
	maxNotes      = 1000 // errors, and warnings, of an import
	previewSize   = 20   // rows of a [Result]
	maxAge        = 90 * 24 * time.Hour
)

// States of imports.
const (
	StatusPending   = "pending"
	StatusRunning   = "running"
	StatusDone      = "done"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled" // what was imported before stays
)

// Actions of rows.
const (
	ActionCreate = "create"
	ActionUpdate = "update"
	ActionSkip   = "skip"
	ActionFail   = "fail"
)

// Note is an error or a warning of a line.
type Note struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Result is what an import did, or would do.
type Result struct {
	Created, Updated, Skipped, Failed int
	Errors, Warnings                  []Note // the first thousand of each
	Preview                           []PreviewRow
}

// PreviewRow is a row as it is read, and what the import does with it.
type PreviewRow struct {
	importfile.Row
	Action string
}

// Service imports contacts.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// Run imports a file in one transaction, into a contact list unless that is nil.
func (s *Service) Run(ctx context.Context, scope store.Scope, list *int64, file *File) (result Result, err error) {
	err = s.store.InTx(ctx, "importing contacts", func(tx *store.Tx) error {
		tx.Priority = hub.PriorityBulk
		result = Result{}
		return file.readBatches(func(batch []importfile.Row) error {
			return importBatch(ctx, tx, scope, target{list: list}, batch, &result)
		})
	})
	return result, err
}

// target is where rows go.
type target struct {
	list *int64 // nil: into no list
	id   int64  // of the stored import; 0 for a file that is imported at once
}

// importBatch imports a few rows.
func importBatch(ctx context.Context, tx *store.Tx, scope store.Scope, to target, batch []importfile.Row, result *Result) error {
	known, err := tx.LockContactsByNumberKey(ctx, scope.Company, keysOf(batch))
	if err != nil {
		return fmt.Errorf("loading contacts: %w", err)
	}
	erased, err := tx.FindErased(ctx, scope.Company, to.id, keysOf(batch))
	if err != nil {
		return fmt.Errorf("loading anonymized contacts: %w", err)
	}
	m := matcher{byKey: make(map[string]*entry), erased: erased}
	m.add(known)
	for _, row := range batch {
		m.apply(row, result)
	}
	var created, updated []store.Contact
	var listed []int64
	for _, e := range m.touched {
		switch {
		case e.contact.ID == 0:
			created = append(created, e.contact)
		case e.isChanged:
			updated = append(updated, e.contact)
		}
		if e.contact.ID != 0 {
			listed = append(listed, e.contact.ID)
		}
	}
	ids, err := tx.CreateContacts(ctx, scope, created)
	if err != nil {
		return err
	}
	if err := tx.SaveContactNames(ctx, scope.Company, updated); err != nil {
		return fmt.Errorf("changing contacts: %w", err)
	}
	if to.list == nil {
		return nil
	}
	return tx.InsertContactListItems(ctx, *to.list, scope.Company, append(listed, ids...))
}

func keysOf(rows []importfile.Row) []string {
	keys := make([]string, 0, len(rows))
	for _, row := range rows {
		if row.Problem == "" {
			keys = append(keys, chat.NumberKey(row.Number))
		}
	}
	return keys
}

// entry is a contact that rows describe.
type entry struct {
	contact   store.Contact // without an id: a new one
	isChanged bool
	isListed  bool
}

// matcher finds the contacts of rows.
type matcher struct {
	byKey   map[string]*entry
	erased  map[string]bool // number keys whose rows are left out
	touched []*entry        // in the order of their first rows
}

func (m *matcher) add(contacts []store.Contact) {
	for _, c := range contacts {
		if m.byKey[c.NumberKey] == nil {
			m.byKey[c.NumberKey] = &entry{contact: c}
		}
	}
}

// apply changes the contact of a row to what the row says, and counts the row.
func (m *matcher) apply(row importfile.Row, result *Result) {
	if row.Problem != "" {
		result.count(row, ActionFail)
		return
	}
	key := chat.NumberKey(row.Number)
	if m.erased[key] {
		result.count(importfile.Row{Line: row.Line, Problem: "is about a contact who was anonymized or deleted while the file was imported"}, ActionFail)
		return
	}
	e, isKnown := m.byKey[key]
	if !isKnown {
		e = &entry{contact: store.Contact{Number: row.Number, NumberKey: key, Name: row.Number}}
		m.byKey[key] = e
	}
	if !e.isListed {
		e.isListed = true
		m.touched = append(m.touched, e)
	}
	change := changeOf(row, row.Name == e.contact.Name, row.Email == e.contact.Email)
	if change.name {
		e.contact.Name = row.Name
	}
	if change.email {
		e.contact.Email = row.Email
	}
	e.isChanged = e.isChanged || change.name || change.email
	result.count(row, change.action(isKnown))
}

// rowChange is which fields of its contact a row changes.
type rowChange struct{ name, email bool }

// changeOf returns what a row changes of a contact. Empty cells change nothing.
func changeOf(row importfile.Row, hasName, hasEmail bool) rowChange {
	return rowChange{row.Name != "" && !hasName, row.Email != "" && !hasEmail}
}

// action returns what the import does with the row.
func (c rowChange) action(isKnown bool) string {
	switch {
	case !isKnown:
		return ActionCreate
	case c.name || c.email:
		return ActionUpdate
	}
	return ActionSkip
}

// count adds a row.
func (r *Result) count(row importfile.Row, action string) {
	if len(r.Preview) < previewSize {
		r.Preview = append(r.Preview, PreviewRow{row, action})
	}
	switch action {
	case ActionFail:
		r.Failed++
		r.Errors = addNote(r.Errors, row.Line, row.Problem)
		return
	case ActionCreate:
		r.Created++
	case ActionUpdate:
		r.Updated++
	default:
		r.Skipped++
	}
	if row.Warning != "" {
		r.Warnings = addNote(r.Warnings, row.Line, row.Warning)
	}
}

func addNote(notes []Note, line int, text string) []Note {
	if len(notes) >= maxNotes {
		return notes
	}
	return append(notes, Note{line, text})
}

// importKey is the payload of the job.
type importKey struct {
	Company int64 `json:"company"`
	ID      int64 `json:"id"`
}

// sealContext binds an encrypted batch to its import and place.
func (k importKey) sealContext(n int) string {
	return "contact-import/" + strconv.FormatInt(k.ID, 10) + "/" + strconv.Itoa(n)
}

// Enqueue stores the rows of a file, encrypted, and enqueues the job that imports them. It is a
// [hub.ErrRateLimited] if [MaxUnfinished] imports of the company are unfinished.
func (s *Service) Enqueue(ctx context.Context, scope store.Scope, list *int64, file *File) (stored store.Import, err error) {
	err = s.store.InTx(ctx, "storing an import", func(tx *store.Tx) error {
		unfinished, err := tx.CountUnfinishedImports(ctx, scope.Company)
		if err != nil {
			return fmt.Errorf("counting imports: %w", err)
		}
		if unfinished >= MaxUnfinished { // several at the same moment may be a few more
			limited := hub.Errorf(hub.ErrRateLimited, "too_many_imports", "%d imports of the company are not finished. Wait until one of them is.", unfinished)
			limited.RetryAfter = time.Minute
			return limited
		}
		if stored, err = tx.InsertImport(ctx, dbgen.InsertImportParams{CompanyID: scope.Company, ListID: list, Total: file.Total, CreatedAt: tx.Now()}); err != nil {
			return err
		}
		key, n := importKey{scope.Company, stored.ID}, 0
		err = file.readBatches(func(batch []importfile.Row) error {
			raw, err := json.Marshal(batch)
			if err != nil {
				return fmt.Errorf("encoding rows: %w", err)
			}
			sealed := s.host.Sealer.Seal(raw, key.sealContext(n))
			err = tx.InsertImportBatch(ctx, dbgen.InsertImportBatchParams{CompanyID: key.Company, ImportID: key.ID, N: n, Content: sealed})
			n++
			return err
		})
		if err != nil {
			return err
		}
		return s.enqueueRun(ctx, tx, key)
	})
	return stored, err
}

// enqueueRun enqueues a run of [Job] for an import, behind those of other imports that wait.
func (s *Service) enqueueRun(ctx context.Context, tx *store.Tx, key importKey) error {
	payload, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("encoding an import: %w", err)
	}
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: Job, Key: strconv.FormatInt(key.ID, 10), Payload: payload})
}

// Continue is a run of [Job]: it imports some of the batches that wait, each in a transaction of
// its own, and leaves the rest to another run, so that a large file holds up no other company's. A
// run that was ended midway goes on with the next batch.
func (s *Service) Continue(ctx context.Context, payload []byte) error {
	var key importKey
	if err := json.Unmarshal(payload, &key); err != nil {
		return fmt.Errorf("decoding the import to continue: %w", err)
	}
	company, err := s.store.Company(ctx, key.Company)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	for range batchesPerRun {
		finished, err := s.importNextBatch(ctx, scope, key)
		if err != nil || finished {
			return err
		}
	}
	return s.store.InTx(ctx, "planning an import", func(tx *store.Tx) error { return s.enqueueRun(ctx, tx, key) })
}

// importNextBatch imports one batch and adds to the counters of its import.
func (s *Service) importNextBatch(ctx context.Context, scope store.Scope, key importKey) (finished bool, err error) {
	err = s.store.InTx(ctx, "importing contacts", func(tx *store.Tx) error {
		tx.Priority = hub.PriorityBulk
		state, err := tx.LockImport(ctx, key.Company, key.ID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && state.FinishedAt != nil {
			finished = true
			return nil
		}
		if err != nil {
			return err
		}
		batch, err := tx.NextImportBatch(ctx, key.Company, key.ID)
		if errors.Is(err, pgx.ErrNoRows) {
			finished = true
			return s.saveProgress(ctx, tx, state, Result{}, StatusDone)
		}
		if err != nil {
			return err
		}
		raw, err := s.host.Sealer.Open(batch.Content, key.sealContext(batch.N))
		if err != nil { // the key was changed: it never opens again
			s.host.Log.ErrorContext(ctx, "an import failed", "import_id", key.ID, "error", err)
			finished = true
			return s.saveProgress(ctx, tx, state, Result{}, StatusFailed)
		}
		var rows []importfile.Row
		if err := json.Unmarshal(raw, &rows); err != nil {
			return fmt.Errorf("decoding rows: %w", err)
		}
		var result Result
		if err := importBatch(ctx, tx, scope, target{state.ListID, key.ID}, rows, &result); err != nil {
			return err
		}
		if err := tx.DeleteImportBatch(ctx, key.Company, key.ID, batch.N); err != nil {
			return err
		}
		return s.saveProgress(ctx, tx, state, result, StatusRunning)
	})
	return finished, err
}

// saveProgress adds what a batch did to its import.
func (s *Service) saveProgress(ctx context.Context, tx *store.Tx, state store.Import, result Result, status string) error {
	params := dbgen.UpdateImportParams{
		CompanyID: state.CompanyID, ID: state.ID, Status: status, Created: state.Created + result.Created, Updated: state.Updated + result.Updated,
		Skipped: state.Skipped + result.Skipped, Failed: state.Failed + result.Failed, UpdatedAt: tx.Now(),
	}
	var err error
	if params.Errors, err = appendNotes(state.Errors, result.Errors); err != nil {
		return err
	}
	if params.Warnings, err = appendNotes(state.Warnings, result.Warnings); err != nil {
		return err
	}
	if status != StatusRunning {
		now := tx.Now()
		params.FinishedAt = &now
		if err := tx.DeleteImportErasures(ctx, state.CompanyID, state.ID); err != nil {
			return fmt.Errorf("deleting what an import left out: %w", err)
		}
	}
	return tx.UpdateImport(ctx, params)
}

// Cancel ends an import and returns it as it is stored then: what was imported stays, and is
// counted. It does nothing to one that was cancelled before. Errors: [hub.ErrNotFound]; a
// [hub.ErrMalformed] if the import has come to its end.
func (s *Service) Cancel(ctx context.Context, scope store.Scope, id int64) (cancelled store.Import, err error) {
	err = s.store.InTx(ctx, "cancelling an import", func(tx *store.Tx) error {
		state, err := tx.LockImport(ctx, scope.Company, id) // waits for the batch that is being imported
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return hub.Errorf(hub.ErrNotFound, "no_import_found", "There is no import with this id.")
		case err != nil:
			return err
		case state.Status == StatusCancelled:
			cancelled = state
			return nil
		case state.FinishedAt != nil:
			return hub.Errorf(hub.ErrMalformed, "invalid_transition", "The import is %s: only one that is pending or running can be cancelled.", state.Status)
		}
		if err := tx.DeleteImportBatches(ctx, scope.Company, id); err != nil {
			return fmt.Errorf("deleting what was not imported: %w", err)
		}
		if err := s.saveProgress(ctx, tx, state, Result{}, StatusCancelled); err != nil {
			return err
		}
		cancelled, err = tx.ImportByID(ctx, scope.Company, id)
		return err
	})
	return cancelled, err
}

// appendNotes adds notes to stored ones, up to the first thousand.
func appendNotes(stored json.RawMessage, added []Note) (json.RawMessage, error) {
	notes, err := Notes(stored)
	if err != nil || len(added) == 0 {
		return stored, err
	}
	notes = append(notes, added...)
	raw, err := json.Marshal(notes[:min(len(notes), maxNotes)])
	if err != nil {
		return nil, fmt.Errorf("encoding notes: %w", err)
	}
	return raw, nil
}

// Notes returns stored errors or warnings.
func Notes(stored json.RawMessage) ([]Note, error) {
	var notes []Note
	if err := json.Unmarshal(stored, &notes); err != nil {
		return nil, fmt.Errorf("decoding notes: %w", err)
	}
	return notes, nil
}

// DeleteOld is a background job: it deletes the reports of imports that ended long ago.
func (s *Service) DeleteOld(ctx context.Context, _ []byte) error {
	_, err := s.store.DeleteFinishedImports(ctx, s.host.Now().Add(-maxAge))
	return err
}
