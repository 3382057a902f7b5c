package inbox

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
)

// Item is an entry of the list. All but Entry is nil unless the entry is open.
type Item struct {
	Entry     store.InboxEntry
	Summary   *string    // of the event, as a history would have it; nil if it is empty
	StartsAt  *time.Time // of the appointment, UTC, in seconds as the summary has it; nil if the event does not have it
	Suggested *uuid.UUID // the only patient with the phone number
}

// List returns a page of the entries with a status, newest first, and the total, counted
// up to [store.MaxCount].
func (s *Service) List(ctx context.Context, scope store.Scope, status string, limit, offset int) (items []Item, total int, err error) {
	total, err = s.store.CountInboxEntries(ctx, dbgen.CountInboxEntriesParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, MaxCount: store.MaxCount})
	if err != nil || offset >= total && total < store.MaxCount {
		return nil, total, err
	}
	entries, err := s.store.InboxPage(ctx, dbgen.InboxPageParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, RowLimit: limit, RowOffset: offset})
	if err != nil {
		return nil, total, err
	}
	items, err = s.items(ctx, scope, entries)
	return items, total, err
}

// ListOfPatient returns the first entries after one that are linked to a patient, or wait for
// their turn to be, in the order of their ids.
func (s *Service) ListOfPatient(ctx context.Context, scope store.Scope, patient, after uuid.UUID, limit int) ([]Item, error) {
	entries, err := s.store.InboxEntriesOfPatient(ctx, dbgen.InboxEntriesOfPatientParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, After: after, RowLimit: limit})
	if err != nil {
		return nil, err
	}
	return s.items(ctx, scope, entries)
}

// items returns entries with what their events say.
func (s *Service) items(ctx context.Context, scope store.Scope, entries []store.InboxEntry) ([]Item, error) {
	patients, err := s.suggestPatients(ctx, scope, entries)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(entries))
	for i, entry := range entries {
		items[i].Entry = entry
		if entry.Status != Open {
			continue
		}
		if event, err := openEntry(s.host.Sealer, entry); err == nil { // upkeep reports entries that cannot be opened
			if summary := event.summary(); summary != "" {
				items[i].Summary = &summary
			}
			items[i].StartsAt = event.appointmentTime()
		}
		if entry.PhoneKey != nil {
			items[i].Suggested = patients[*entry.PhoneKey]
		}
	}
	return items, nil
}

// suggestPatients returns the patients who alone have the phone number of an open entry,
// by phone key.
func (s *Service) suggestPatients(ctx context.Context, scope store.Scope, entries []store.InboxEntry) (map[string]*uuid.UUID, error) {
	var keys []string
	for _, entry := range entries {
		if key := identifyingKey(entry); entry.Status == Open && key != nil {
			keys = append(keys, *key)
		}
	}
	if keys == nil {
		return nil, nil
	}
	rows, err := s.store.UniquePatientsByPhone(ctx, scope.Clinic, scope.Env, keys)
	patients := make(map[string]*uuid.UUID, len(rows))
	for _, row := range rows {
		patients[row.PhoneKey] = &row.PatientID
	}
	return patients, err
}
