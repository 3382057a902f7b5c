package inbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// writer stores one batch after another.
type writer struct {
	*Inbox
	columns  columns
	byKey    []*pendingEvent // the batch in the order of its rows
	applying *pendingEvent   // whose effect is being applied; nil: none's
}

// storeAll stores a batch in one transaction and answers its events. The events of a tenant for
// whom it would wait for locks leave it. If it fails for another reason, each event gets a
// transaction of its own, so that one event cannot fail the others.
func (w *writer) storeAll(batch []*pendingEvent) {
	for len(batch) > 0 {
		err := w.transact(batch, boundLockWaits, time.Now().Add(w.timeout))
		switch {
		case err == nil:
			answerAll(batch)
			return
		case dberr.IsLockTimeout(err) && w.applying != nil:
			batch = w.holdTenant(batch, w.applying.Event.TenantID)
		case len(batch) == 1:
			w.answerOrHold(batch[0], err)
			return
		default:
			w.storeEach(batch)
			return
		}
	}
}

// storeEach stores each event of a batch in a transaction of its own, but for those of tenants whose
// events wait for locks.
func (w *writer) storeEach(batch []*pendingEvent) {
	for i, r := range batch {
		if w.locked.hasTenant(r.Event.TenantID) {
			w.locked.add(r)
			continue
		}
		w.answerOrHold(r, w.transact(batch[i:i+1], boundLockWaits, time.Now().Add(w.timeout)))
	}
}

// answerOrHold answers an event whose own transaction ended with err, or lets the event
// wait for locks.
func (w *writer) answerOrHold(r *pendingEvent, err error) {
	switch {
	case dberr.IsLockTimeout(err):
		w.locked.add(r)
		return
	case err != nil:
		w.fail(r, err)
	}
	close(r.done)
}

// holdTenant lets the events of a tenant wait for locks and returns the others.
func (w *writer) holdTenant(batch []*pendingEvent, tenant uuid.UUID) []*pendingEvent {
	return slices.DeleteFunc(batch, func(r *pendingEvent) bool {
		if r.Event.TenantID != tenant {
			return false
		}
		w.locked.add(r)
		return true
	})
}

func answerAll(batch []*pendingEvent) {
	for _, r := range batch {
		close(r.done)
	}
}

// refuse sets the answer of an event that the peer has to send again.
func (r *pendingEvent) refuse(cause error) { r.outcome, r.err = "", errBusy(cause) }

// fail sets the error that answers the peer, and logs the failure.
func (w *writer) fail(r *pendingEvent, err error) {
	r.outcome, r.err = "", w.callerError(err)
	w.logFailure(r)
}

// callerError returns the error that answers the peer.
func (w *writer) callerError(err error) error {
	wrapped := store.Wrap("storing a received event", err)
	if errors.Is(wrapped, hub.ErrUnavailable) {
		w.log.Warn("storing received events failed", "error", err)
		return errBusy(err)
	}
	return wrapped
}

// maxAttempts is how often a transaction runs that conflicts with others.
const maxAttempts = 5

// transact stores events and applies their effects, all or none. It starts again when
// PostgreSQL ended the transaction because it and another waited for each other.
func (w *writer) transact(batch []*pendingEvent, options pgx.TxOptions, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	var err error
	for range maxAttempts {
		if err = w.transactOnce(ctx, batch, options); !dberr.IsConflict(err) {
			break
		}
	}
	return err
}

func (w *writer) transactOnce(ctx context.Context, batch []*pendingEvent, options pgx.TxOptions) error {
	w.applying = nil
	return pgx.BeginTxFunc(ctx, w.pool, options, func(tx pgx.Tx) error {
		inserted, err := w.insert(ctx, tx, batch)
		if err != nil {
			return err
		}
		if err := w.classify(ctx, tx, batch, inserted); err != nil {
			return err
		}
		for _, r := range batch {
			w.applying = r
			if err := w.screenEvent(ctx, tx, r); err != nil {
				return err
			}
			if r.outcome != Accepted {
				continue
			}
			if err := w.applyEffect(ctx, tx, r); err != nil {
				return err
			}
		}
		w.applying = nil
		if err := w.finish(ctx, tx, batch); err != nil {
			return err
		}
		failpoint.Here("received_before_commit")
		return nil
	})
}

// eventKey identifies an event: duplicates share it.
type eventKey struct {
	integration uuid.UUID
	id          int64
}

func (r *pendingEvent) key() eventKey { return eventKey{r.IntegrationID, r.id} }

const insertReceivedSQL = `
	insert into hub.received (integration_id, event_id, tenant_id, body_sha256, event_type, ignored, seq)
	select * from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::bytea[], $5::text[], $6::bool[], $7::uuid[])
	on conflict do nothing returning integration_id, event_id`

