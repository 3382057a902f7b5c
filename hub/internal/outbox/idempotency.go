package outbox

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/module/dberr"
)

// idempotencyKey identifies a publication until the key's retention ends.
type idempotencyKey struct {
	tenant      uuid.UUID
	environment hub.Environment
	key         string
}

// storedPublication is the publication stored under a key.
type storedPublication struct {
	hash   []byte
	result Result
}

var errKeyReused = hub.Errorf(hub.ErrConflict, "idempotency_conflict",
	"This id or Idempotency-Key was used before with another body; use a new one for a new event.")

// errKeysLocked means that another transaction under way claims one of the keys.
var errKeysLocked = errors.New("an idempotency key is being claimed by another transaction")

var errKeyVanished = errors.New("an idempotency key expired between two statements")

// commitIdempotent stores requests that carry idempotency keys. Requests of one
// publication share a commit; a request of several is all or nothing and has its own.
func (c *committer) commitIdempotent(ctx context.Context, batch []*request, policy lockPolicy) {
	var singles []*request
	for _, r := range batch {
		if len(r.publications) == 1 {
			singles = append(singles, r)
			continue
		}
		c.storeIdempotent(ctx, []*request{r}, policy)
	}
	c.storeIdempotent(ctx, singles, policy)
}

// storeIdempotent stores requests with distinct keys, then those that repeat a key: they
// get the first one's result.
func (c *committer) storeIdempotent(ctx context.Context, batch []*request, policy lockPolicy) {
	for len(batch) > 0 {
		now, later := splitRepeats(batch)
		c.storeDistinct(ctx, now, policy)
		batch = later
	}
}

// splitRepeats splits a batch so that no key occurs twice in the first part.
func splitRepeats(batch []*request) (unique, repeating []*request) {
	seen := make(map[idempotencyKey]bool)
	for _, r := range batch {
		repeats := false
		for _, p := range r.publications {
			repeats = repeats || seen[keyOf(p)]
		}
		if repeats && len(unique) > 0 {
			repeating = append(repeating, r)
			continue
		}
		for _, p := range r.publications {
			if p.IdempotencyKey != "" {
				seen[keyOf(p)] = true
			}
		}
		unique = append(unique, r)
	}
	return unique, repeating
}

func keyOf(publication *Publication) idempotencyKey {
	return idempotencyKey{publication.TenantID, publication.Environment, publication.IdempotencyKey}
}

// storeDistinct prepares requests whose idempotency keys differ, and stores them in commits of at
// most maxDeliveries deliveries.
func (c *committer) storeDistinct(ctx context.Context, batch []*request, policy lockPolicy) {
	snapshot := c.outbox.directory.Snapshot()
	for _, requests := range splitCommits(c.setAsideLocked(ctx, c.prepareAll(ctx, batch), policy)) {
		c.storeClaimingKeys(ctx, snapshot, requests, ledger.BoundLockWaitsSQL)
	}
}

