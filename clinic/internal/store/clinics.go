package store

import (
	"context"

	"integrationhub/clinic/internal/store/dbgen"
)

// Clinic is a row of clinic.clinics.
type Clinic = dbgen.Clinic

// UpdateClinic stores the settings of a clinic that the transaction has locked.
func (t *Tx) UpdateClinic(ctx context.Context, c Clinic) (Clinic, error) {
	return t.UpdateClinicRow(ctx, dbgen.UpdateClinicRowParams{ID: c.ID, Name: c.Name, Timezone: c.Timezone, RevealCpf: c.RevealCpf, Locale: c.Locale, UpdatedAt: t.Now()})
}