const selectReceivedSQL = `
	select r.integration_id, r.event_id, r.body_sha256, r.failed from unnest($1::uuid[], $2::int8[]) as w(integration_id, event_id)
	join hub.received r using (integration_id, event_id)`

// claimFailedSQL claims events whose effect failed before. Another writer with the same event
// waits here and then finds it claimed. One that has left the log since, or that its sender has
// corrected, is logged again, with a new seq.
const claimFailedSQL = `
	update hub.received r set failed = false, ignored = w.ignored, body_sha256 = w.hash,
		seq = case when r.body_sha256 = w.hash and ` + isLoggedSQL + ` then r.seq else w.seq end
	from unnest($1::uuid[], $2::int8[], $3::bool[], $4::uuid[], $5::bytea[]) as w(integration_id, event_id, ignored, seq, hash)
	where r.integration_id = w.integration_id and r.event_id = w.event_id and r.failed returning r.integration_id, r.event_id, r.seq, r.seq <> w.seq and ` + isLoggedSQL

// isLoggedSQL reports whether the log has the event of a row r of hub.received.
const isLoggedSQL = `exists (select from hub.deliveries d where d.id = (overlay(r.seq::text placing '0001' from 33))::uuid)`

const markIgnoredSQL = `
	update hub.received r set ignored = true from unnest($1::uuid[], $2::int8[]) as w(integration_id, event_id)
	where r.integration_id = w.integration_id and r.event_id = w.event_id`

// insert stores the new events of a batch and returns their keys. Rows are inserted in the
// order of their keys, so that writers with the same events cannot deadlock. The batch
// stays in the order of arrival, in which effects are applied.
func (w *writer) insert(ctx context.Context, tx pgx.Tx, batch []*pendingEvent) (inserted map[eventKey]bool, err error) {
	w.byKey = append(w.byKey[:0], batch...)
	defer clear(w.byKey)
	slices.SortStableFunc(w.byKey, func(a, b *pendingEvent) int {
		return cmp.Or(bytes.Compare(a.IntegrationID[:], b.IntegrationID[:]), cmp.Compare(a.id, b.id))
	})
	w.columns.received.Reset(receivedTypes...)
	c := w.columns.received
	for _, r := range w.byKey {
		c[colReceivedIntegrationID].UUID(r.IntegrationID)
		c[colReceivedEventID].Int8(r.id)
		c[colReceivedTenantID].UUID(r.Event.TenantID)
		c[colReceivedBodyHash].Bytes(r.Hash[:])
		c[colReceivedEventType].Text(r.Event.Type)
		c[colReceivedIgnored].Bool(!r.IsHandled)
		c[colReceivedSeq].UUID(r.seq)
	}
	inserted = make(map[eventKey]bool, len(batch))
	err = bulk.Query(ctx, tx.Conn(), insertReceivedSQL, c, func(row [][]byte) {
		inserted[eventKey{uuid.UUID(row[0]), int64(binary.BigEndian.Uint64(row[1]))}] = true
	})
	if err != nil {
		return nil, fmt.Errorf("storing received events: %w", err)
	}
	return inserted, nil
}

// receivedEvent is the stored row of an event that was received before.
type receivedEvent struct {
	hash   [sha256.Size]byte
	failed bool
}

// classify sets each event's outcome: new events are accepted or ignored, others are
// duplicates or conflicts. Earlier events may be in the same batch.
func (w *writer) classify(ctx context.Context, tx pgx.Tx, batch []*pendingEvent, inserted map[eventKey]bool) error {
	received, err := w.loadReceived(ctx, tx, batch, inserted)
	if err != nil {
		return err
	}
	claimed, err := w.claimFailed(ctx, tx, batch, received)
	if err != nil {
		return err
	}
	for _, r := range batch {
		r.err, r.isRedelivery = nil, false
		earlier, isRepeated := received[r.key()]
		if c, failed := claimed[r.key()]; failed && c.hash == r.Hash {
			r.seq, r.isRedelivery, isRepeated = c.seq, c.isLogged, false
			delete(claimed, r.key())
		}
		switch {
		case !isRepeated:
			received[r.key()] = receivedEvent{hash: r.Hash}
			r.outcome = Accepted
			if !r.IsHandled {
				r.outcome = Ignored
			}
		case earlier.hash == r.Hash:
			r.outcome = Duplicate
		default:
			r.outcome = ""
			r.err = hub.Errorf(hub.ErrConflict, "event_id_reused", "Another event came under this id before.")
		}
	}
	return nil
}

