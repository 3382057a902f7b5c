package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

const (
	// UndoJob is the name of the job that undoes imports.
	UndoJob = "import-undo"
	// UndoPeriod is how long after its end an import can be undone.
	UndoPeriod = 24 * time.Hour
	// CleanupJob is the name of the job that forgets what was before imports, and their errors.
	CleanupJob = "imports"

	undoRunning = "running"
	undoDone    = "done"
)

// Reasons for which an undo leaves a patient as it is, for users.
const (
	keptChanged = "was changed after the import"
	keptLinked  = "has records, appointments, payments or messages by now, or another import found the patient"
	keptTaken   = "the CPF or external_id of before belongs to another patient by now"
)

// StartUndo enqueues the job that undoes an import. Errors: [hub.ErrNotFound];
// [hub.ErrConflict] if the import is not finished, was a dry run, is too long ago, or was
// undone before.
func (s *Service) StartUndo(ctx context.Context, scope store.Scope, id uuid.UUID) error {
	key := importKey{scope.Clinic, scope.Env, id}
	return s.store.InTx(ctx, "undoing an import", func(tx *store.Tx) error {
		importState, err := tx.LockImport(ctx, scope.Clinic, scope.Env, id)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return hub.NotFound("Import")
		case err != nil:
			return err
		case importState.FinishedAt == nil:
			return hub.Errorf(hub.ErrConflict, "import_running", "The import is not finished yet.")
		case importState.DryRun:
			return hub.Errorf(hub.ErrConflict, "dry_run", "A dry run changes nothing, so there is nothing to undo.")
		case importState.UndoStatus != nil:
			return hub.Errorf(hub.ErrConflict, "already_undone", "The import was undone before, or is being undone.")
		case tx.Now().After(importState.FinishedAt.Add(UndoPeriod)):
			return hub.Errorf(hub.ErrConflict, "undo_expired", "An import can be undone within 24 hours after its end.")
		}
		if err := tx.StartUndo(ctx, scope.Clinic, scope.Env, id); err != nil {
			return err
		}
		return s.enqueueJob(ctx, tx, UndoJob, key.ID, undoRun{importKey: key}, time.Time{})
	})
}

// undoRun is the payload of [UndoJob].
type undoRun struct {
	importKey
	MaxPatients int `json:"max_patients,omitempty"` // in a transaction, after one that took too long; 0 = batchSize
}

// ContinueUndo is a run of [UndoJob]. It undoes the changes of some patients for a few
// seconds, and leaves the rest to another run. If a batch takes too long, the next run tries
// half of it. A single patient is tried again after a pause, as long as it takes too long.
func (s *Service) ContinueUndo(ctx context.Context, payload []byte) error {
	var run undoRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("decoding the import to undo: %w", err)
	}
	if run.MaxPatients < 1 || run.MaxPatients > batchSize {
		run.MaxPatients = batchSize
	}
	key, deadline := run.importKey, time.Now().Add(runTime)
	for after := uuid.Nil; ; {
		matches, err := s.store.ImportMatchesToUndo(ctx, dbgen.ImportMatchesToUndoParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, After: after, RowLimit: run.MaxPatients})
		if err != nil {
			return dberr.Wrap("reading what an import changed", err)
		}
		isLast := len(matches) < run.MaxPatients
		err = s.undoBatch(ctx, key, matches, isLast)
		if isTimeout(err) && len(matches) > 1 && !errors.Is(ctx.Err(), context.Canceled) {
			s.host.Log.WarnContext(ctx, "a batch of an undo took too long; fewer patients will be tried", "import_id", key.ID, "patients", len(matches), "error", err)
			// The time of this run may be over.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), planTimeout)
			defer cancel()
			return s.enqueueUndo(ctx, undoRun{key, len(matches) / 2})
		}
		if err != nil || isLast {
			return err
		}
		after = matches[len(matches)-1].PatientID
		run.MaxPatients = min(2*run.MaxPatients, batchSize)
		if !time.Now().Before(deadline) {
			return s.enqueueUndo(ctx, run)
		}
	}
}

// enqueueUndo enqueues a further run of [UndoJob].
func (s *Service) enqueueUndo(ctx context.Context, run undoRun) error {
	return s.store.InTx(ctx, "planning an undo", func(tx *store.Tx) error { return s.enqueueJob(ctx, tx, UndoJob, run.ID, run, time.Time{}) })
}

