package inbox

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/pointer"
)

// Erase deletes the entries about a patient in the caller's transaction, and ends the
// linkings to the patient. It returns the tombstones of the tickets of entries that were
// being linked: a user had said that they are the patient's.
func (s *Service) Erase(ctx context.Context, tx *store.Tx, scope store.Scope, patient *store.PatientIdentity) (ticketTombstones [][]byte, err error) {
	t := s.join(tx)
	ids, ticketTombstones, err := t.eraseLinkings(ctx, scope, patient.ID)
	if err != nil {
		return nil, err
	}
	params := dbgen.InboxEntryCandidatesParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient.ID, PhoneKeys: patient.PhoneKeys(), Emails: [][]byte{}}
	for _, email := range patient.Emails {
		params.Emails = append(params.Emails, t.InboxEmailHash(scope, email))
	}
	entries, err := t.InboxEntryCandidates(ctx, params)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Status == Open && entry.MeantFor == nil {
			if !t.isAbout(ctx, entry, patient, params.Emails) {
				continue
			}
		}
		ids = append(ids, entry.ID)
	}
	return ticketTombstones, t.DeleteInboxEntries(ctx, dbgen.DeleteInboxEntriesParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient.ID, Ids: ids})
}

// isAbout reports whether an open entry is about a patient. One that cannot be decrypted any more
// counts by its number, its name and the hash of its address. emailHashes are those of the
// patient's addresses.
func (t *transaction) isAbout(ctx context.Context, entry store.InboxEntry, patient *store.PatientIdentity, emailHashes [][]byte) bool {
	event, err := t.openEntry(entry)
	if err == nil {
		return patient.Matches(event.name(), event.data.Email, entry.PhoneKey)
	}
	email := ""
	if i := slices.IndexFunc(emailHashes, func(hash []byte) bool { return bytes.Equal(hash, entry.EmailHmac) }); i >= 0 {
		email = patient.Emails[i]
	}
	isAbout := patient.Matches(pointer.ValueOrZero(entry.Name), email, entry.PhoneKey)
	t.host.Log.ErrorContext(ctx, "an inbox entry cannot be read while a patient is erased", "entry_id", entry.ID, "deleted", isAbout, "error", err)
	return isAbout
}

// eraseLinkings deletes the linkings to a patient. It returns the entries that they had not
// reached yet, and the tombstones of those entries' tickets.
func (t *transaction) eraseLinkings(ctx context.Context, scope store.Scope, patient uuid.UUID) (entries []uuid.UUID, ticketTombstones [][]byte, err error) {
	linkings, err := t.DeleteLinkingsOfPatient(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return nil, nil, err
	}
	for _, linking := range linkings {
		rows, err := t.EntriesAwaitingLinking(ctx, dbgen.EntriesAwaitingLinkingParams{
			ClinicID: scope.Clinic, Env: scope.Env, PhoneKey: linking.PhoneKey, Source: linking.Source, ExternalID: linking.ExternalID,
			AfterAt: linking.AfterAt, AfterID: linking.AfterID,
		})
		if err != nil {
			return nil, nil, err
		}
		if err := t.ReleaseEntriesForOthers(ctx, dbgen.ReleaseEntriesForOthersParams{
			ClinicID: scope.Clinic, Env: scope.Env, PatientID: &patient, PhoneKey: linking.PhoneKey, Source: linking.Source, ExternalID: linking.ExternalID,
		}); err != nil {
			return nil, nil, err
		}
		for _, row := range rows {
			entries = append(entries, row.ID)
			if row.ExternalID == nil {
				continue
			}
			if ticketID, ok := strings.CutPrefix(*row.ExternalID, ticketPrefix); ok {
				ticketTombstones = append(ticketTombstones, t.TicketTombstone(scope, row.Source, ticketID))
			}
		}
	}
	return entries, ticketTombstones, nil
}
