package erasure

import (
	"context"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
)

// erase removes a patient's personal data from everything that stays.
func (s *Service) erase(ctx context.Context, tx *store.Tx, scope store.Scope, p store.Patient, identity *store.PatientIdentity) error {
	ticketTombstones, err := s.inbox.Erase(ctx, tx, scope, identity)
	if err != nil {
		return err
	}
	if err := eraseTexts(ctx, tx, scope, identity); err != nil {
		return err
	}
	if err := insertTombstones(ctx, tx, scope, p, identity, ticketTombstones); err != nil {
		return err
	}
	if err := tx.EraseMerges(ctx, scope.Clinic, scope.Env, p.ID); err != nil {
		return err
	}
	if err := tx.DeleteExports(ctx, scope.Clinic, scope.Env); err != nil { // they have the patient, or will
		return err
	}
	now := tx.Now()
	return tx.AnonymizePatient(ctx, dbgen.AnonymizePatientParams{ClinicID: scope.Clinic, Env: scope.Env, ID: p.ID, AnonymizedAt: &now})
}

// insertTombstones stores tombstones of a patient's present and earlier identifiers and of
// the patient's tickets, so that imports and events do not bring the patient back. Numbers
// and addresses of the past that another patient has too get none. The present number counts
// with each name: users may have linked events of a shared number by a name.
func insertTombstones(ctx context.Context, tx *store.Tx, scope store.Scope, p store.Patient, identity *store.PatientIdentity, ticketTombstones [][]byte) error {
	hashes := tx.Tombstones(scope, store.TombstoneIdentifiers{Name: p.Name, Phone: p.Phone, Email: p.Email, ExternalRef: p.ExternalRef, CPFHash: p.CpfHmac})
	for _, name := range identity.Names {
		for _, phone := range identity.Phones {
			if !identity.IsSharedPhone(phone) || p.Phone != nil && phone == *p.Phone {
				hashes = append(hashes, tx.Tombstones(scope, store.TombstoneIdentifiers{Name: name, Phone: &phone})...)
			}
		}
		for _, email := range identity.Emails {
			if !identity.IsSharedEmail(email) {
				hashes = append(hashes, tx.Tombstones(scope, store.TombstoneIdentifiers{Name: name, Email: &email})...)
			}
		}
	}
	for _, phone := range identity.Phones {
		if !identity.IsSharedPhone(phone) {
			hashes = append(hashes, tx.PhoneTombstone(scope, phone))
		}
	}
	for _, email := range identity.Emails {
		if !identity.IsSharedEmail(email) {
			hashes = append(hashes, tx.EmailTombstone(scope, email))
		}
	}
	for _, hash := range identity.CPFHashes {
		hashes = append(hashes, tx.Tombstones(scope, store.TombstoneIdentifiers{CPFHash: hash})...)
	}
	references, err := tx.DeletePatientReferences(ctx, scope.Clinic, scope.Env, p.ID)
	if err != nil {
		return err
	}
	for _, reference := range references {
		list := reference.Source
		if list == store.MergedExternalRefs {
			list = ""
		}
		hashes = append(hashes, tx.Tombstones(scope, store.TombstoneIdentifiers{Source: list, ExternalRef: &reference.Reference})...)
	}
	if err := tx.DeletePatientImportMatches(ctx, scope.Clinic, scope.Env, p.ID); err != nil {
		return err
	}
	rows, err := tx.DeleteTickets(ctx, scope.Clinic, scope.Env, p.ID)
	if err != nil {
		return err
	}
	hashes = append(hashes, ticketTombstones...)
	for _, ticket := range rows {
		hashes = append(hashes, tx.TicketTombstone(scope, ticket.Source, ticket.TicketID))
	}
	return tx.InsertTombstones(ctx, dbgen.InsertTombstonesParams{ClinicID: scope.Clinic, Env: scope.Env, Hashes: hashes, ErasedAt: tx.Now()})
}

// logTraces returns what the hub searches its log for.
func logTraces(identity *store.PatientIdentity) module.LogTraces {
	traces := module.LogTraces{Names: identity.Names, Events: identity.EventIDs}
	for _, email := range identity.Emails {
		if identity.IsSharedEmail(email) {
			traces.Shared = append(traces.Shared, email)
		} else {
			traces.Emails = append(traces.Emails, email)
		}
	}
	for _, phone := range identity.Phones {
		if identity.IsSharedPhone(phone) {
			traces.Shared = append(traces.Shared, phone)
		} else {
			traces.Phones = append(traces.Phones, phone)
		}
	}
	return traces
}
