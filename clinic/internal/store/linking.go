package store

import (
	"bytes"
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
	"integrationhub/hub/module"
)

// LinkedAtOnce is how many inbox entries one transaction settles beside the one that it
// is about: a request with so many takes a quarter of a second, and holds their locks no
// longer than that. What is more is settled by the job.
const LinkedAtOnce = 200

const (
	linkingSlice   = 3 * time.Second  // of one run, so that clinics take turns
	linkingTimeout = 30 * time.Second // of a run, on a database that is slow
)

// jobLinking is the job's name.
const jobLinking = "linking"

// linkingRun is what the job is told.
type linkingRun struct {
	Clinic uuid.UUID       `json:"clinic"`
	Env    hub.Environment `json:"env"`
	ID     uuid.UUID       `json:"id"`
}

// Linkings is the job that settles what waits from a number, or about a ticket or
// appointment, where that is more than a request does.
func (s *Store) Linkings() module.Job {
	return module.Job{Name: jobLinking, Timeout: linkingTimeout, Run: s.continueLinking}
}

// look finds the oldest of what a linking has to settle, and one more than a
// transaction does: whether that is all.
func (t *Tx) look(ctx context.Context, l dbgen.Linking) ([]dbgen.WaitingRow, error) {
	return t.Waiting(ctx, dbgen.WaitingParams{
		ClinicID: l.ClinicID, Env: l.Env, ID: l.ID, PhoneKey: l.PhoneKey, Source: l.Source, ExternalID: l.ExternalID,
		AfterAt: l.AfterAt, AfterID: l.AfterID, RowLimit: LinkedAtOnce + 1,
	})
}

// lookAnew is [Tx.look] for a linking that begins: what waits for its turn behind
// another one is that one's.
func (t *Tx) lookAnew(ctx context.Context, l dbgen.Linking) ([]dbgen.WaitingRow, error) {
	rows, err := t.look(ctx, l)
	return slices.DeleteFunc(rows, func(row dbgen.WaitingRow) bool { return row.MeantFor != nil }), err
}

// step is what one transaction does of what was found.
func step(rows []dbgen.WaitingRow) []dbgen.WaitingRow { return rows[:min(len(rows), LinkedAtOnce)] }

// hold locks what was found, as far as it is open still, and an entry, which may be none.
func (t *Tx) hold(ctx context.Context, at Scope, rows []dbgen.WaitingRow, id uuid.UUID) ([]dbgen.InboxEntry, error) {
	ids := make([]uuid.UUID, 0, len(rows)+1)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return t.LockEntries(ctx, dbgen.LockEntriesParams{ClinicID: at.Clinic, Env: at.Env, Ids: append(ids, id), ID: id})
}

// follow settles what a linking that begins has found and holds, and leaves what is more
// to the job.
func (t *Tx) follow(ctx context.Context, l dbgen.Linking, rows []dbgen.WaitingRow, entries []dbgen.InboxEntry) (n int, more bool, err error) {
	if n, err = t.settleAll(ctx, entries, l); err != nil || len(rows) <= LinkedAtOnce {
		return n, false, err
	}
	last := rows[LinkedAtOnce-1]
	if err := t.PutLinking(ctx, dbgen.PutLinkingParams{
		ClinicID: l.ClinicID, Env: l.Env, ID: l.ID, PatientID: l.PatientID, PhoneKey: l.PhoneKey, Source: l.Source, ExternalID: l.ExternalID,
		SettledBy: l.SettledBy, AfterAt: last.OccurredAt, AfterID: last.ID, CreatedAt: t.now,
	}); err != nil {
		return n, false, err
	}
	return n, true, t.enqueueLinking(ctx, linkingRun{l.ClinicID, l.Env, l.ID})
}

func (t *Tx) enqueueLinking(ctx context.Context, run linkingRun) error {
	payload, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("planning a linking: %w", err)
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: jobLinking, Key: run.ID.String(), Payload: payload})
}