// undoBatch undoes the changes of some patients in one transaction, within [batchTimeout]. isLast
// reports that there are no more.
func (s *Service) undoBatch(ctx context.Context, key importKey, matches []dbgen.ImportMatch, isLast bool) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	return s.store.InTx(ctx, "undoing an import", func(tx *store.Tx) error {
		tx.Priority = hub.PriorityBulk
		importState, err := tx.LockImport(ctx, key.Clinic, key.Env, key.ID)
		if err != nil || importState.UndoStatus == nil || *importState.UndoStatus != undoRunning {
			return err // another run has ended it
		}
		u := &undo{tx: tx, key: key}
		if err := u.load(ctx, matches); err != nil {
			return err
		}
		for _, match := range matches {
			if err := u.undoChange(ctx, match); err != nil {
				return err
			}
		}
		progress := dbgen.UpdateUndoProgressParams{ClinicID: key.Clinic, Env: key.Env, ID: key.ID, Undone: u.undone, Kept: u.kept, UndoStatus: importState.UndoStatus}
		if isLast {
			status, now := undoDone, tx.Now()
			progress.UndoStatus, progress.UndoFinishedAt = &status, &now
		}
		return tx.UpdateUndoProgress(ctx, progress)
	})
}

// undo undoes what an import did to some patients.
type undo struct {
	tx           *store.Tx
	key          importKey
	patients     map[uuid.UUID]store.Patient // locked
	linked       []uuid.UUID                 // those that something was added to
	undone, kept int
}

func (u *undo) load(ctx context.Context, matches []dbgen.ImportMatch) error {
	ids := make([]uuid.UUID, len(matches))
	for i, match := range matches {
		ids[i] = match.PatientID
	}
	patients, err := u.tx.LockPatients(ctx, u.key.Clinic, u.key.Env, ids)
	if err != nil {
		return err
	}
	u.patients = make(map[uuid.UUID]store.Patient, len(patients))
	for _, patient := range patients {
		u.patients[patient.ID] = patient
	}
	u.linked, err = u.tx.LinkedPatients(ctx, dbgen.LinkedPatientsParams{ClinicID: u.key.Clinic, Env: u.key.Env, Ids: ids, ImportID: u.key.ID})
	return err
}

// undoChange undoes what the import did to a patient, or notes why it does not.
func (u *undo) undoChange(ctx context.Context, match dbgen.ImportMatch) error {
	patient, found := u.patients[match.PatientID]
	if !found { // another run has deleted the patient
		return nil
	}
	data, err := u.tx.PatientData(patient)
	if err != nil && !errors.Is(err, store.ErrUnreadable) {
		return err
	}
	reason := ""
	switch {
	case err != nil:
		reason = u.keepUnreadable(ctx, patient.ID, err)
	case patient.Status == store.Anonymized || !slices.Equal(hashAfter(u.tx, u.key.scope(), patient.ID, data), match.AfterHmac):
		reason = keptChanged
	case match.BeforeEnc == nil && slices.Contains(u.linked, patient.ID):
		reason = keptLinked
	default:
		err = u.tx.Savepoint(ctx, func(nested *store.Tx) error {
			if match.BeforeEnc == nil {
				return deleteImported(ctx, nested, u.key.scope(), patient)
			}
			return restorePatient(ctx, nested, u.key, match)
		})
		switch {
		case match.BeforeEnc == nil && dberr.ConstraintName(err) != "":
			reason = keptLinked
		case errors.Is(err, hub.ErrConflict):
			reason = keptTaken
		case errors.Is(err, store.ErrUnreadable):
			reason = u.keepUnreadable(ctx, patient.ID, err)
		case err != nil:
			return err
		}
	}
	if reason == "" {
		u.undone++
		return u.tx.DeleteImportMatch(ctx, dbgen.DeleteImportMatchParams{ClinicID: u.key.Clinic, Env: u.key.Env, ImportID: u.key.ID, PatientID: patient.ID})
	}
	u.kept++
	return u.tx.KeepImportMatch(ctx, dbgen.KeepImportMatchParams{ClinicID: u.key.Clinic, Env: u.key.Env, ImportID: u.key.ID, PatientID: patient.ID, KeptReason: &reason})
}

// keepUnreadable logs why a patient stays as it is, and returns the reason for users.
func (u *undo) keepUnreadable(ctx context.Context, patient uuid.UUID, err error) string {
	u.tx.Host.Log.ErrorContext(ctx, "the undo of an import leaves a patient as it is", "import_id", u.key.ID, "patient_id", patient, "error", err)
	return problemUnreadable
}

