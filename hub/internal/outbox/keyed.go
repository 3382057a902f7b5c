package outbox

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store/bulk"
)

// idempotencyKey names a publication for as long as keys are kept.
type idempotencyKey struct {
	tenant      uuid.UUID
	environment hub.Environment
	key         string
}

// first is what was stored under a key.
type first struct {
	hash   []byte
	result Result
}

var errKeyReused = hub.Errorf(hub.ErrConflict, "idempotency_conflict",
	"This id or Idempotency-Key was used before with another body; use a new one for a new event.")

var errKeyVanished = errors.New("an idempotency key came to its end between two statements")

// commitKeyed stores requests that carry idempotency keys. Requests of one
// publication share a commit; a request of several is all or nothing and has its own.
func (l *lane) commitKeyed(ctx context.Context, batch []*request) {
	var singles []*request
	for _, r := range batch {
		if len(r.publications) == 1 {
			singles = append(singles, r)
			continue
		}
		l.storeKeyed(ctx, []*request{r})
	}
	l.storeKeyed(ctx, singles)
}

// storeKeyed stores requests none of which shares a key with another, then those
// that repeat one: they find the first one's answer.
func (l *lane) storeKeyed(ctx context.Context, batch []*request) {
	for len(batch) > 0 {
		now, later := distinct(batch)
		l.tryKeyed(ctx, now)
		batch = later
	}
}

// distinct splits a batch so that no key stands twice in the first part.
func distinct(batch []*request) (now, later []*request) {
	seen := make(map[idempotencyKey]bool)
	for _, r := range batch {
		repeats := false
		for _, p := range r.publications {
			repeats = repeats || seen[keyOf(p)]
		}
		if repeats && len(now) > 0 {
			later = append(later, r)
			continue
		}
		for _, p := range r.publications {
			if p.IdempotencyKey != "" {
				seen[keyOf(p)] = true
			}
		}
		now = append(now, r)
	}
	return now, later
}

func keyOf(p *Publication) idempotencyKey {
	return idempotencyKey{p.TenantID, p.Environment, p.IdempotencyKey}
}

func (l *lane) tryKeyed(ctx context.Context, batch []*request) {
	err := errors.New("configuration kept changing")
	for range maxConfigTries {
		version := l.directory.Version()
		var all []*prepared
		all, batch = l.prepareAll(ctx, batch)
		if len(batch) == 0 {
			return
		}
		var lease *delivery.CommitLease
		var fresh []*prepared
		var known map[idempotencyKey]first
		err = pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
			var err error
			if fresh, known, err = claim(ctx, tx, version, all); err != nil || len(fresh) == 0 {
				return err
			}
			if len(batch) == 1 && reuses(batch[0].publications, known) {
				return errKeyReused // all or nothing: what it claimed is given back
			}
			lease = l.reserve(fresh)
			inserts := &bulk.Batch{}
			l.rows.queue(inserts, fresh, lease)
			failpoint.Here("before_commit")
			return inserts.RunOn(ctx, tx.Conn())
		})
		if err == nil {
			failpoint.Here("after_commit")
			l.committed(fresh, lease)
			finishKeyed(batch, all, known)
			return
		}
		l.release(fresh)
		if errors.Is(err, errKeyReused) {
			batch[0].answer(errKeyReused)
			return
		}
		if !l.shouldRetry(ctx, err) {
			break
		}
	}
	l.failed(ctx, batch, err, l.tryKeyed)
}

// claim takes the keys of prepared events. fresh are the events to store; known
// holds what was stored before under the keys of the others.
func claim(ctx context.Context, tx pgx.Tx, version int64, all []*prepared) (fresh []*prepared, known map[idempotencyKey]first, err error) {
	taken, err := insertKeys(ctx, tx, version, all)
	if err != nil {
		return nil, nil, err
	}
	var repeated []*prepared
	for _, p := range all {
		if p.IdempotencyKey == "" || taken[keyOf(p.Publication)] {
			fresh = append(fresh, p)
			continue
		}
		repeated = append(repeated, p)
	}
	if len(repeated) == 0 {
		return fresh, nil, nil
	}
	if known, err = readKeys(ctx, tx, repeated); err != nil {
		return nil, nil, err
	}
	for _, p := range repeated {
		if _, ok := known[keyOf(p.Publication)]; !ok { // it was tidied away just now: neither stored nor known
			return nil, nil, errKeyVanished
		}
	}
	return fresh, known, nil
}

