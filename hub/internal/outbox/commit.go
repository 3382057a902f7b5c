package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// commitPlain stores and completes a batch of requests without idempotency keys.
func (c *committer) commitPlain(ctx context.Context, batch []*request, policy lockPolicy) {
	snapshot := c.outbox.directory.Snapshot()
	for _, requests := range splitCommits(c.setAsideLocked(ctx, c.prepareAll(ctx, batch), policy)) {
		c.storePlain(ctx, snapshot, requests)
	}
}

// storePlain stores and completes prepared requests in one commit. Nothing is accepted on
// revoked keys or fanned out to a stale set of endpoints: the commit fails if a tenant
// changed since the snapshot.
func (c *committer) storePlain(ctx context.Context, snapshot string, requests []*preparedRequest) {
	var err error
	for tries := 0; tries < maxTries && len(requests) > 0; tries++ {
		events := eventsOf(requests)
		lease := c.outbox.reserve(events)
		failpoint.Here("before_commit")
		if lease, err = c.insert(ctx, snapshot, events, lease); err == nil {
			failpoint.Here("after_commit")
			c.dispatchCommitted(events, lease)
			completeStored(requests)
			return
		}
		c.outbox.release(events)
		again, newSnapshot, ok := c.recoverFrom(ctx, err, snapshot, requests)
		if !ok {
			break
		}
		if len(again) < len(requests) {
			tries = 0
		}
		requests, snapshot = again, newSnapshot
	}
	c.completeFailed(requests, err, func(r *preparedRequest) { c.storePlain(ctx, snapshot, []*preparedRequest{r}) })
}

// prepareAll completes the requests that cannot be stored, hands those with many deliveries
// to their own committer, and returns the rest.
func (c *committer) prepareAll(ctx context.Context, batch []*request) []*preparedRequest {
	publishers := make([]directory.Publisher, 0, len(batch))
	for _, r := range batch {
		for _, p := range r.publications {
			if p.Targets == nil {
				publishers = append(publishers, directory.Publisher{Key: p.Key, TenantID: p.TenantID, Environment: p.Environment})
				break // all are of one tenant
			}
		}
	}
	if err := c.outbox.directory.Preload(ctx, publishers); err != nil {
		for _, r := range batch {
			r.complete(err)
		}
		return nil
	}
	requests := make([]*preparedRequest, 0, len(batch))
	isRefreshed := false
	for _, r := range batch {
		targets, deliveries, err := c.outbox.resolveReceivers(ctx, r.publications)
		if (errors.Is(err, errDisagrees) || errors.Is(err, errTooManyDeliveries)) && !isRefreshed {
			// No commit will compare the configuration of what is refused.
			isRefreshed = true
			if err = c.outbox.directory.Refresh(ctx); err != nil {
				r.complete(errUnavailable(err))
				continue
			}
			targets, deliveries, err = c.outbox.resolveReceivers(ctx, r.publications)
		}
		isDone := false
		if (errors.Is(err, errTooManyDeliveries) || errors.Is(err, errDisagrees)) && r.isIdempotent() {
			isDone, err = c.outbox.completeRepeated(ctx, r, err)
		}
		switch {
		case isDone:
			continue
		case err != nil:
			r.complete(err)
			continue
		case deliveries > maxDeliveries && !c.isLarge:
			r.estimate = deliveries
			if !c.outbox.large.push(r) {
				r.complete(errUnavailable(errors.New("the commit queue is full")))
			}
			continue
		}
		events, err := c.outbox.prepareEvents(ctx, r.publications, targets)
		if err != nil {
			r.complete(err)
			continue
		}
		requests = append(requests, &preparedRequest{r, events, deliveries})
	}
	return requests
}

// completeStored completes requests whose publications were all stored, in order.
func completeStored(requests []*preparedRequest) {
	for _, r := range requests {
		r.results = make([]Result, len(r.events))
		for i, event := range r.events {
			r.results[i] = Result{ID: event.event.ID, Deliveries: len(event.targets)}
		}
		r.complete(nil)
	}
}

// completeFailed completes requests that could not be stored. If PostgreSQL refused the data of
// one of several, each is stored by itself.
func (c *committer) completeFailed(requests []*preparedRequest, err error, storeAlone func(*preparedRequest)) {
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
	c.outbox.log.Warn("storing events failed", "error", err, "requests", len(requests))
	for _, r := range requests {
		r.complete(errUnavailable(err))
	}
}

// insert stores prepared events in one transaction. Up to
// maxDeliveries deliveries are sent in one round trip with the commit; more are sent in parts,
// to bound memory. The lease returned also
// covers the heads of orders.
func (c *committer) insert(ctx context.Context, snapshot string, events []*preparedEvent, lease *delivery.CommitLease) (*delivery.CommitLease, error) {
	batch := &bulk.Batch{}
	c.rows.addAssertion(batch, snapshot, events)
	if countDeliveries(events) > maxDeliveries || hasOrdered(events) {
		began := c.outbox.now()
		err := pgx.BeginFunc(ctx, c.outbox.pool, func(tx pgx.Tx) (err error) {
			lease, err = c.insertInOrder(ctx, tx, began, batch, events, lease)
			return err
		})
		return lease, err
	}
	c.rows.addStatements(batch, events, lease)
	if err := batch.Run(ctx, c.outbox.pool); err != nil {
		return lease, fmt.Errorf("committing %d events: %w", len(events), err)
	}
	return lease, nil
}

// insertInOrder runs the statements of a batch in a transaction, takes the places of prepared
// events in the orders of their targets, and stores the events. The lease returned also covers
// the heads of orders: in the database it is counted from when the transaction began, and so here.
// The error is a lock timeout if another transaction has the key of an order.
func (c *committer) insertInOrder(ctx context.Context, tx pgx.Tx, began time.Time, batch *bulk.Batch, events []*preparedEvent, lease *delivery.CommitLease) (*delivery.CommitLease, error) {
	var taken places
	if hasOrdered(events) {
		batch.Add(ledger.BoundLockWaitsSQL, nil)
		taken = c.rows.addOrderPlaces(batch, events)
		batch.Add(ledger.WaitForLocksSQL, nil)
	}
	if err := batch.RunOn(ctx, tx.Conn()); err != nil {
		return lease, fmt.Errorf("comparing the configuration, and taking places in orders: %w", err)
	}
	if hasOrdered(events) {
		failpoint.Here("places_taken")
	}
	taken.assign(events)
	lease = c.outbox.reserveHeads(events, lease, began)
	return lease, c.rows.insertInParts(ctx, tx, events, lease)
}
