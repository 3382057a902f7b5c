package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store/bulk"
)

// sameConfig fails where the cached configuration is not the committed one: with a
// division by zero, because a function that raises an error costs more than all the
// rest of a small commit's overhead. Every commit runs it first, so that nothing is
// accepted on revoked keys or fanned out to a stale set of endpoints.
const (
	sameConfig    = `select 1 / (version = $1)::integer from hub.config_version`
	configChanged = "22012"
)

// maxConfigTries bounds how often a commit chases a configuration that keeps changing.
const maxConfigTries = 8

// commitPlain stores a batch of requests without idempotency keys and answers each.
func (l *lane) commitPlain(ctx context.Context, batch []*request) {
	err := errors.New("configuration kept changing")
	for range maxConfigTries {
		var all []*prepared
		var keep []*request
		version := l.directory.Version()
		all, keep = l.prepareAll(ctx, batch)
		if batch = keep; len(batch) == 0 {
			return
		}
		lease := l.reserve(all)
		failpoint.Here("before_commit")
		if err = l.insert(ctx, version, all, lease); err == nil {
			failpoint.Here("after_commit")
			l.committed(all, lease)
			finish(batch, all)
			return
		}
		l.release(all)
		if !l.shouldRetry(ctx, err) {
			break
		}
	}
	l.failed(ctx, batch, err, l.commitPlain)
}

// prepareAll answers the requests that cannot be stored and returns the rest.
func (o *Outbox) prepareAll(ctx context.Context, batch []*request) (all []*prepared, keep []*request) {
	keep = make([]*request, 0, len(batch))
	all = make([]*prepared, 0, len(batch))
	for _, r := range batch {
		mark := len(all)
		var refused error
		for _, publication := range r.publications {
			p, err := o.prepare(ctx, publication)
			if err != nil {
				refused = err
				break
			}
			all = append(all, p)
		}
		if refused != nil {
			all = all[:mark]
			r.answer(refused)
			continue
		}
		keep = append(keep, r)
	}
	return all, keep
}

// finish answers requests whose publications were all stored, in order.
func finish(batch []*request, all []*prepared) {
	for _, r := range batch {
		r.results = make([]Result, len(r.publications))
		for i := range r.publications {
			r.results[i] = Result{ID: all[i].event.ID, Deliveries: len(all[i].targets)}
		}
		all = all[len(r.publications):]
		r.answer(nil)
	}
}

// shouldRetry reports whether a failed commit is worth another try now, after mending
// what it failed for.
func (o *Outbox) shouldRetry(ctx context.Context, err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case configChanged:
		return o.directory.Refresh(ctx) == nil
	case "42P01": // no tables for this day
		_, err := o.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, 3)`, o.now().UTC())
		return err == nil
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	return false
}

// failed answers a batch that could not be stored. Where PostgreSQL refused the
// data of one request, the others are committed without it, one by one.
func (l *lane) failed(ctx context.Context, batch []*request, err error, commit func(context.Context, []*request)) {
	var pg *pgconn.PgError
	refusedData := errors.As(err, &pg) && (pg.Code[:2] == "22" || pg.Code[:2] == "23")
	if refusedData && len(batch) > 1 {
		for _, r := range batch {
			commit(ctx, []*request{r})
		}
		return
	}
	l.log.Warn("storing events failed", "error", err, "requests", len(batch))
	for _, r := range batch {
		r.answer(errUnavailable(err))
	}
}

// insert stores prepared events in one transaction: the statements travel
// together and end in one commit.
func (l *lane) insert(ctx context.Context, version int64, all []*prepared, lease *delivery.CommitLease) error {
	batch := &bulk.Batch{}
	batch.AddInt8(sameConfig, version)
	l.rows.queue(batch, all, lease)
	if err := batch.Run(ctx, l.pool); err != nil {
		return fmt.Errorf("committing %d events: %w", len(all), err)
	}
	return nil
}
