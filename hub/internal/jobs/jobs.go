// Package jobs runs the background work of hosted products. Runs are rows: they are added
// in the product's own transaction and survive every process. A process that runs one holds
// a lease of 15 seconds on it and renews that meanwhile; when the process dies, another
// begins the run again within 20 seconds.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
	"integrationhub/hub/module/lease"
)

const (
	pollEvery      = time.Second
	defaultTimeout = time.Minute
	firstRetry     = 5 * time.Second  // after a failure; doubles …
	maxRetry       = 15 * time.Minute // … up to this
	recordingTime  = 5 * time.Second  // for an attempt to record the result of a run
	settleInterval = time.Second      // between those attempts
	maxError       = 500              // bytes of an error that are stored
)

// Queue adds runs of one product's jobs.
type Queue struct {
	Product string
	Now     func() time.Time
}

// Enqueue implements [module.Jobs].
func (q Queue) Enqueue(ctx context.Context, tx pgx.Tx, run module.JobRun) error {
	due := run.At
	if due.IsZero() {
		due = q.Now()
	}
	var key *string
	if run.Key != "" {
		key = &run.Key
	}
	err := dbgen.New(tx).EnqueueJob(ctx, dbgen.EnqueueJobParams{
		ID: uuid.Must(uuid.NewV7()), Product: q.Product, Job: run.Job, Key: key, Payload: run.Payload, DueAt: due,
	})
	return store.Wrap("adding a job", err)
}

// Runner runs the jobs of one product.
type Runner struct {
	db      *pgxpool.Pool
	product string
	jobs    []module.Job
	log     *slog.Logger
	now     func() time.Time // of when runs are due; leases are on the database's clock
	holder  string
}

// NewRunner returns a runner; [Runner.Run] starts it.
func NewRunner(db *pgxpool.Pool, product string, jobs []module.Job, log *slog.Logger, now func() time.Time) *Runner {
	return &Runner{db: db, product: product, jobs: jobs, log: log, now: now, holder: lease.NewHolder()}
}

// startSpacing is the time between the starts of two jobs. Were those that are due to begin
// together, each would open a connection to the database, which the first would have left for
// the next.
const startSpacing = 25 * time.Millisecond

// Run looks for due runs every second. It returns when ctx has ended and every run too.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	found := make(map[string]chan state)
	for i, job := range r.jobs {
		if job.EveryProcess {
			running.Go(func() {
				if wait(ctx, time.Duration(i)*startSpacing) {
					r.runHere(ctx, job)
				}
			})
			continue
		}
		work := make(chan state, 1)
		found[job.Name] = work
		running.Go(func() { r.runFound(ctx, job, work) })
	}
	if len(found) > 0 {
		r.poll(ctx, found)
	}
}