// deleteImported deletes a patient that an import created and that nothing refers to.
// Connected products are notified that the patient changed, not of an erasure request:
// they may know the same person by themselves.
func deleteImported(ctx context.Context, tx *store.Tx, scope store.Scope, patient store.Patient) error {
	if err := tx.DeletePatientRow(ctx, scope.Clinic, scope.Env, patient.ID); err != nil {
		return err
	}
	_, err := tx.Publish(ctx, scope.Clinic, scope.Env, events.PatientUpdated{PatientID: patient.ID.String(), ChangedFields: []string{"status"}, Phone: patient.Phone})
	return err
}

// restorePatient restores the data that a patient had before the import.
func restorePatient(ctx context.Context, tx *store.Tx, key importKey, match dbgen.ImportMatch) error {
	encoded, err := tx.Host.Sealer.Open(match.BeforeEnc, changeContext(key.ID, match.PatientID))
	if err != nil {
		return fmt.Errorf("decrypting a patient's data before an import: %w", errors.Join(store.ErrUnreadable, err))
	}
	var before snapshot
	if err := json.Unmarshal(encoded, &before); err != nil {
		return fmt.Errorf("reading a patient's data before an import: %w", err)
	}
	data, err := before.patientData()
	if err != nil {
		return err
	}
	if match.Source != nil && match.Reference != nil {
		err := tx.DeletePatientReference(ctx, dbgen.DeletePatientReferenceParams{ClinicID: key.Clinic, Env: key.Env, Source: *match.Source, Reference: *match.Reference, PatientID: match.PatientID})
		if err != nil {
			return err
		}
	}
	_, err = tx.ChangePatient(ctx, key.scope(), match.PatientID, func(d *store.PatientData) error {
		*d = data
		return nil
	})
	return err
}

// KeptPatient is a patient that an undo left as it is.
type KeptPatient struct {
	Patient uuid.UUID
	Line    int    // of the file
	Reason  string // for users
}

// KeptPatients returns the patients that an undo left as they are: the first thousand.
func (s *Service) KeptPatients(ctx context.Context, scope store.Scope, id uuid.UUID) ([]KeptPatient, error) {
	rows, err := s.store.KeptImportMatches(ctx, dbgen.KeptImportMatchesParams{ClinicID: scope.Clinic, Env: scope.Env, ImportID: id, RowLimit: maxErrors})
	patients := make([]KeptPatient, len(rows))
	for i, row := range rows {
		patients[i] = KeptPatient{Patient: row.PatientID, Line: row.Line}
		if row.KeptReason != nil {
			patients[i].Reason = *row.KeptReason
		}
	}
	return patients, err
}

// MessagesKeptFor is how long after its end the errors and warnings of an import are kept: they
// have initials of patients.
const MessagesKeptFor = 90 * 24 * time.Hour

// cleanupBatch is how many rows [Service.Cleanup] deletes at a time.
const cleanupBatch = 1000

// Cleanup is a run of [CleanupJob]. It deletes what patients were before imports that can
// no longer be undone, and old errors and warnings. An undo that began in time has an hour more.
func (s *Service) Cleanup(ctx context.Context) error {
	now := s.host.Now()
	for _, expired := range []struct {
		delete func(ctx context.Context, before time.Time, limit int) (int64, error)
		before time.Time
	}{
		{s.store.DeleteExpiredImportMatches, now.Add(-UndoPeriod - time.Hour)},
		{s.store.DeleteExpiredImportErrors, now.Add(-MessagesKeptFor)},
		{s.store.DeleteExpiredImportWarnings, now.Add(-MessagesKeptFor)},
	} {
		for deleted := int64(cleanupBatch); deleted == cleanupBatch; {
			var err error
			if deleted, err = expired.delete(ctx, expired.before, cleanupBatch); err != nil {
				return dberr.Wrap("forgetting what was before imports", err)
			}
		}
	}
	return nil
}

// enqueueJob enqueues a run of a job at a time; zero is now.
func (s *Service) enqueueJob(ctx context.Context, tx *store.Tx, job string, id uuid.UUID, run any, at time.Time) error {
	payload, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("planning an import: %w", err)
	}
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: job, Key: id.String(), Payload: payload, At: at})
}
