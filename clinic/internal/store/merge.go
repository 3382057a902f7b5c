package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// MergeUndoPeriod is how long after a merge it can be undone.
const MergeUndoPeriod = 30 * 24 * time.Hour

// PatientMerge is a merge into a patient.
type PatientMerge = dbgen.MergesOfPatientRow

// MovedColumn is a column that refers to patients, of a table whose rows a merge moves.
type MovedColumn struct {
	table, column string
	key           string // the other columns of the primary key
	isTimed       bool   // updated_at says when the row changed
}

// MovedColumns are the columns whose rows a merge moves, in the order in which
// [Store.InTx] locks their rows. Besides these, clinic.import_matches refer to patients,
// which a merge deletes, and clinic.deletion_requests, whose patients are not merged.
var MovedColumns = []MovedColumn{
	{"linkings", "patient_id", "id", false},
	{"inbox", "patient_id", "id", false},
	{"inbox", "meant_for", "id", false},
	{"appointments", "patient_id", "id", true},
	{"payments", "patient_id", "id", true},
	{"records", "patient_id", "id", true},
	{"record_accesses", "patient_id", "id", false},
	{"interactions", "patient_id", "id", true},
	{"tickets", "patient_id", "source, ticket_id", false},
	{"linked_phones", "patient_id", "phone_key", false},
	{"patient_references", "patient_id", "source, reference", false},
	{"earlier_contacts", "patient_id", "id", false},
	{"patient_merges", "patient_id", "id", false},
}

// mergeState is what the undo of a merge needs.
type mergeState struct {
	Patient       json.RawMessage     `json:"patient"`        // row of the merged patient
	Moved         map[string][]string `json:"moved"`          // keys of moved rows, by table and column
	Contacts      []json.RawMessage   `json:"contacts"`       // rows of earlier contacts that both had
	ImportMatches []json.RawMessage   `json:"import_matches"` // rows of the merged patient
	Renamed       []uuid.UUID         `json:"renamed"`        // appointments that got an external id
	AddedContacts []uuid.UUID         `json:"added_contacts"` // earlier contacts that the merge made
	AddedPhones   []string            `json:"added_phones"`   // phone keys that the merge linked
	Filled        []string            `json:"filled"`         // fields that were the merged patient's
}

// mergeContext binds an encrypted state to its merge.
func mergeContext(id uuid.UUID) string { return "merge/" + id.String() }

// MergePatients moves all that belongs to a patient to the survivor, fills the fields that the
// survivor lacks, and deletes the first. Errors: [hub.ErrNotFound]; [hub.ErrInvalid] for
// one and the same patient; [hub.ErrConflict] if either was anonymized or the CPFs differ.
func (t *Tx) MergePatients(ctx context.Context, scope Scope, mergedID, intoID, user uuid.UUID) (mergeID uuid.UUID, err error) {
	merged, survivor, err := t.lockForMerge(ctx, scope, mergedID, intoID)
	if err != nil {
		return uuid.Nil, err
	}
	module.SetSubject(ctx, mergedID.String())
	mergeID = NewID()
	state := mergeState{Moved: make(map[string][]string)}
	if err := t.moveAndDelete(ctx, scope, merged, survivor, &state); err != nil {
		return uuid.Nil, err
	}
	if err := t.completeSurvivor(ctx, scope, merged, survivor, &state); err != nil {
		return uuid.Nil, err
	}
	encoded, err := json.Marshal(state)
	if err != nil {
		return uuid.Nil, fmt.Errorf("encoding what a merge changed: %w", err)
	}
	return mergeID, t.InsertMerge(ctx, dbgen.InsertMergeParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: mergeID, MergedID: mergedID, IntoID: intoID, MergedBy: user, MergedAt: t.Now(),
		StateEnc: t.Host.Sealer.Seal(encoded, mergeContext(mergeID)),
	})
}

// lockForMerge locks both patients and checks that they may be merged.
func (t *Tx) lockForMerge(ctx context.Context, scope Scope, mergedID, intoID uuid.UUID) (merged, survivor Patient, err error) {
	rows, err := t.LockPatients(ctx, scope.Clinic, scope.Env, []uuid.UUID{mergedID, intoID})
	if err != nil {
		return merged, survivor, err
	}
	if len(rows) == 1 && mergedID == intoID {
		return merged, survivor, hub.Invalid("body.into", "must be another patient")
	}
	if len(rows) < 2 {
		return merged, survivor, hub.NotFound("Patient")
	}
	merged, survivor = rows[0], rows[1]
	if merged.ID != mergedID {
		merged, survivor = survivor, merged
	}
	if merged.Status == Anonymized || survivor.Status == Anonymized {
		return merged, survivor, errPatientAnonymized()
	}
	if merged.CpfHmac != nil && survivor.CpfHmac != nil && !slices.Equal(merged.CpfHmac, survivor.CpfHmac) {
		return merged, survivor, hub.Errorf(hub.ErrConflict, "cpf_differs", "These patients have different CPFs, so they are two people. Correct the wrong CPF first.")
	}
	return merged, survivor, nil
}

