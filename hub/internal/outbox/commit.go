package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

// maxTries is how often a commit is tried while its requests stay the same.
const maxTries = 8

// commitPlain stores and answers a batch of requests without idempotency keys.
func (l *committer) commitPlain(ctx context.Context, batch []*request) {
	snapshot := l.directory.Snapshot()
	for _, requests := range splitCommits(l.queueLocked(ctx, l.prepareAll(ctx, batch))) {
		l.storePlain(ctx, snapshot, requests)
	}
}

// storePlain stores and answers prepared requests in one commit. Nothing is accepted on
// revoked keys or fanned out to a stale set of endpoints: the commit fails if a tenant
// changed since the snapshot.
func (l *committer) storePlain(ctx context.Context, snapshot string, requests []*preparedRequest) {
	var err error
	for tries := 0; tries < maxTries && len(requests) > 0; tries++ {
		events := eventsOf(requests)
		lease := l.reserve(events)
		failpoint.Here("before_commit")
		if lease, err = l.insert(ctx, snapshot, events, lease); err == nil {
			failpoint.Here("after_commit")
			l.dispatchCommitted(events, lease)
			answerStored(requests)
			return
		}
		l.release(events)
		again, newSnapshot, ok := l.recoverFrom(ctx, err, snapshot, requests)
		if !ok {
			break
		}
		if len(again) < len(requests) {
			tries = 0
		}
		requests, snapshot = again, newSnapshot
	}
	l.answerFailed(requests, err, func(r *preparedRequest) { l.storePlain(ctx, snapshot, []*preparedRequest{r}) })
}

// prepareAll answers the requests that cannot be stored, hands those with many deliveries
// to their own committer, and returns the rest.
func (l *committer) prepareAll(ctx context.Context, batch []*request) []*preparedRequest {
	publishers := make([]directory.Publisher, 0, len(batch))
	for _, r := range batch {
		for _, p := range r.publications {
			if p.Targets == nil {
				publishers = append(publishers, directory.Publisher{Key: p.Key, TenantID: p.TenantID, Environment: p.Environment})
				break // all are of one tenant
			}
		}
	}
	if err := l.directory.Preload(ctx, publishers); err != nil {
		for _, r := range batch {
			r.answer(err)
		}
		return nil
	}
	requests := make([]*preparedRequest, 0, len(batch))
	isRefreshed := false
	for _, r := range batch {
		targets, deliveries, err := l.resolve(ctx, r.publications)
		if errors.Is(err, errDisagrees) && !isRefreshed {
			// No commit will compare the configuration of what is refused.
			isRefreshed = true
			if err = l.directory.Refresh(ctx); err != nil {
				r.answer(errUnavailable(err))
				continue
			}
			targets, deliveries, err = l.resolve(ctx, r.publications)
		}
		if (errors.Is(err, errTooManyDeliveries) || errors.Is(err, errDisagrees)) && r.isIdempotent() {
			err = l.answerRepeated(ctx, r, err)
		}
		switch {
		case err != nil:
			r.answer(err)
			continue
		case targets == nil: // it was answered
			continue
		case deliveries > maxDeliveries && !l.isLarge:
			r.estimate = deliveries
			if !l.large.push(r) {
				r.answer(errUnavailable(errors.New("the commit queue is full")))
			}
			continue
		}
		events, err := l.prepareEvents(ctx, r.publications, targets)
		if err != nil {
			r.answer(err)
			continue
		}
		requests = append(requests, &preparedRequest{r, events, deliveries})
	}
	return requests
}

// answerStored answers requests whose publications were all stored, in order.
func answerStored(requests []*preparedRequest) {
	for _, r := range requests {
		r.results = make([]Result, len(r.events))
		for i, event := range r.events {
			r.results[i] = Result{ID: event.event.ID, Deliveries: len(event.targets)}
		}
		r.answer(nil)
	}
}

// answerFailed answers requests that could not be stored. If PostgreSQL refused the data of
// one of several, each is stored by itself.
func (l *committer) answerFailed(requests []*preparedRequest, err error, storeAlone func(*preparedRequest)) {
	if len(requests) == 0 {
		return
	}
	var pg *pgconn.PgError
	refusedData := errors.As(err, &pg) && (pg.Code[:2] == "22" || pg.Code[:2] == "23")
	if refusedData && len(requests) > 1 {
		for _, r := range requests {
			storeAlone(r)
		}
		return
	}
	l.log.Warn("storing events failed", "error", err, "requests", len(requests))
	for _, r := range requests {
		r.answer(errUnavailable(err))
	}
}

// insert stores prepared events in one transaction. Up to
// maxDeliveries deliveries are sent in one round trip with the commit; more are sent in parts,
// to bound memory. The lease returned also
// covers the heads of orders.
func (l *committer) insert(ctx context.Context, snapshot string, events []*prepared, lease *delivery.CommitLease) (*delivery.CommitLease, error) {
	batch := &bulk.Batch{}
	l.rows.addAssertion(batch, snapshot, events)
	if countDeliveries(events) > maxDeliveries || hasOrdered(events) {
		err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) (err error) {
			lease, err = l.insertInOrder(ctx, tx, batch, events, lease)
			return err
		})
		return lease, err
	}
	l.rows.addStatements(batch, events, lease)
	if err := batch.Run(ctx, l.pool); err != nil {
		return lease, fmt.Errorf("committing %d events: %w", len(events), err)
	}
	return lease, nil
}

// insertInOrder runs the statements of a batch in a transaction, takes the places of prepared
// events in the orders of their targets, and stores the events. The lease returned also covers
// the heads of orders. The error is a lock timeout if another transaction has
// the key of an order.
func (l *committer) insertInOrder(ctx context.Context, tx pgx.Tx, batch *bulk.Batch, events []*prepared, lease *delivery.CommitLease) (*delivery.CommitLease, error) {
	var taken places
	if hasOrdered(events) {
		batch.Add(ledger.BoundLockWaitsSQL, nil)
		taken = l.rows.addOrderPlaces(batch, events)
		batch.Add(ledger.WaitForLocksSQL, nil)
	}
	if err := batch.RunOn(ctx, tx.Conn()); err != nil {
		return lease, fmt.Errorf("comparing the configuration, and taking places in orders: %w", err)
	}
	if hasOrdered(events) {
		failpoint.Here("places_taken")
	}
	taken.assign(events)
	lease = l.reserveHeads(events, lease)
	return lease, l.rows.insertInParts(ctx, tx, events, lease)
}