// loadReceived loads the rows of events that were not inserted.
func (w *writer) loadReceived(ctx context.Context, tx pgx.Tx, batch []*pendingEvent, inserted map[eventKey]bool) (map[eventKey]receivedEvent, error) {
	received := make(map[eventKey]receivedEvent, len(batch))
	var integrations []uuid.UUID
	var ids []int64
	for _, r := range batch {
		if !inserted[r.key()] {
			integrations, ids = append(integrations, r.IntegrationID), append(ids, r.id)
		}
	}
	if len(ids) == 0 {
		return received, nil
	}
	rows, err := tx.Query(ctx, selectReceivedSQL, integrations, ids)
	if err == nil {
		var key eventKey
		var hash []byte
		var failed bool
		_, err = pgx.ForEachRow(rows, []any{&key.integration, &key.id, &hash, &failed}, func() error {
			received[key] = receivedEvent{[sha256.Size]byte(hash), failed}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("looking up received events: %w", err)
	}
	return received, nil
}

// claimedEvent is an event that failed before.
type claimedEvent struct {
	hash     [sha256.Size]byte // of the body that claimed it
	seq      uuid.UUID         // in the log
	isLogged bool              // the log has this body still
}

// claimFailed claims the events of a batch that failed before. They had no effect: their senders
// repeat or correct them.
func (w *writer) claimFailed(ctx context.Context, tx pgx.Tx, batch []*pendingEvent, received map[eventKey]receivedEvent) (map[eventKey]claimedEvent, error) {
	var integrations, seqs []uuid.UUID
	var ids []int64
	var ignored []bool
	var hashes [][]byte
	claimed := make(map[eventKey]claimedEvent)
	for _, r := range batch {
		if _, isClaimed := claimed[r.key()]; received[r.key()].failed && !isClaimed {
			claimed[r.key()] = claimedEvent{hash: r.Hash}
			integrations, ids, ignored, seqs, hashes = append(integrations, r.IntegrationID), append(ids, r.id), append(ignored, !r.IsHandled), append(seqs, r.seq), append(hashes, r.Hash[:])
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, claimFailedSQL, integrations, ids, ignored, seqs, hashes)
	if err == nil {
		var key eventKey
		var seq uuid.UUID
		var isLogged bool
		found := make(map[eventKey]claimedEvent, len(ids)) // another process may have claimed some
		_, err = pgx.ForEachRow(rows, []any{&key.integration, &key.id, &seq, &isLogged}, func() error {
			found[key] = claimedEvent{claimed[key].hash, seq, isLogged}
			return nil
		})
		claimed = found
	}
	if err != nil {
		return nil, fmt.Errorf("claiming failed events: %w", err)
	}
	return claimed, nil
}

// screenEvent asks the product what of a new event may be stored. An event about an erased
// person has no effect.
func (w *writer) screenEvent(ctx context.Context, tx pgx.Tx, r *pendingEvent) (err error) {
	r.screening = module.Storable
	if w.screen == nil || r.outcome != Accepted && r.outcome != Ignored {
		return nil
	}
	r.screening, err = w.screen(ctx, tx, r.Event)
	if err == nil && r.screening == module.IsAboutErased {
		r.outcome = Ignored
	}
	return err
}

// applyEffect runs the product's handler for an event. A panic becomes an error.
func (w *writer) applyEffect(ctx context.Context, tx pgx.Tx, r *pendingEvent) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			w.log.Error("handling an event panicked", "panic", fmt.Sprint(panicked), "event_id", r.Event.ID,
				"event_type", r.Event.Type, "stack", string(debug.Stack()))
			err = fmt.Errorf("handling event %s: panic: %v", r.Event.ID, panicked)
		}
	}()
	err = w.handle(ctx, tx, r.Event)
	if errors.Is(err, module.ErrIgnored) {
		r.outcome, err = Ignored, nil
	}
	return err
}

// finish stores which events the product ignored, and the entries of the log and the
// audit log.
func (w *writer) finish(ctx context.Context, tx pgx.Tx, batch []*pendingEvent) error {
	var integrations []uuid.UUID
	var ids []int64
	for _, r := range batch {
		if r.outcome == Ignored && r.IsHandled {
			integrations, ids = append(integrations, r.IntegrationID), append(ids, r.id)
		}
	}
	if len(ids) > 0 {
		if _, err := tx.Exec(ctx, markIgnoredSQL, integrations, ids); err != nil {
			return fmt.Errorf("marking ignored events: %w", err)
		}
	}
	entries := make([]audit.Entry, 0, len(batch))
	for _, r := range batch {
		if r.err == nil { // a refused event is recorded by the caller
			entries = append(entries, r.Audit)
		}
	}
	statements := &bulk.Batch{}
	audit.Queue(statements, &w.columns.audit, entries)
	w.queueLog(statements, logEntriesOf(batch))
	if err := eraseRedelivered(ctx, tx, batch); err != nil {
		return err
	}
	if err := statements.RunOn(ctx, tx.Conn()); err != nil {
		return fmt.Errorf("logging received events: %w", err)
	}
	return nil
}
