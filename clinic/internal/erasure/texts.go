package erasure

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// eraseTexts removes texts about a patient from the data that stays, and other values that
// name the patient. All rows count as changed, so that readers of copies fetch them again.
func eraseTexts(ctx context.Context, tx *store.Tx, scope store.Scope, identity *store.PatientIdentity) error {
	matcher := MentionMatcher{Names: identity.Names, Phones: identity.Phones, Emails: identity.Emails}
	for _, erase := range []func(context.Context, *store.Tx, store.Scope, uuid.UUID, MentionMatcher) error{
		eraseRecordTexts, eraseAppointmentTexts, erasePaymentTexts, eraseInteractionTexts,
	} {
		if err := erase(ctx, tx, scope, identity.ID, matcher); err != nil {
			return err
		}
	}
	return nil
}

func eraseRecordTexts(ctx context.Context, tx *store.Tx, scope store.Scope, patient uuid.UUID, matcher MentionMatcher) error {
	rows, err := tx.RecordTexts(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return err
	}
	params := dbgen.EraseAndLockRecordsParams{Now: tx.Now(), ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, Placeholder: store.ErasedPlaceholder}
	for _, row := range rows {
		if matcher.IsIdentifiedByFirstNameIn(row.Type) {
			params.RedactType = append(params.RedactType, row.ID)
		}
		if matcher.IsIdentifiedIn(row.Professional) { // a professional may have the same first name
			params.RedactProfessional = append(params.RedactProfessional, row.ID)
		}
	}
	return tx.EraseAndLockRecords(ctx, params)
}

func eraseAppointmentTexts(ctx context.Context, tx *store.Tx, scope store.Scope, patient uuid.UUID, matcher MentionMatcher) error {
	rows, err := tx.AppointmentTexts(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return err
	}
	params := dbgen.EraseAppointmentTextsParams{Now: tx.Now(), ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient}
	for _, row := range rows {
		if matcher.IsIdentifiedByFirstNameIn(row.Service) {
			params.RedactService = append(params.RedactService, row.ID)
		}
		if matcher.IsIdentifiedIn(row.Professional) {
			params.RedactProfessional = append(params.RedactProfessional, row.ID)
		}
		if row.ExternalID != nil && !store.IsGeneratedID(*row.ExternalID) {
			params.Ids, params.Replacements = append(params.Ids, row.ID), append(params.Replacements, tx.ErasedExternalID(scope, *row.Source, *row.ExternalID))
		}
	}
	return tx.EraseAppointmentTexts(ctx, params)
}

func erasePaymentTexts(ctx context.Context, tx *store.Tx, scope store.Scope, patient uuid.UUID, matcher MentionMatcher) error {
	rows, err := tx.PaymentMethods(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return err
	}
	params := dbgen.ErasePaymentTextsParams{Now: tx.Now(), ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient}
	for _, row := range rows {
		if matcher.IsIdentifiedByFirstNameIn(row.Method) {
			params.RedactMethod = append(params.RedactMethod, row.ID)
		}
	}
	return tx.ErasePaymentTexts(ctx, params)
}

func eraseInteractionTexts(ctx context.Context, tx *store.Tx, scope store.Scope, patient uuid.UUID, matcher MentionMatcher) error {
	rows, err := tx.InteractionTexts(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return err
	}
	now := tx.Now()
	params := dbgen.EraseInteractionTextsParams{Now: &now, ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, Placeholder: store.ErasedPlaceholder}
	for _, row := range rows {
		if matcher.IsIdentifiedByFirstNameIn(row.Type) {
			params.RedactType = append(params.RedactType, row.ID)
		}
		isSourceIdentifying := matcher.IsIdentifiedByFirstNameIn(row.Source)
		if isSourceIdentifying {
			params.RedactSource = append(params.RedactSource, row.ID)
		}
		if isSourceIdentifying || !store.IsGeneratedID(row.SourceID) {
			params.Ids, params.Replacements = append(params.Ids, row.ID), append(params.Replacements, tx.ErasedExternalID(scope, row.Source, row.SourceID))
		}
	}
	return tx.EraseInteractionTexts(ctx, params)
}