// storeClaimingKeys is storePlain for requests with distinct idempotency keys. boundLockWaitsSQL
// is the statement that bounds how long it waits for keys that are locked.
func (c *committer) storeClaimingKeys(ctx context.Context, snapshot string, requests []*preparedRequest, boundLockWaitsSQL string) {
	var err error
	for tries := 0; tries < maxTries && len(requests) > 0; tries++ {
		var lease *delivery.CommitLease
		var unstored []*preparedEvent
		var stored map[idempotencyKey]storedPublication
		began := c.outbox.now()
		err = pgx.BeginFunc(ctx, c.outbox.pool, func(tx pgx.Tx) error {
			var err error
			if unstored, stored, err = c.claimIdempotencyKeys(ctx, tx, snapshot, eventsOf(requests), boundLockWaitsSQL); err != nil || len(unstored) == 0 {
				return err
			}
			if len(requests) == 1 && hasReusedKey(requests[0].publications, stored) {
				return errKeyReused // all or nothing: the rollback releases its keys
			}
			lease = c.outbox.reserve(unstored)
			failpoint.Here("before_commit")
			lease, err = c.insertInOrder(ctx, tx, began, &bulk.Batch{}, unstored, lease)
			return err
		})
		if err == nil {
			failpoint.Here("after_commit")
			c.dispatchCommitted(unstored, lease)
			completeIdempotent(requests, stored)
			return
		}
		c.outbox.release(unstored)
		if errors.Is(err, errKeyReused) {
			requests[0].complete(errKeyReused)
			return
		}
		if errors.Is(err, errKeysLocked) {
			c.storeOneByOne(ctx, snapshot, requests)
			return
		}
		again, newSnapshot, ok := c.recoverFrom(ctx, err, snapshot, requests)
		if !ok {
			break
		}
		if len(again) < len(requests) {
			tries = 0
		}
		requests, snapshot = again, newSnapshot
	}
	c.completeFailed(requests, err, func(r *preparedRequest) {
		c.storeClaimingKeys(ctx, snapshot, []*preparedRequest{r}, boundLockWaitsSQL)
	})
}

// completeRepeated completes a request that is refused now but was accepted before: a publisher
// that asks again gets the first result. It reports whether it did. If not, the error is the
// refusal, or why the earlier publications could not be read.
func (o *Outbox) completeRepeated(ctx context.Context, r *request, refusal error) (isDone bool, err error) {
	stored, err := readKeys(ctx, o.pool, r.publications)
	if err != nil {
		return false, errUnavailable(err)
	}
	if len(stored) < len(r.publications) {
		return false, refusal
	}
	for _, p := range r.publications {
		p.Violations = nil // the first result comes without a warning
	}
	completeIdempotent([]*preparedRequest{{request: r}}, stored)
	return true, nil
}

// claimIdempotencyKeys claims the keys of prepared events. unstored are the events to store;
// stored holds the earlier publications under the other keys. It is [errKeysLocked] if another
// transaction claims one of them for long.
func (c *committer) claimIdempotencyKeys(ctx context.Context, tx pgx.Tx, snapshot string, events []*preparedEvent, boundLockWaitsSQL string) (unstored []*preparedEvent, stored map[idempotencyKey]storedPublication, err error) {
	claimed, err := c.insertKeys(ctx, tx, snapshot, events, boundLockWaitsSQL)
	if err != nil {
		return nil, nil, err
	}
	var repeated []*Publication
	for _, event := range events {
		if event.IdempotencyKey == "" || claimed[keyOf(event.Publication)] {
			unstored = append(unstored, event)
			continue
		}
		repeated = append(repeated, event.Publication)
	}
	if len(repeated) == 0 {
		return unstored, nil, nil
	}
	if stored, err = readKeys(ctx, tx, repeated); err != nil {
		return nil, nil, err
	}
	for _, publication := range repeated {
		if _, ok := stored[keyOf(publication)]; !ok { // its retention ended just now
			return nil, nil, errKeyVanished
		}
	}
	return unstored, stored, nil
}

// hasReusedKey reports whether a publication has the key of an earlier one with another body.
func hasReusedKey(publications []*Publication, stored map[idempotencyKey]storedPublication) bool {
	for _, p := range publications {
		if original, ok := stored[keyOf(p)]; ok && !isSameBody(original, p) {
			return true
		}
	}
	return false
}

func isSameBody(original storedPublication, p *Publication) bool {
	return subtle.ConstantTimeCompare(original.hash, p.BodyHash[:]) == 1
}

