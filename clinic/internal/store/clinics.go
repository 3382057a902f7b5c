package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/brazil"
)

// Clinic is a row of clinic.clinics.
type Clinic = dbgen.Clinic

// AreaCode returns the area code of phone numbers that are written without theirs, "" if
// they are refused.
func AreaCode(c Clinic) string {
	if c.DefaultAreaCode == nil {
		return ""
	}
	return *c.DefaultAreaCode
}

// CompletePhone returns a phone number with the clinic's default area code if it lacks one
// and the clinic has one; see [brazil.AddAreaCode].
func (s *Store) CompletePhone(ctx context.Context, clinic uuid.UUID, phone string) (string, error) {
	return completePhone(ctx, s.Queries, clinic, phone)
}

// CompletePhone is [Store.CompletePhone] in the transaction.
func (t *Tx) CompletePhone(ctx context.Context, clinic uuid.UUID, phone string) (string, error) {
	return completePhone(ctx, t.Queries, clinic, phone)
}

func completePhone(ctx context.Context, q *dbgen.Queries, id uuid.UUID, phone string) (string, error) {
	if !brazil.LacksAreaCode(phone) {
		return phone, nil
	}
	clinic, err := q.Clinic(ctx, id)
	return brazil.AddAreaCode(phone, AreaCode(clinic)), err
}

// UpdateClinic stores the settings of a clinic that the transaction has locked.
func (t *Tx) UpdateClinic(ctx context.Context, c Clinic) (Clinic, error) {
	return t.UpdateClinicRow(ctx, dbgen.UpdateClinicRowParams{ID: c.ID, Name: c.Name, Timezone: c.Timezone, RevealCpf: c.RevealCpf, Locale: c.Locale, UpdatedAt: t.Now(), DefaultAreaCode: c.DefaultAreaCode})
}
