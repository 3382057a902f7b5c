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

// assertConfigVersionSQL fails with division_by_zero if the configuration has changed. A
// function raising an error would be slower. Every commit runs it first, so that nothing is
// accepted on revoked keys or fanned out to a stale set of endpoints.
const (
	assertConfigVersionSQL = `select 1 / (version = $1)::integer from hub.config_version`
	configVersionChanged   = "22012"
)

// maxConfigTries is how often a commit is tried while the configuration keeps changing.
const maxConfigTries = 8

// commitPlain stores and answers a batch of requests without idempotency keys.
func (l *committer) commitPlain(ctx context.Context, batch []*request) {
	err := errors.New("configuration kept changing")
	for range maxConfigTries {
		var events []*prepared
		var storable []*request
		version := l.directory.Version()
		events, storable = l.prepareAll(ctx, batch)
		if batch = storable; len(batch) == 0 {
			return
		}
		lease := l.reserve(events)
		failpoint.Here("before_commit")
		if err = l.insert(ctx, version, events, lease); err == nil {
			failpoint.Here("after_commit")
			l.dispatchCommitted(events, lease)
			answerStored(batch, events)
			return
		}
		l.release(events)
		if !l.shouldRetry(ctx, err) {
			break
		}
	}
	l.answerFailed(ctx, batch, err, l.commitPlain)
}

// prepareAll answers the requests that cannot be stored and returns the rest.
func (o *Outbox) prepareAll(ctx context.Context, batch []*request) (events []*prepared, storable []*request) {
	storable = make([]*request, 0, len(batch))
	events = make([]*prepared, 0, len(batch))
	for _, r := range batch {
		eventsBefore := len(events)
		var refused error
		for _, publication := range r.publications {
			event, err := o.prepare(ctx, publication)
			if err != nil {
				refused = err
				break
			}
			events = append(events, event)
		}
		if refused != nil {
			events = events[:eventsBefore]
			r.answer(refused)
			continue
		}
		storable = append(storable, r)
	}
	return events, storable
}

// answerStored answers requests whose publications were all stored, in order.
func answerStored(batch []*request, events []*prepared) {
	for _, r := range batch {
		r.results = make([]Result, len(r.publications))
		for i := range r.publications {
			r.results[i] = Result{ID: events[i].event.ID, Deliveries: len(events[i].targets)}
		}
		events = events[len(r.publications):]
		r.answer(nil)
	}
}

// shouldRetry reports whether a failed commit is worth another try now. It
// refreshes the configuration or creates partitions if those were the cause.
func (o *Outbox) shouldRetry(ctx context.Context, err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case configVersionChanged:
		return o.directory.Refresh(ctx) == nil
	case "42P01": // no tables for this day
		_, err := o.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, 3)`, o.now().UTC())
		return err == nil
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	return false
}

// answerFailed answers a batch that could not be stored. If PostgreSQL refused the data
// of one request, each request is committed by itself.
func (l *committer) answerFailed(ctx context.Context, batch []*request, err error, commit func(context.Context, []*request)) {
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
func (l *committer) insert(ctx context.Context, version int64, events []*prepared, lease *delivery.CommitLease) error {
	batch := &bulk.Batch{}
	batch.AddInt8(assertConfigVersionSQL, version)
	l.rows.queue(batch, events, lease)
	if err := batch.Run(ctx, l.pool); err != nil {
		return fmt.Errorf("committing %d events: %w", len(events), err)
	}
	return nil
}
