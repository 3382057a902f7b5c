package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
)

// InboxItem is an entry as people choose by.
type InboxItem struct {
	dbgen.InboxEntry
	Summary   *string    // what the event tells, as it would stand on a history; nil once it is settled, or where that is nothing
	Suggested *uuid.UUID // patient who has the number by now, while the entry is open; nil where nobody has, or several
}

// ListInbox gives a page of the entries with a status, the newest first, and how many
// there are, counted up to [CountedAtMost].
func (s *Store) ListInbox(ctx context.Context, at Scope, status string, limit, offset int) (list []InboxItem, total int, err error) {
	total, err = s.CountInbox(ctx, dbgen.CountInboxParams{ClinicID: at.Clinic, Env: at.Env, Status: status, Most: CountedAtMost})
	if err != nil || offset >= total && total < CountedAtMost {
		return nil, total, err
	}
	rows, err := s.Queries.ListInbox(ctx, dbgen.ListInboxParams{ClinicID: at.Clinic, Env: at.Env, Status: status, RowLimit: limit, RowOffset: offset})
	if err != nil {
		return nil, total, err
	}
	suggested, err := s.suggested(ctx, at, rows)
	if err != nil {
		return nil, total, err
	}
	list = make([]InboxItem, len(rows))
	for i, entry := range rows {
		list[i].InboxEntry = entry
		if entry.Status != Open {
			continue
		}
		if n, err := reread(s.host.Sealer, entry); err == nil { // upkeep says which cannot be read
			if line := n.line(); line != "" {
				list[i].Summary = &line
			}
		}
		if entry.PhoneKey != nil {
			list[i].Suggested = suggested[*entry.PhoneKey]
		}
	}
	return list, total, nil
}

// suggested finds who alone has the number of an open entry, for all of them at once.
func (s *Store) suggested(ctx context.Context, at Scope, entries []dbgen.InboxEntry) (map[string]*uuid.UUID, error) {
	var keys []string
	for _, entry := range entries {
		if entry.Status == Open && entry.PhoneKey != nil {
			keys = append(keys, *entry.PhoneKey)
		}
	}
	if keys == nil {
		return nil, nil
	}
	rows, err := s.OnlyByPhone(ctx, at.Clinic, at.Env, keys)
	found := make(map[string]*uuid.UUID, len(rows))
	for _, row := range rows {
		found[row.PhoneKey] = &row.PatientID
	}
	return found, err
}

// line is what an event tells, masked as the lines of a history are. Of what happened to a
// booking it says which booking too: no appointment stands beside it.
func (n *news) line() string {
	said := n.said()
	if n.aboutBooking() {
		said = strings.Trim(booked(n.data.Service, n.data.Professional, n.when)+": "+said, ": ")
	}
	return historyLine(said)
}

// said is what people said in an event.
func (n *news) said() string {
	switch n.kind {
	case messageReceived, messageSent:
		return n.data.Body
	case ticketCreated:
		return n.data.Queue
	case ticketClosed:
		return n.data.Resolution
	}
	return n.data.Reason
}

// booked is an appointment in a line, without what is not known of it.
func booked(service, professional string, at time.Time) string {
	parts := []string{service, professional, ""}
	if !at.IsZero() {
		parts[2] = at.UTC().Format(time.RFC3339)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// historyLine is a text as it stands on a history.
func historyLine(text string) string { return care.Shorten(care.Scrub(text), MaxSummary) }

// reread reads an open inbox entry's event.
func reread(sealer module.Sealer, entry dbgen.InboxEntry) (news, error) {
	raw, err := sealer.Open(entry.DataEnc, inboxContext(entry.ID))
	if err != nil {
		return news{}, err
	}
	return read(Scope{entry.ClinicID, entry.Env}, entry.Source, entry.EventID, entry.EventType, entry.OccurredAt, raw)
}