// settleAll applies open inbox entries to the patient of a linking, or whom they are
// meant for, who are held: in the order in which they happened. It gives how many. Those
// whose appointment is not known stay, and so does one that fails: it keeps no other.
func (t *Tx) settleAll(ctx context.Context, entries []dbgen.InboxEntry, l dbgen.Linking) (n int, err error) {
	slices.SortFunc(entries, func(a, b dbgen.InboxEntry) int { return inOrder(a.OccurredAt, b.OccurredAt, a.ID, b.ID) })
	err = t.within(ctx, func(in *Tx) (err error) {
		n, err = in.settleEach(ctx, entries, l)
		return err
	})
	if err == nil || gaveWay(err) || ctx.Err() != nil {
		return n, err
	}
	n = 0
	for i, entry := range entries {
		settled := 0
		err := t.within(ctx, func(in *Tx) (err error) {
			settled, err = in.settleEach(ctx, entries[i:i+1], l)
			return err
		})
		switch {
		case err == nil:
			n += settled
		case gaveWay(err) || ctx.Err() != nil:
			return n, err
		default:
			t.host.Log.ErrorContext(ctx, "an inbox entry cannot be linked; it stays open", "entry_id", entry.ID, "error", err)
			if err := t.LeaveInboxEntry(ctx, l.ClinicID, l.Env, entry.ID); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// inOrder compares entries by when their events happened, and then by when they came.
func inOrder(a, b time.Time, first, second uuid.UUID) int {
	if order := a.Compare(b); order != 0 {
		return order
	}
	return bytes.Compare(first[:], second[:])
}

// within does a part of the transaction's work, which is undone alone where it fails.
func (t *Tx) within(ctx context.Context, work func(in *Tx) error) error {
	return pgx.BeginFunc(ctx, t.Raw, func(raw pgx.Tx) error { return work(&Tx{dbgen.New(raw), raw, t.host, t.now}) })
}

func (t *Tx) settleEach(ctx context.Context, entries []dbgen.InboxEntry, l dbgen.Linking) (n int, err error) {
	taken := false // one brought up what waited for it, which may be among these
	for _, entry := range entries {
		if taken {
			if entry, err = t.InboxEntry(ctx, entry.ClinicID, entry.Env, entry.ID); err != nil {
				return n, err
			}
			if entry.Status != Open {
				continue
			}
		}
		var settled bool
		if entry.MeantFor != nil {
			settled, err = t.settleInTurn(ctx, entry)
			taken = true
		} else {
			settled, err = t.settle(ctx, entry, l.PatientID, l.SettledBy, false)
		}
		if err != nil {
			return n, err
		}
		if settled {
			n++
		}
	}
	return n, nil
}

// settleInTurn does what [Tx.Receive] would have done with an event, had nothing older
// waited when it came. Where its appointment is not known it waits for somebody.
func (t *Tx) settleInTurn(ctx context.Context, entry dbgen.InboxEntry) (settled bool, err error) {
	n, err := t.reread(entry)
	if err != nil {
		return false, err
	}
	if settled, err = t.take(ctx, &n, *entry.MeantFor, entry.ID); err != nil {
		return false, err
	}
	if !settled {
		return false, t.LeaveInboxEntry(ctx, entry.ClinicID, entry.Env, entry.ID)
	}
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: entry.MeantFor, SettledAt: &t.now,
	})
	return err == nil, err
}

// continueLinking settles more of what waits for a while, and leaves the rest to another
// run.
func (s *Store) continueLinking(ctx context.Context, payload []byte) error {
	var run linkingRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("reading what to link: %w", err)
	}
	for until := time.Now().Add(linkingSlice); ; {
		more, err := s.linkOn(ctx, run)
		if err != nil || !more {
			return err
		}
		if !time.Now().Before(until) {
			return s.InTx(ctx, "planning a linking", func(tx *Tx) error { return tx.enqueueLinking(ctx, run) })
		}
	}
}