// reuses reports whether any publication reuses a known key for another body.
func reuses(publications []*Publication, known map[idempotencyKey]first) bool {
	for _, p := range publications {
		if before, ok := known[keyOf(p)]; ok && !sameBody(before, p) {
			return true
		}
	}
	return false
}

func sameBody(before first, p *Publication) bool {
	return subtle.ConstantTimeCompare(before.hash, p.BodyHash[:]) == 1
}

// insertKeys claims the keys nobody used before, in key order so that concurrent
// commits cannot deadlock.
func insertKeys(ctx context.Context, tx pgx.Tx, version int64, all []*prepared) (map[idempotencyKey]bool, error) {
	var tenants, seqs []uuid.UUID
	var environments, keys []string
	var hashes [][]byte
	var events []int64
	var counts []int32
	for _, p := range all {
		if p.IdempotencyKey == "" {
			continue
		}
		tenants, seqs, events = append(tenants, p.TenantID), append(seqs, p.event.Seq), append(events, p.event.IDBits)
		environments, keys = append(environments, string(p.Environment)), append(keys, p.IdempotencyKey)
		hashes, counts = append(hashes, p.BodyHash[:]), append(counts, int32(len(p.targets)))
	}
	taken := make(map[idempotencyKey]bool, len(keys))
	batch := &pgx.Batch{}
	batch.Queue(sameConfig, version)
	batch.Queue(`
		insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries)
		select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::bigint[], $7::integer[])
			u(tenant_id, environment, key, body_hash, seq, event_id, deliveries)
		order by tenant_id, environment, key
		on conflict do nothing
		returning tenant_id, environment, key`,
		tenants, environments, keys, hashes, seqs, events, counts).
		Query(func(rows pgx.Rows) error {
			var k idempotencyKey
			_, err := pgx.ForEachRow(rows, []any{&k.tenant, &k.environment, &k.key}, func() error {
				taken[k] = true
				return nil
			})
			return err
		})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("claiming %d idempotency keys: %w", len(keys), err)
	}
	return taken, nil
}

func readKeys(ctx context.Context, tx pgx.Tx, repeated []*prepared) (map[idempotencyKey]first, error) {
	var tenants []uuid.UUID
	var environments, keys []string
	for _, p := range repeated {
		tenants, environments, keys = append(tenants, p.TenantID), append(environments, string(p.Environment)), append(keys, p.IdempotencyKey)
	}
	rows, err := tx.Query(ctx, `
		select i.tenant_id, i.environment, i.key, i.body_hash, i.event_id, i.deliveries
		from hub.idempotency i
		join unnest($1::uuid[], $2::text[], $3::text[]) u(tenant_id, environment, key) using (tenant_id, environment, key)`,
		tenants, environments, keys)
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	known := make(map[idempotencyKey]first, len(keys))
	var k idempotencyKey
	var hash []byte
	var event int64
	var deliveries int
	_, err = pgx.ForEachRow(rows, []any{&k.tenant, &k.environment, &k.key, &hash, &event, &deliveries}, func() error {
		known[k] = first{append([]byte(nil), hash...), Result{ID: hub.FormatEventID(uint64(event)), Deliveries: deliveries, Duplicate: true}}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	return known, nil
}

// finishKeyed answers requests after their commit: with their own result, the
// first one's, or the refusal of a reused key.
func finishKeyed(batch []*request, all []*prepared, known map[idempotencyKey]first) {
	for _, r := range batch {
		r.results = make([]Result, len(r.publications))
		var refused error
		for i, p := range r.publications {
			before, repeated := known[keyOf(p)]
			switch {
			case !repeated:
				r.results[i] = Result{ID: all[i].event.ID, Deliveries: len(all[i].targets)}
			case sameBody(before, p):
				r.results[i] = before.result
			default:
				refused = errKeyReused
			}
		}
		all = all[len(r.publications):]
		r.answer(refused)
	}
}
