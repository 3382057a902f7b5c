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

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/module"
)

// lane stores one batch after another.
type lane struct {
	*Inbox
	columns columns
	byKey   []*request // of the batch, as they are stored
}

// storeAll stores a batch in one transaction. Where that fails, each event gets a
// transaction of its own, so that one cannot spoil the others.
func (l *lane) storeAll(batch []*request) {
	err := l.transact(batch)
	if err == nil {
		return
	}
	for i := range batch {
		if len(batch) > 1 {
			err = l.transact(batch[i : i+1])
		}
		if err != nil {
			batch[i].outcome, batch[i].err = "", l.told(err)
			l.keepFailure(batch[i])
		}
	}
}

// told is the error the peer is answered with.
func (l *lane) told(err error) error {
	told := store.Failed("storing a received event", err)
	if errors.Is(told, hub.ErrUnavailable) {
		l.log.Warn("storing received events failed", "error", err)
		return errBusy(err)
	}
	return told
}

// transact stores requests and runs their effects, all or nothing.
func (l *lane) transact(batch []*request) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	return store.InTx(ctx, l.pool, func(tx pgx.Tx) error {
		fresh, err := l.insert(ctx, tx, batch)
		if err != nil {
			return err
		}
		if err := l.classify(ctx, tx, batch, fresh); err != nil {
			return err
		}
		for _, r := range batch {
			if r.outcome != Accepted {
				continue
			}
			if err := l.effect(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := l.finish(ctx, tx, batch); err != nil {
			return err
		}
		failpoint.Here("received_before_commit")
		return nil
	})
}

// eventKey is what duplicates share.
type eventKey struct {
	integration uuid.UUID
	id          int64
}

func (r *request) key() eventKey { return eventKey{r.IntegrationID, r.id} }

const insertReceived = `
	insert into hub.received (integration_id, event_id, tenant_id, body_sha256, event_type, ignored, seq)
	select * from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::bytea[], $5::text[], $6::bool[], $7::uuid[])
	on conflict do nothing returning integration_id, event_id`

const selectReceived = `
	select r.integration_id, r.event_id, r.body_sha256, r.failed from unnest($1::uuid[], $2::int8[]) as w(integration_id, event_id)
	join hub.received r using (integration_id, event_id)`

// takeAgain takes up events whose effect failed before. Another lane with the same event
// waits here, and finds that it has been taken.
const takeAgain = `
	update hub.received r set failed = false, ignored = w.ignored from unnest($1::uuid[], $2::int8[], $3::bool[]) as w(integration_id, event_id, ignored)
	where r.integration_id = w.integration_id and r.event_id = w.event_id and r.failed returning r.integration_id, r.event_id, r.seq`

const markIgnored = `
	update hub.received r set ignored = true from unnest($1::uuid[], $2::int8[]) as w(integration_id, event_id)
	where r.integration_id = w.integration_id and r.event_id = w.event_id`

// insert stores what is new. Rows go in by their key, so that lanes with the same events
// wait for each other in one order; the batch stays in the order in which it arrived, which
// is that of the effects.
func (l *lane) insert(ctx context.Context, tx pgx.Tx, batch []*request) (fresh map[eventKey]bool, err error) {
	l.byKey = append(l.byKey[:0], batch...)
	defer clear(l.byKey)
	slices.SortStableFunc(l.byKey, func(a, b *request) int {
		return cmp.Or(bytes.Compare(a.IntegrationID[:], b.IntegrationID[:]), cmp.Compare(a.id, b.id))
	})
	l.columns.received.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.Byteas, bulk.Texts, bulk.Bools, bulk.UUIDs)
	c := l.columns.received
	for _, r := range l.byKey {
		c[0].UUID(r.IntegrationID)
		c[1].Int8(r.id)
		c[2].UUID(r.Event.TenantID)
		c[3].Bytes(r.Hash[:])
		c[4].Text(r.Event.Type)
		c[5].Bool(!r.Known)
		c[6].UUID(r.seq)
	}
	fresh = make(map[eventKey]bool, len(batch))
	err = bulk.Query(ctx, tx.Conn(), insertReceived, c, func(row [][]byte) {
		fresh[eventKey{uuid.UUID(row[0]), int64(binary.BigEndian.Uint64(row[1]))}] = true
	})
	if err != nil {
		return nil, fmt.Errorf("storing received events: %w", err)
	}
	return fresh, nil
}

// seen is what is known of an event that came before.
type seen struct {
	hash   [sha256.Size]byte
	failed bool
}