// linkOn settles the next entries of a linking and notes how far it is, in one
// transaction; more tells that it is to be called again.
func (s *Store) linkOn(ctx context.Context, run linkingRun) (more bool, err error) {
	err = s.InTx(ctx, "linking what waits", func(tx *Tx) error {
		l, err := tx.Linking(ctx, run.Clinic, run.Env, run.ID)
		if err == nil {
			more, err = tx.linkOn(ctx, l)
		}
		if errors.Is(err, pgx.ErrNoRows) { // it has ended
			more, err = false, nil
		}
		return err
	})
	return more, err
}

func (t *Tx) linkOn(ctx context.Context, l dbgen.Linking) (more bool, err error) {
	at := Scope{l.ClinicID, l.Env}
	rows, err := t.look(ctx, l)
	if err != nil {
		return false, err
	}
	rows = step(rows)
	if err := t.turns(ctx, at, nil, rows); err != nil {
		return false, err
	}
	patients := []uuid.UUID{l.PatientID}
	for _, row := range rows {
		if row.MeantFor != nil {
			patients = append(patients, *row.MeantFor)
		}
	}
	slices.SortFunc(patients, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, patient := range slices.Compact(patients) {
		if _, err := t.SharePatient(ctx, l.ClinicID, l.Env, patient); err != nil {
			return false, err
		}
	}
	now, err := t.LockLinking(ctx, l.ClinicID, l.Env, l.ID)
	if err != nil {
		return false, err
	}
	if now.AfterID != l.AfterID {
		return true, nil // another run was faster
	}
	if len(rows) == 0 {
		return t.endLinking(ctx, l)
	}
	entries, err := t.hold(ctx, at, rows, uuid.Nil)
	if err != nil {
		return false, err
	}
	if _, err := t.settleAll(ctx, entries, l); err != nil {
		return false, err
	}
	last := rows[len(rows)-1]
	if inOrder(last.OccurredAt, l.AfterAt, last.ID, l.AfterID) <= 0 { // these came late: the place was passed
		return true, nil
	}
	return true, t.AdvanceLinking(ctx, dbgen.AdvanceLinkingParams{ClinicID: l.ClinicID, Env: l.Env, ID: l.ID, AfterAt: last.OccurredAt, AfterID: last.ID})
}

// endLinking ends a linking that is locked: no event can come to wait for its turn any
// more. One that did before is settled first.
func (t *Tx) endLinking(ctx context.Context, l dbgen.Linking) (more bool, err error) {
	rows, err := t.look(ctx, l)
	if err != nil || len(rows) > 0 {
		return true, err
	}
	return false, t.DropLinking(ctx, l.ClinicID, l.Env, l.ID)
}

// waitsBehind tells whether older news of the number, the ticket or the appointment of an
// event are on their way to a patient. What was known then decides what a booking's news
// mean, so they are applied first; until the transaction ends, that goes on.
func (t *Tx) waitsBehind(ctx context.Context, n *news) (bool, error) {
	_, err := t.ShareLinkingOf(ctx, dbgen.ShareLinkingOfParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, PhoneKey: n.phoneKey(), Source: n.source, ExternalID: n.subject(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// claimed is whose an open entry is about to become, nil: nobody's.
func (t *Tx) claimed(ctx context.Context, entry dbgen.InboxEntry) (*uuid.UUID, error) {
	if entry.Status != Open || entry.MeantFor != nil {
		return entry.MeantFor, nil
	}
	l, err := t.LinkingOf(ctx, dbgen.LinkingOfParams{
		ClinicID: entry.ClinicID, Env: entry.Env, PhoneKey: entry.PhoneKey, Source: entry.Source, ExternalID: entry.ExternalID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &l.PatientID, err
}

// stillLinking tells whether more of what waited with an entry follows it in the
// background.
func (t *Tx) stillLinking(ctx context.Context, at Scope, entry uuid.UUID) (bool, error) {
	_, err := t.Linking(ctx, at.Clinic, at.Env, entry)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