// insertKeys claims unused keys and returns them. It inserts in key order, so that concurrent
// commits cannot deadlock.
func (c *committer) insertKeys(ctx context.Context, tx pgx.Tx, snapshot string, events []*preparedEvent, boundLockWaitsSQL string) (map[idempotencyKey]bool, error) {
	var tenants, allTenants, seqs []uuid.UUID
	var environments, keys, products []string
	var hashes [][]byte
	var eventIDs []int64
	var counts []int32
	for _, event := range events {
		products = append(products, event.Product)
		allTenants = append(allTenants, event.TenantID)
		if event.IdempotencyKey == "" {
			continue
		}
		tenants, seqs, eventIDs = append(tenants, event.TenantID), append(seqs, event.event.Seq), append(eventIDs, event.event.IDBits)
		environments, keys = append(environments, string(event.Environment)), append(keys, event.IdempotencyKey)
		hashes, counts = append(hashes, event.BodyHash[:]), append(counts, int32(len(event.targets)))
	}
	claimed := make(map[idempotencyKey]bool, len(keys))
	batch := &pgx.Batch{}
	batch.Queue(directory.AssertUnchangedSQL, []string{snapshot}, distinct(allTenants), distinct(products))
	batch.Queue(boundLockWaitsSQL)
	batch.Queue(`
		insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries)
		select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::bigint[], $7::integer[])
			u(tenant_id, environment, key, body_hash, seq, event_id, deliveries)
		order by tenant_id, environment, key
		on conflict do nothing
		returning tenant_id, environment, key`,
		tenants, environments, keys, hashes, seqs, eventIDs, counts).
		Query(func(rows pgx.Rows) error {
			var key idempotencyKey
			_, err := pgx.ForEachRow(rows, []any{&key.tenant, &key.environment, &key.key}, func() error {
				claimed[key] = true
				return nil
			})
			return err
		})
	batch.Queue(ledger.WaitForLocksSQL)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		if dberr.IsLockTimeout(err) {
			return nil, errKeysLocked
		}
		return nil, fmt.Errorf("claiming %d idempotency keys: %w", len(keys), err)
	}
	return claimed, nil
}

// distinct drops repetitions from a list.
func distinct[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	return slices.DeleteFunc(list, func(element T) bool {
		repeated := seen[element]
		seen[element] = true
		return repeated
	})
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func readKeys(ctx context.Context, db querier, repeated []*Publication) (map[idempotencyKey]storedPublication, error) {
	var tenants []uuid.UUID
	var environments, keys []string
	for _, p := range repeated {
		tenants, environments, keys = append(tenants, p.TenantID), append(environments, string(p.Environment)), append(keys, p.IdempotencyKey)
	}
	rows, err := db.Query(ctx, `
		select i.tenant_id, i.environment, i.key, i.body_hash, i.event_id, i.deliveries
		from hub.idempotency i
		join unnest($1::uuid[], $2::text[], $3::text[]) u(tenant_id, environment, key) using (tenant_id, environment, key)`,
		tenants, environments, keys)
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	stored := make(map[idempotencyKey]storedPublication, len(keys))
	var key idempotencyKey
	var hash []byte
	var eventID int64
	var deliveries int
	_, err = pgx.ForEachRow(rows, []any{&key.tenant, &key.environment, &key.key, &hash, &eventID, &deliveries}, func() error {
		stored[key] = storedPublication{append([]byte(nil), hash...), Result{ID: hub.FormatEventID(uint64(eventID)), Deliveries: deliveries, Duplicate: true}}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	return stored, nil
}

// completeIdempotent completes requests after their commit: with their own result, the
// first one's, or the refusal of a reused key.
func completeIdempotent(requests []*preparedRequest, stored map[idempotencyKey]storedPublication) {
	for _, r := range requests {
		r.results = make([]Result, len(r.publications))
		var refused error
		for i, p := range r.publications {
			original, repeated := stored[keyOf(p)]
			switch {
			case !repeated:
				r.results[i] = Result{ID: r.events[i].event.ID, Deliveries: len(r.events[i].targets)}
			case isSameBody(original, p):
				r.results[i] = original.result
			default:
				refused = errKeyReused
			}
		}
		r.complete(refused)
	}
}
