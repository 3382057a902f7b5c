package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// patientRowColumns are the columns of clinic.patients that are not generated.
const patientRowColumns = `clinic_id, env, id, name, phone, email, cpf_enc, cpf_hmac, cpf_last2, birth_date, status, external_ref, created_at, updated_at, anonymized_at`

// UndoMerge makes two patients of a merged one again. What was added to the survivor since
// stays there. Errors: [hub.ErrNotFound]; [hub.ErrConflict] with the reason if the merge
// cannot be undone any more.
func (t *Tx) UndoMerge(ctx context.Context, scope Scope, id, user uuid.UUID) error {
	merge, err := t.Merge(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.NotFound("Merge")
	}
	if err != nil {
		return err
	}
	survivor, err := t.LockPatient(ctx, scope.Clinic, scope.Env, merge.IntoID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if merge, err = t.LockMerge(ctx, scope.Clinic, scope.Env, id); err != nil {
		return err
	}
	switch {
	case merge.UndoneAt != nil:
		return hub.Errorf(hub.ErrConflict, "already_undone", "This merge was undone before.")
	case merge.PatientID != merge.IntoID:
		return hub.Errorf(hub.ErrConflict, "merged_again", "The patient was merged into another one later. Undo that merge first.")
	case survivor.Status == Anonymized:
		return errPatientAnonymized()
	case merge.StateEnc == nil || t.Now().After(merge.MergedAt.Add(MergeUndoPeriod)):
		return hub.Errorf(hub.ErrConflict, "undo_expired", "A merge can be undone within 30 days.")
	}
	module.SetSubject(ctx, survivor.ID.String())
	plain, err := t.Host.Sealer.Open(merge.StateEnc, mergeContext(id))
	if err != nil {
		err = fmt.Errorf("decrypting what a merge changed: %w", errors.Join(ErrUnreadable, err))
		t.Host.Log.ErrorContext(ctx, "a stored value is unreadable", "merge_id", id, "error", err)
		return errDataUnreadable("What this merge changed cannot be decrypted, so it cannot be undone.").WithCause(err)
	}
	var state mergeState
	if err := json.Unmarshal(plain, &state); err != nil {
		return fmt.Errorf("reading what a merge changed: %w", err)
	}
	if err := t.restoreMerged(ctx, scope, merge, survivor, state); err != nil {
		return err
	}
	now := t.Now()
	return t.EndMerge(ctx, dbgen.EndMergeParams{ClinicID: scope.Clinic, Env: scope.Env, ID: id, UndoneBy: &user, UndoneAt: &now})
}

// restoreMerged restores the merged patient and moves back what the merge moved and filled.
func (t *Tx) restoreMerged(ctx context.Context, scope Scope, merge dbgen.ClinicPatientMerge, survivor Patient, state mergeState) error {
	merged, err := t.readMergedRow(ctx, state)
	if err != nil {
		return err
	}
	if err := t.clearFilled(ctx, scope, survivor, merged, state); err != nil {
		return err
	}
	own := []any{scope.Clinic, scope.Env, survivor.ID}
	statements := []struct {
		sql  string
		args []any
	}{
		{`insert into clinic.patients (` + patientRowColumns + `) select ` + patientRowColumns + ` from jsonb_populate_record(null::clinic.patients, $1)`, []any{state.Patient}},
		{`update clinic.patients set updated_at = $4 where clinic_id = $1 and env = $2 and id = $3`, []any{scope.Clinic, scope.Env, merge.MergedID, t.Now()}},
		{`delete from clinic.earlier_contacts where clinic_id = $1 and env = $2 and patient_id = $3 and id = any($4)`, append(own, state.AddedContacts)},
		{`delete from clinic.patient_references where clinic_id = $1 and env = $2 and patient_id = $3 and source = $4 and reference = coalesce($5, '')`, append(own, MergedExternalRefs, merged.ExternalRef)},
		{`delete from clinic.linked_phones where clinic_id = $1 and env = $2 and patient_id = $3 and phone_key = any($4)`, append(own, state.AddedPhones)},
	}
	for _, statement := range statements {
		if _, err := t.Raw.Exec(ctx, statement.sql, statement.args...); err != nil {
			return mapPatientConflict(err)
		}
	}
	for _, column := range MovedColumns {
		if keys := state.Moved[column.Name()]; len(keys) > 0 {
			if _, err := t.movePatientRows(ctx, scope, column, survivor.ID, merge.MergedID, keys); err != nil {
				return err
			}
		}
	}
	// What was paid since for an appointment that goes back goes with it.
	if err := t.MovePaymentsToTheirAppointments(ctx, dbgen.MovePaymentsToTheirAppointmentsParams{
		ClinicID: scope.Clinic, Env: scope.Env, FromID: survivor.ID, ToID: merge.MergedID, UpdatedAt: t.Now(),
	}); err != nil {
		return err
	}
	if err := t.restoreDeleted(ctx, scope, state); err != nil {
		return err
	}
	if len(state.Filled) == 0 {
		if err := t.publishMerged(ctx, scope, survivor, nil); err != nil {
			return err
		}
	}
	return t.publishMerged(ctx, scope, merged, nil)
}

// readMergedRow returns the merged patient's row.
func (t *Tx) readMergedRow(ctx context.Context, state mergeState) (Patient, error) {
	rows, err := t.Raw.Query(ctx, `select * from jsonb_populate_record(null::clinic.patients, $1)`, state.Patient)
	if err != nil {
		return Patient{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Patient])
}

// clearFilled empties the survivor's fields that the merge filled, if they are as the merge
// left them.
func (t *Tx) clearFilled(ctx context.Context, scope Scope, survivor, merged Patient, state mergeState) error {
	before, err := t.EarlierContactIDs(ctx, scope.Clinic, scope.Env, survivor.ID)
	if err != nil {
		return err
	}
	data, err := t.PatientData(merged)
	if err != nil {
		return err
	}
	_, err = t.ChangePatient(ctx, scope, survivor.ID, func(d *PatientData) error {
		for _, field := range mergeFields(d, data) {
			if slices.Contains(state.Filled, field.name) && field.isEqual() {
				field.clear()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	added, err := t.newContacts(ctx, scope, survivor.ID, before)
	if err != nil {
		return err
	}
	return t.DeleteEarlierContactsByID(ctx, dbgen.DeleteEarlierContactsByIDParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: survivor.ID, Ids: added})
}

// restoreDeleted inserts what the merge deleted, and takes back the ids of bookings.
func (t *Tx) restoreDeleted(ctx context.Context, scope Scope, state mergeState) error {
	for _, contact := range state.Contacts {
		_, err := t.Raw.Exec(ctx, `insert into clinic.earlier_contacts select * from jsonb_populate_record(null::clinic.earlier_contacts, $1) on conflict do nothing`, contact)
		if err != nil {
			return err
		}
	}
	for _, match := range state.ImportMatches {
		_, err := t.Raw.Exec(ctx, `insert into clinic.import_matches select * from jsonb_populate_record(null::clinic.import_matches, $1) on conflict do nothing`, match)
		if err != nil {
			return err
		}
	}
	_, err := t.Raw.Exec(ctx, `update clinic.appointments set external_id = null where clinic_id = $1 and env = $2 and id = any($3) and external_id = 'merged:' || id::text`,
		scope.Clinic, scope.Env, state.Renamed)
	return err
}