// moveAndDelete moves the merged patient's rows and deletes the rest, the patient included.
func (t *Tx) moveAndDelete(ctx context.Context, scope Scope, merged, survivor Patient, state *mergeState) (err error) {
	own := []any{scope.Clinic, scope.Env, merged.ID}
	if state.Patient, err = t.oneJSON(ctx, `select to_jsonb(p) from clinic.patients p where clinic_id = $1 and env = $2 and id = $3`, own...); err != nil {
		return err
	}
	state.ImportMatches, err = collect[json.RawMessage](ctx, t, `delete from clinic.import_matches m where clinic_id = $1 and env = $2 and patient_id = $3 returning to_jsonb(m)`, own...)
	if err != nil {
		return err
	}
	// Bookings without an id are distinguished by patient and time: those of the same time get one.
	state.Renamed, err = collect[uuid.UUID](ctx, t, `
		update clinic.appointments a set external_id = 'merged:' || id::text where clinic_id = $1 and env = $2 and patient_id = $3 and source is not null and external_id is null
		and exists (select from clinic.appointments b where b.clinic_id = $1 and b.env = $2 and b.patient_id = $4 and b.source = a.source and b.starts_at = a.starts_at and b.external_id is null)
		returning id`, append(own, survivor.ID)...)
	if err != nil {
		return err
	}
	state.Contacts, err = collect[json.RawMessage](ctx, t, `
		delete from clinic.earlier_contacts e where clinic_id = $1 and env = $2 and patient_id = $3
		and exists (select from clinic.earlier_contacts o where o.clinic_id = $1 and o.env = $2 and o.patient_id = $4 and o.kind = e.kind and o.value_hmac = e.value_hmac)
		returning to_jsonb(e)`, append(own, survivor.ID)...)
	if err != nil {
		return err
	}
	for _, column := range MovedColumns {
		keys, err := t.movePatientRows(ctx, scope, column, merged.ID, survivor.ID, nil)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			state.Moved[column.Name()] = keys
		}
	}
	if merged.ExternalRef != nil && survivor.ExternalRef != nil {
		err := t.InsertMergedExternalRef(ctx, dbgen.InsertMergedExternalRefParams{
			ClinicID: scope.Clinic, Env: scope.Env, Source: MergedExternalRefs, Reference: *merged.ExternalRef, PatientID: survivor.ID, CreatedAt: t.Now(),
		})
		if err != nil {
			return err
		}
	}
	return t.DeletePatientRow(ctx, scope.Clinic, scope.Env, merged.ID)
}

// Name returns table.column.
func (c MovedColumn) Name() string { return c.table + "." + c.column }

// movePatientRows moves rows from a patient to another and returns their keys; with keys,
// only those rows.
func (t *Tx) movePatientRows(ctx context.Context, scope Scope, c MovedColumn, from, to uuid.UUID, keys []string) ([]string, error) {
	set := ""
	args := []any{scope.Clinic, scope.Env, from, to, keys}
	if c.isTimed {
		set = ", updated_at = $6"
		args = append(args, t.Now())
	}
	key := "jsonb_build_array(" + c.key + ")::text"
	return collect[string](ctx, t, `
		update clinic.`+c.table+` set `+c.column+` = $4`+set+` where clinic_id = $1 and env = $2 and `+c.column+` = $3 and ($5::text[] is null or `+key+` = any($5))
		returning `+key, args...)
}