// wait waits for d; it returns false if ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// runHere runs a job that every process runs.
func (r *Runner) runHere(ctx context.Context, job module.Job) {
	tick := time.NewTicker(job.Every)
	defer tick.Stop()
	failing := false
	for {
		err := r.runOnce(ctx, job, nil)
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("a job failed; it will be repeated", "job", job.Name, "error", err, "in", job.Every.String())
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll loads every second the states of all jobs, with one query, and sends each that has work
// to the goroutine that runs it.
func (r *Runner) poll(ctx context.Context, found map[string]chan state) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	failing := false
	for {
		states, err := r.loadStates(ctx, slices.Sorted(maps.Keys(found)))
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("looking for due jobs failed; trying again", "error", err)
		}
		failing = err != nil
		for _, job := range r.jobs {
			state, ok := states[job.Name]
			if !ok || !state.hasWork(job) {
				continue
			}
			select {
			case found[job.Name] <- state:
			default: // it has one already, and loads the state again by itself
			}
			if !wait(ctx, startSpacing) {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// runFound runs one job whenever poll found work: one run at a time, over all processes.
func (r *Runner) runFound(ctx context.Context, job module.Job, found <-chan state) {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case state := <-found:
			err := r.runWhile(ctx, job, state)
			if err != nil && !failing && ctx.Err() == nil {
				r.log.Warn("running due jobs failed; trying again", "job", job.Name, "error", err)
			}
			failing = err != nil
		}
	}
}

// RunDue runs the due runs of a job, one after the other.
func (r *Runner) RunDue(ctx context.Context, job module.Job) error {
	states, err := r.loadStates(ctx, []string{job.Name})
	if err != nil {
		return err
	}
	return r.runWhile(ctx, job, states[job.Name])
}

// runWhile runs a job in the state that was found, and again while a run of it is due.
func (r *Runner) runWhile(ctx context.Context, job module.Job, found state) error {
	for ctx.Err() == nil && found.hasWork(job) {
		claimed, err := r.claim(ctx, job, found)
		if err != nil || claimed == nil {
			return err
		}
		if err := r.runClaimed(ctx, job, *claimed); err != nil {
			return err
		}
		states, err := r.loadStates(ctx, []string{job.Name})
		if err != nil {
			return err
		}
		found = states[job.Name]
	}
	return nil
}

// runClaimed runs a job while the lease is renewed, and records the result. It tries that
// for as long as it has the lease; after that the run is due again.
func (r *Runner) runClaimed(ctx context.Context, job module.Job, claimed claim) error {
	working, stop := lease.Keep(ctx, claimed.claimedAt, lease.Terms{Renew: renewInterval, GiveUp: maxUnrenewed}, func(ctx context.Context) (bool, error) {
		return r.renew(ctx, claimed.row.ID)
	})
	defer stop()
	runErr := r.runOnce(working, job, claimed.row.Payload)
	wait := retryDelay(claimed.row.Tries)
	switch {
	case errors.Is(context.Cause(working), lease.ErrLost):
		r.log.Warn("the lease of a job was lost; its run was cancelled", "job", job.Name, "error", runErr)
		wait = 0
	case ctx.Err() != nil:
		wait = 0 // interrupted by us: the next process runs it again
	case runErr != nil:
		r.log.Warn("a job failed; it will be repeated", "job", job.Name, "error", runErr, "in", wait.String())
	}
	for failing := false; ; failing = true {
		err := r.settle(ctx, job, claimed.row, runErr, wait)
		if err == nil {
			return nil
		}
		if !failing {
			r.log.Warn("recording the result of a job failed; trying again", "job", job.Name, "error", err)
		}
		select {
		case <-working.Done():
			return err
		case <-time.After(settleInterval):
		}
	}
}

// retryDelay returns the time to the next run after some have failed.
func retryDelay(tries int32) time.Duration {
	delay := firstRetry
	for range tries {
		delay = min(2*delay, maxRetry)
	}
	return delay
}

func timeoutOf(job module.Job) time.Duration {
	if job.Timeout > 0 {
		return job.Timeout
	}
	return defaultTimeout
}

// runOnce runs a job; a panic is an error.
func (r *Runner) runOnce(ctx context.Context, job module.Job, payload []byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(job))
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			r.log.Error("a job panicked", "job", job.Name, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
			err = fmt.Errorf("running job %s: panic: %v", job.Name, panicked)
		}
	}()
	return job.Run(ctx, payload)
}

// storedText returns the text of an error as its row takes it. The text may quote anything, such
// as the bytes of a response.
func storedText(err error) string {
	text := store.ValidText(err.Error())
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "") // the cut may have split a character
}

// settle records the result of a run, also while the hub is stopping, unless another process
// has claimed the run meanwhile. A failed run is due again after a wait.
func (r *Runner) settle(ctx context.Context, job module.Job, row dbgen.Job, runErr error, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordingTime)
	defer cancel()
	queries, now := dbgen.New(r.db), r.now()
	switch {
	case runErr != nil:
		delayed, err := queries.RescheduleFailedJob(ctx, dbgen.RescheduleFailedJobParams{LastError: storedText(runErr), DueAt: now.Add(wait), ID: row.ID, Holder: r.holder})
		if err == nil && delayed == 0 { // the same run is waiting already
			err = queries.DeleteFinishedJob(ctx, row.ID, r.holder)
		}
		return store.Wrap("putting off a job", err)
	case row.Repeats:
		return store.Wrap("planning a job", queries.RescheduleRepeatingJob(ctx, dbgen.RescheduleRepeatingJobParams{DueAt: now.Add(job.Every), ID: row.ID, Holder: r.holder}))
	}
	return store.Wrap("finishing a job", queries.DeleteFinishedJob(ctx, row.ID, r.holder))
}
