package outbox

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/directory"
	"integrationhub/hub/module/dberr"
)

// committer commits batches, one at a time: a full one costs less than two half ones.
type committer struct {
	*Outbox
	rows       rows
	isLarge    bool       // takes requests with more than maxDeliveries
	deferred   []*request // go into the next batch: their tenants changed meanwhile
	isOneByOne bool       // stores requests one by one, to find those whose idempotency keys are locked

	// Of the committer of requests that wait for locked keys.
	isForLocked   bool
	waitsForLocks bool       // of what it commits
	stillLocked   []*request // of the batch
}

// run commits batches from a queue until ended is closed and the queue empty.
func (l *committer) run(queue *queue, ended <-chan struct{}, commit func(context.Context, []*request)) {
	for {
		batch := queue.take(l.deferred)
		l.deferred = nil
		if len(batch) > 0 {
			timeout := commitTimeout
			if l.isLarge && slices.ContainsFunc(batch, func(r *request) bool { return r.estimate > maxDeliveries }) {
				timeout = largeTimeout
			}
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			commit(ctx, batch)
			cancel()
			continue
		}
		select {
		case <-queue.ready:
		case <-ended:
			if batch = queue.take(nil); len(batch) == 0 {
				return
			}
			l.deferred = batch
		}
	}
}

// commitLarge stores requests with many deliveries, each by itself.
func (l *committer) commitLarge(ctx context.Context, batch []*request) {
	for _, r := range batch {
		if r.isIdempotent() {
			l.storeDistinct(ctx, []*request{r})
		} else {
			l.commitPlain(ctx, []*request{r})
		}
	}
	l.rows = rows{} // its buffers have the size of the largest
}

// preparedRequest is a request whose events are prepared.
type preparedRequest struct {
	*request
	events     []*prepared
	deliveries int
}

// splitCommits splits requests into commits of at most maxDeliveries, unless one alone has
// more.
func splitCommits(requests []*preparedRequest) (commits [][]*preparedRequest) {
	begin, deliveries := 0, 0
	for i, r := range requests {
		if i > begin && deliveries+r.deliveries > maxDeliveries {
			commits = append(commits, requests[begin:i])
			begin, deliveries = i, 0
		}
		deliveries += r.deliveries
	}
	if begin < len(requests) {
		commits = append(commits, requests[begin:])
	}
	return commits
}

func eventsOf(requests []*preparedRequest) []*prepared {
	if len(requests) == 1 {
		return requests[0].events
	}
	events := make([]*prepared, 0, len(requests))
	for _, r := range requests {
		events = append(events, r.events...)
	}
	return events
}

// maxConflicts is how many commits of a request may fail because its tenant changed.
const maxConflicts = 8

var errKeptChanging = errors.New("configuration kept changing")

// recoverFrom removes the cause of a failed commit, where it can. It returns the requests
// that are worth another try now, by the configuration of a snapshot.
func (l *committer) recoverFrom(ctx context.Context, err error, snapshot string, requests []*preparedRequest) (again []*preparedRequest, newSnapshot string, ok bool) {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return requests, snapshot, false
	}
	switch pg.Code {
	case directory.ConfigChangedCode:
		changes, err := l.directory.RefreshSince(ctx, snapshot)
		if err != nil {
			return requests, snapshot, false
		}
		return l.deferChanged(requests, changes), changes.Snapshot, true
	case "42P01": // no tables for this day
		_, err := l.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, 3)`, l.now().UTC())
		return requests, snapshot, err == nil
	case dberr.SerializationFailure, dberr.DeadlockDetected:
		return requests, snapshot, true
	case dberr.LockTimeout:
		free, locked, err := l.splitLocked(ctx, requests)
		if err != nil {
			return requests, snapshot, false
		}
		for _, r := range locked {
			l.locked.add(r.request)
		}
		return free, snapshot, true
	}
	return requests, snapshot, false
}

// deferChanged moves the requests whose tenants changed to the next batch, where they are
// prepared anew. The others do not wait for them.
func (l *committer) deferChanged(requests []*preparedRequest, changes directory.Changes) (unchanged []*preparedRequest) {
	unchanged = make([]*preparedRequest, 0, len(requests))
	for _, r := range requests {
		first := r.publications[0]
		switch {
		case !changes.Concern(first.TenantID, first.Product):
			unchanged = append(unchanged, r)
		case r.conflicts == maxConflicts:
			r.answer(errUnavailable(errKeptChanging))
		default:
			r.conflicts++
			l.deferred = append(l.deferred, r.request)
		}
	}
	return unchanged
}
