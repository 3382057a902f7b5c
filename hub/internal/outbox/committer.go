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
	outbox      *Outbox
	rows        rows
	isLarge     bool       // takes requests with more than maxDeliveries
	deferred    []*request // go into the next batch: their tenants changed meanwhile
	stillLocked []*request // of the batch, whose keys [collectLocked] found locked
}

// run commits batches from a queue until ended is closed and the queue empty.
func (c *committer) run(queue *queue, ended <-chan struct{}, commit func(context.Context, []*request)) {
	for {
		batch := queue.take(c.deferred)
		c.deferred = nil
		if len(batch) > 0 {
			timeout := commitTimeout
			if c.isLarge && slices.ContainsFunc(batch, func(r *request) bool { return r.estimate > maxDeliveries }) {
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
			c.deferred = batch
		}
	}
}

// commitLarge stores requests with many deliveries, each by itself.
func (c *committer) commitLarge(ctx context.Context, batch []*request) {
	for _, r := range batch {
		if r.isIdempotent() {
			c.storeDistinct(ctx, []*request{r}, divertTenants)
		} else {
			c.commitPlain(ctx, []*request{r}, divertTenants)
		}
	}
	c.rows = rows{} // its buffers have the size of the largest
}

// preparedRequest is a request whose events are prepared.
type preparedRequest struct {
	*request
	events     []*preparedEvent
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

func eventsOf(requests []*preparedRequest) []*preparedEvent {
	if len(requests) == 1 {
		return requests[0].events
	}
	events := make([]*preparedEvent, 0, len(requests))
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
func (c *committer) recoverFrom(ctx context.Context, err error, snapshot string, requests []*preparedRequest) (again []*preparedRequest, newSnapshot string, ok bool) {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return requests, snapshot, false
	}
	switch pg.Code {
	case directory.ConfigChangedCode:
		changes, err := c.outbox.directory.RefreshSince(ctx, snapshot)
		if err != nil {
			return requests, snapshot, false
		}
		return c.deferChanged(requests, changes), changes.Snapshot, true
	case "42P01": // no tables for this day
		_, err := c.outbox.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, 3)`, c.outbox.now().UTC())
		return requests, snapshot, err == nil
	case dberr.SerializationFailure, dberr.DeadlockDetected:
		return requests, snapshot, true
	case dberr.LockTimeout:
		free, locked, err := c.splitLocked(ctx, requests)
		if err != nil {
			return requests, snapshot, false
		}
		for _, r := range locked {
			c.outbox.locked.add(r.request)
		}
		return free, snapshot, true
	}
	return requests, snapshot, false
}

// deferChanged moves the requests whose tenants changed to the next batch, where they are
// prepared anew. The others do not wait for them.
func (c *committer) deferChanged(requests []*preparedRequest, changes directory.Changes) (unchanged []*preparedRequest) {
	unchanged = make([]*preparedRequest, 0, len(requests))
	for _, r := range requests {
		first := r.publications[0]
		switch {
		case !changes.Concern(first.TenantID, first.Product):
			unchanged = append(unchanged, r)
		case r.conflicts == maxConflicts:
			r.complete(errUnavailable(errKeptChanging))
		default:
			r.conflicts++
			c.deferred = append(c.deferred, r.request)
		}
	}
	return unchanged
}