// classify tells new events from those that came before, in this batch or earlier.
func (l *lane) classify(ctx context.Context, tx pgx.Tx, batch []*request, fresh map[eventKey]bool) error {
	first, err := l.before(ctx, tx, batch, fresh)
	if err != nil {
		return err
	}
	taken, err := l.takeAgain(ctx, tx, batch, first)
	if err != nil {
		return err
	}
	for _, r := range batch {
		r.err, r.again = nil, false
		known, came := first[r.key()]
		if seq, failed := taken[r.key()]; failed && known.hash == r.Hash {
			r.seq, r.again, came = seq, true, false
			delete(taken, r.key())
		}
		switch {
		case !came:
			first[r.key()] = seen{hash: r.Hash}
			r.outcome = Accepted
			if !r.Known {
				r.outcome = Ignored
			}
		case known.hash == r.Hash:
			r.outcome = Duplicate
		default:
			r.outcome = ""
			r.err = hub.Errorf(hub.ErrConflict, "event_id_reused", "Another event came under this id before.")
		}
	}
	return nil
}

// before looks up the events that are not fresh.
func (l *lane) before(ctx context.Context, tx pgx.Tx, batch []*request, fresh map[eventKey]bool) (map[eventKey]seen, error) {
	first := make(map[eventKey]seen, len(batch))
	var integrations []uuid.UUID
	var ids []int64
	for _, r := range batch {
		if !fresh[r.key()] {
			integrations, ids = append(integrations, r.IntegrationID), append(ids, r.id)
		}
	}
	if len(ids) == 0 {
		return first, nil
	}
	rows, err := tx.Query(ctx, selectReceived, integrations, ids)
	if err == nil {
		var key eventKey
		var hash []byte
		var failed bool
		_, err = pgx.ForEachRow(rows, []any{&key.integration, &key.id, &hash, &failed}, func() error {
			first[key] = seen{[sha256.Size]byte(hash), failed}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("looking up received events: %w", err)
	}
	return first, nil
}

// takeAgain gives the events that failed before, came again as they were, and are this
// transaction's to take in, with where they stand in the log.
func (l *lane) takeAgain(ctx context.Context, tx pgx.Tx, batch []*request, first map[eventKey]seen) (map[eventKey]uuid.UUID, error) {
	var integrations []uuid.UUID
	var ids []int64
	var ignored []bool
	for _, r := range batch {
		if known := first[r.key()]; known.failed && known.hash == r.Hash {
			integrations, ids, ignored = append(integrations, r.IntegrationID), append(ids, r.id), append(ignored, !r.Known)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	taken := make(map[eventKey]uuid.UUID, len(ids))
	rows, err := tx.Query(ctx, takeAgain, integrations, ids, ignored)
	if err == nil {
		var key eventKey
		var seq uuid.UUID
		_, err = pgx.ForEachRow(rows, []any{&key.integration, &key.id, &seq}, func() error { taken[key] = seq; return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("taking up failed events: %w", err)
	}
	return taken, nil
}

// effect lets the product take in an event.
func (l *lane) effect(ctx context.Context, tx pgx.Tx, r *request) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			l.log.Error("handling an event panicked", "panic", fmt.Sprint(panicked), "event_id", r.Event.ID,
				"event_type", r.Event.Type, "stack", string(debug.Stack()))
			err = fmt.Errorf("handling event %s: panic: %v", r.Event.ID, panicked)
		}
	}()
	err = l.handle(ctx, tx, r.Event)
	if errors.Is(err, module.ErrIgnored) {
		r.outcome, err = Ignored, nil
	}
	return err
}

// finish stores which events the product ignored, the log, and the audit log's entries.
func (l *lane) finish(ctx context.Context, tx pgx.Tx, batch []*request) error {
	var integrations []uuid.UUID
	var ids []int64
	for _, r := range batch {
		if r.outcome == Ignored && r.Known {
			integrations, ids = append(integrations, r.IntegrationID), append(ids, r.id)
		}
	}
	if len(ids) > 0 {
		if _, err := tx.Exec(ctx, markIgnored, integrations, ids); err != nil {
			return fmt.Errorf("marking ignored events: %w", err)
		}
	}
	entries := make([]audit.Entry, 0, len(batch))
	for _, r := range batch {
		if r.err == nil { // what is refused is recorded with its answer
			entries = append(entries, r.Audit)
		}
	}
	statements := &bulk.Batch{}
	audit.Queue(statements, &l.columns.audit, entries)
	l.queueLog(statements, settled(batch))
	if err := statements.RunOn(ctx, tx.Conn()); err != nil {
		return fmt.Errorf("logging received events: %w", err)
	}
	return nil
}
