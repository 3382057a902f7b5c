package api

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

type mergeInput struct {
	rest.IDParam
	Body struct {
		Into uuid.UUID `json:"into" format:"uuid" doc:"The patient who stays and gets everything, of the same clinic and environment"`
	} `nameHint:"MergePatient"`
}

type mergeOutput struct {
	Body struct {
		MergeID uuid.UUID `json:"merge_id" format:"uuid" doc:"By which the merge can be undone for 30 days"`
	} `nameHint:"Merge"`
}

// mergePatient merges a patient into another one.
func (a *API) mergePatient(ctx context.Context, in *mergeInput) (*mergeOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	out := &mergeOutput{}
	err = a.store.InTx(ctx, "merging patients", func(tx *store.Tx) error {
		out.Body.MergeID, err = tx.MergePatients(ctx, scope, in.ID, in.Body.Into, caller.UserID)
		return err
	})
	return out, err
}

type undoneMergeOutput struct {
	Body struct {
		MergeID   uuid.UUID `json:"merge_id" format:"uuid" doc:"The merge that was undone"`
		PatientID uuid.UUID `json:"patient_id" format:"uuid" doc:"The patient who is there again"`
	} `nameHint:"UndoneMerge"`
}

// undoMerge makes two patients of a merged one again.
func (a *API) undoMerge(ctx context.Context, in *rest.IDParam) (*undoneMergeOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "undoing a merge", func(tx *store.Tx) error { return tx.UndoMerge(ctx, scope, in.ID, caller.UserID) })
	if err != nil {
		return nil, err
	}
	merge, err := a.store.Merge(ctx, scope.Clinic, scope.Env, in.ID)
	out := &undoneMergeOutput{}
	out.Body.MergeID, out.Body.PatientID = merge.ID, merge.MergedID
	return out, err
}