// completeSurvivor fills the fields that the survivor lacks, and adds what identified the
// merged patient. It publishes patient.updated for both.
func (t *Tx) completeSurvivor(ctx context.Context, scope Scope, merged, survivor Patient, state *mergeState) error {
	before, err := t.EarlierContactIDs(ctx, scope.Clinic, scope.Env, survivor.ID)
	if err != nil {
		return err
	}
	data, err := t.PatientData(merged)
	if err != nil {
		return err
	}
	var after PatientData
	_, err = t.ChangePatient(ctx, scope, survivor.ID, func(d *PatientData) error {
		for _, field := range mergeFields(d, data) {
			if field.isMissing() {
				field.fill()
				state.Filled = append(state.Filled, field.name)
			}
		}
		after = *d
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.saveEarlierContacts(ctx, scope, survivor.ID, data, after); err != nil {
		return err
	}
	if state.AddedContacts, err = t.newContacts(ctx, scope, survivor.ID, before); err != nil {
		return err
	}
	if merged.PhoneKey != nil && (after.Phone == nil || survivor.PhoneKey == nil || *survivor.PhoneKey != *merged.PhoneKey) && !slices.Contains(state.Filled, "phone") {
		state.AddedPhones, err = t.AddLinkedPhone(ctx, dbgen.AddLinkedPhoneParams{ClinicID: scope.Clinic, Env: scope.Env, PhoneKey: *merged.PhoneKey, PatientID: survivor.ID, CreatedAt: t.Now()})
		if err != nil {
			return err
		}
	}
	if len(state.Filled) == 0 {
		if err := t.publishMerged(ctx, scope, survivor, nil); err != nil {
			return err
		}
	}
	return t.publishMerged(ctx, scope, merged, &survivor.ID)
}

// publishMerged publishes that a patient changed by a merge or its undo. With a survivor
// the patient is no more.
func (t *Tx) publishMerged(ctx context.Context, scope Scope, patient Patient, survivor *uuid.UUID) error {
	event := events.PatientUpdated{PatientID: patient.ID.String(), ChangedFields: []string{"status"}, Phone: patient.Phone}
	if survivor != nil {
		id := survivor.String()
		event.MergedInto = &id
	}
	_, err := t.Publish(ctx, scope.Clinic, scope.Env, event)
	return err
}

// newContacts returns the ids of a patient's earlier contacts that are not among some.
func (t *Tx) newContacts(ctx context.Context, scope Scope, patient uuid.UUID, before []uuid.UUID) ([]uuid.UUID, error) {
	ids, err := t.EarlierContactIDs(ctx, scope.Clinic, scope.Env, patient)
	return slices.DeleteFunc(ids, func(id uuid.UUID) bool { return slices.Contains(before, id) }), err
}

// mergeField is a field that a patient may lack and another has.
type mergeField struct {
	name               string
	isMissing, isEqual func() bool
	fill, clear        func()
}

// mergeFields returns the fields that a merge fills, of those the other patient has.
func mergeFields(d *PatientData, other PatientData) (fields []mergeField) {
	text := func(name string, own **string, value *string) {
		if value != nil {
			fields = append(fields, mergeField{
				name, func() bool { return *own == nil }, func() bool { return equal(*own, value) }, func() { *own = value }, func() { *own = nil },
			})
		}
	}
	text("phone", &d.Phone, other.Phone)
	text("email", &d.Email, other.Email)
	text("cpf", &d.CPF, other.CPF)
	text("external_ref", &d.ExternalRef, other.ExternalRef)
	if other.BirthDate != nil {
		fields = append(fields, mergeField{
			"birth_date", func() bool { return d.BirthDate == nil }, func() bool { return d.BirthDate != nil && d.BirthDate.Equal(*other.BirthDate) },
			func() { d.BirthDate = other.BirthDate }, func() { d.BirthDate = nil },
		})
	}
	return fields
}

func (t *Tx) oneJSON(ctx context.Context, sql string, args ...any) (raw json.RawMessage, err error) {
	err = t.Raw.QueryRow(ctx, sql, args...).Scan(&raw)
	return raw, err
}

// collect returns the only column of a statement's rows.
func collect[V any](ctx context.Context, t *Tx, sql string, args ...any) ([]V, error) {
	rows, err := t.Raw.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[V])
}

// CheckNotMerged returns a [hub.ErrNotFound] that names who has the data of a patient that
// was merged into another; nil if the id is of no such patient.
func (s *Store) CheckNotMerged(ctx context.Context, scope Scope, id uuid.UUID) error {
	merge, err := s.MergeOfPatient(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return dberr.Wrap("looking for a merge", err)
	}
	answer := hub.Errorf(hub.ErrNotFound, "patient_merged", "This patient was merged into another one, which merged_into names.")
	answer.Extensions = hub.Extensions{"merged_into": merge.PatientID}
	return answer
}

// DropMergeStates deletes what undoing merges of more than [MergeUndoPeriod] ago needed.
func (s *Store) DropMergeStates(ctx context.Context) error {
	const batch = 500
	for {
		dropped, err := s.DropOldMergeStates(ctx, s.host.Now().Add(-MergeUndoPeriod), batch)
		if err != nil || dropped < batch {
			return dberr.Wrap("dropping the states of old merges", err)
		}
	}
}
