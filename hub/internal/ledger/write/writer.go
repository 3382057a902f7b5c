// Package write stores what came of attempts: the writer commits them in batches,
// together with the deliveries' new states and their statistics. It imports package
// ledger and neither query nor maintain.
package write

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/module/dberr"
)

const (
	writerQueue       = 8192                  // attempts waiting to be stored; beyond it senders wait
	maxAttempts       = 1024                  // attempts in one commit
	linger            = 10 * time.Millisecond // lets a batch form: nothing waits for the log
	flushTimeout      = 15 * time.Second
	firstStorePause   = 50 * time.Millisecond
	longestStorePause = 2 * time.Second
	retryGrace        = 2 * time.Second // how late a retry task may be before the sweep claims the row
)

// OnStored receives attempts once they and their deliveries' new states are durable.
type OnStored func([]delivery.AttemptResult)

// Writer stores attempts in batches. An attempt that was recorded is kept until
// the database has it.
type Writer struct {
	pool         *pgxpool.Pool
	log          *slog.Logger
	now          func() time.Time
	onStored     OnStored
	queue        chan delivery.AttemptResult
	syncRequests chan chan struct{} // closed when what was recorded so far is stored
	syncWaiters  []chan struct{}
	rows         rows
	deferred     []delivery.AttemptResult // their orders are locked by other transactions
	isDeferring  bool                     // since the last time that none was
	seen         map[uuid.UUID]struct{}   // deliveries of a batch, reused by the next
	done         sync.WaitGroup

	recorded atomic.Int64 // attempts

	mu         sync.Mutex
	openLeases []*delivery.CommitLease // oldest first; those that are settled go when they are looked at
	stall      stall
}

// NewWriter starts the writer; [Writer.Close] ends it.
func NewWriter(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, onStored OnStored) *Writer {
	w := &Writer{pool: pool, log: log, now: now, onStored: onStored, queue: make(chan delivery.AttemptResult, writerQueue), syncRequests: make(chan chan struct{})}
	w.done.Go(w.run) // one: a full batch costs less than two half ones
	return w
}

// Record queues an attempt. It blocks while the database cannot keep up.
func (w *Writer) Record(a delivery.AttemptResult) {
	w.recorded.Add(1)
	w.queue <- a
}

// syncTimeout is how long a reader waits for the writer.
const syncTimeout = 200 * time.Millisecond

// Sync waits until what was recorded so far is stored, for a short while at most.
func (w *Writer) Sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	stored := make(chan struct{})
	select {
	case w.syncRequests <- stored:
	case <-ctx.Done():
		return
	}
	select {
	case <-stored:
	case <-ctx.Done():
	}
}

// Close stores what was recorded, inserts the rows of deliveries that wait for their retry or were
// not attempted, and returns; Record must not be called any more.
func (w *Writer) Close() {
	close(w.queue)
	w.done.Wait()
}

func (w *Writer) run() {
	batch := make([]delivery.AttemptResult, 0, maxAttempts)
	timer, materialize := time.NewTimer(linger), time.NewTicker(materializeEvery)
	defer timer.Stop()
	defer materialize.Stop()
	for {
		select {
		case <-materialize.C:
			w.runWatched(func() {
				w.materializeWaiting()
				w.storeFree()
			}, 0)
		case stored := <-w.syncRequests:
			w.syncWaiters = append(w.syncWaiters, stored)
			batch = w.fillBatch(batch[:0], nil)
			w.storeAll(batch)
		case first, more := <-w.queue:
			if !more {
				for len(w.deferred) > 0 {
					w.store(w.takeDeferred())
				}
				w.releaseOpen()
				return
			}
			timer.Reset(linger)
			batch = w.fillBatch(append(batch[:0], first), timer.C)
			w.storeAll(batch)
		}
	}
}

// storeAll stores a batch and answers the sync requests.
func (w *Writer) storeAll(batch []delivery.AttemptResult) {
	w.runWatched(func() {
		free := batch
		if len(w.deferred) > 0 { // the same transactions may have locked more: no waiting for each of them
			free = w.deferLocked(batch)
		}
		w.store(free)
	}, len(batch))
	clear(batch)
	for _, stored := range w.syncWaiters {
		close(stored)
	}
	w.syncWaiters = w.syncWaiters[:0]
}

// fillBatch appends attempts to a batch until the timer fires, or the queued ones if until
// is nil. A sync request ends the wait.
func (w *Writer) fillBatch(batch []delivery.AttemptResult, until <-chan time.Time) []delivery.AttemptResult {
	for len(batch) < maxAttempts {
		if until == nil && len(w.queue) == 0 {
			return batch
		}
		select {
		case a, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, a)
		case <-until:
			return batch
		case stored := <-w.syncRequests:
			w.syncWaiters = append(w.syncWaiters, stored)
			until = nil
		}
	}
	return batch
}

// store commits a batch. Statements change a row once: further attempts of a delivery follow in
// a commit of their own.
func (w *Writer) store(batch []delivery.AttemptResult) {
	for len(batch) > 0 {
		first, repeated := w.splitRepeated(batch)
		w.storeDistinct(first)
		batch = repeated
	}
}

// storeDistinct commits attempts of different deliveries, however long the database is away.
// Those whose orders stay locked are deferred.
func (w *Writer) storeDistinct(batch []delivery.AttemptResult) {
	failpoint.Here("before_attempt_row")
	for _, a := range batch {
		if a.Decision.Status == delivery.Parked {
			failpoint.Here("on_parking")
		}
	}
	for pause := firstStorePause; ; pause = min(2*pause, longestStorePause) {
		err := w.flush(batch)
		if err == nil {
			break
		}
		if isUniqueViolation(err) {
			stored, err := w.compareStored(batch)
			if stored.isCommitted {
				break
			}
			if stored.hasNewRows || err != nil {
				continue
			}
		}
		if dberr.IsLockTimeout(err) {
			if free := w.deferLocked(batch); len(free) < len(batch) {
				if batch = free; len(batch) == 0 {
					return
				}
				continue
			}
		}
		if isRejected(err) {
			w.storeHalves(batch, err)
			return
		}
		if w.noteAway() {
			w.log.Warn("storing attempts failed; trying until it works", "error", err, "attempts", len(batch))
		}
		time.Sleep(pause)
	}
	subtractStored(batch)
	if w.onStored != nil {
		w.onStored(batch)
	}
}

// storeHalves stores the halves of a batch that PostgreSQL refused, down to the one
// attempt it refuses: that must not hold up all the others for ever. Its delivery
// is attempted again when the lease ends.
func (w *Writer) storeHalves(batch []delivery.AttemptResult, err error) {
	if len(batch) == 1 {
		w.log.Error("an attempt cannot be stored; its delivery will be attempted again", "delivery", batch[0].ID, "error", err)
		return
	}
	half := len(batch) / 2
	w.storeDistinct(batch[:half])
	w.storeDistinct(batch[half:])
}

// isUniqueViolation reports whether PostgreSQL has a row of the batch already.
func isUniqueViolation(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// isRejected reports whether PostgreSQL will never take these rows: data exceptions
// (class 22), broken constraints (23), or a day whose tables were dropped.
func isRejected(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || pg.Code == "42P01")
}

func (w *Writer) flush(batch []delivery.AttemptResult) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	statements := &bulk.Batch{}
	w.rows.addStatements(statements, batch, w.now())
	if err := statements.Run(ctx, w.pool); err != nil {
		return fmt.Errorf("storing %d attempts: %w", len(batch), err)
	}
	return nil
}
