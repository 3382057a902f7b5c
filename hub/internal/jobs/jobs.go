// Package jobs runs the background work of hosted products. Runs are rows: they are added
// in the product's own transaction and survive every process.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

const (
	pollEvery      = time.Second
	defaultTimeout = time.Minute
	leaseMargin    = 30 * time.Second // beyond a run's timeout
	firstRetry     = 5 * time.Second  // after a failure; doubles …
	maxRetry       = 15 * time.Minute // … up to this
	recordingTime  = 5 * time.Second
	maxError       = 500 // bytes of an error that are stored
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
	now     func() time.Time
}

// NewRunner returns a runner; [Runner.Run] starts it.
func NewRunner(db *pgxpool.Pool, product string, jobs []module.Job, log *slog.Logger, now func() time.Time) *Runner {
	return &Runner{db: db, product: product, jobs: jobs, log: log, now: now}
}

// startSpacing is the time between the starts of two jobs. Were they to begin together, each
// would open a connection to the database, which the first would have left for the next.
const startSpacing = 25 * time.Millisecond

// Run looks for due runs every second. It returns when ctx has ended and every run too.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for i, job := range r.jobs {
		running.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(i) * startSpacing):
			}
			if job.EveryProcess {
				r.runHere(ctx, job)
			} else {
				r.poll(ctx, job)
			}
		})
	}
}

// runHere runs a job of every process on this one.
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

// poll runs one job whenever it is due: one run at a time, over all processes.
func (r *Runner) poll(ctx context.Context, job module.Job) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	failing := false
	for {
		err := r.RunDue(ctx, job)
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("looking for due jobs failed; trying again", "job", job.Name, "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RunDue runs the due runs of a job, one after the other.
func (r *Runner) RunDue(ctx context.Context, job module.Job) error {
	if job.Every > 0 {
		err := dbgen.New(r.db).CreateRepeatingJob(ctx, dbgen.CreateRepeatingJobParams{
			ID: uuid.Must(uuid.NewV7()), Product: r.product, Job: job.Name, DueAt: r.now(),
		})
		if err != nil {
			return store.Wrap("planning a job", err)
		}
	}
	for ctx.Err() == nil {
		row, err := r.claim(ctx, job)
		if err != nil || row == nil {
			return err
		}
		runErr := r.runOnce(ctx, job, row.Payload)
		if err := r.settle(ctx, job, *row, runErr); err != nil {
			return err
		}
	}
	return nil
}

func timeoutOf(job module.Job) time.Duration {
	if job.Timeout > 0 {
		return job.Timeout
	}
	return defaultTimeout
}

// claim leases the next due run. It returns nil if there is none, or if another process
// runs the job.
func (r *Runner) claim(ctx context.Context, job module.Job) (*dbgen.Job, error) {
	var row *dbgen.Job
	err := store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		locked, err := queries.TryLockJob(ctx, r.product, job.Name)
		if err != nil || !locked {
			return err
		}
		now := r.now()
		claimed, err := queries.ClaimJob(ctx, dbgen.ClaimJobParams{
			Until: now.Add(timeoutOf(job) + leaseMargin), Product: r.product, Job: job.Name, At: now,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		row = &claimed
		return err
	})
	if err != nil {
		return nil, store.Wrap("claiming a job", err)
	}
	return row, nil
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

// settle records the result of a run, also while the hub is stopping.
func (r *Runner) settle(ctx context.Context, job module.Job, row dbgen.Job, runErr error) error {
	stopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordingTime)
	defer cancel()
	queries, now := dbgen.New(r.db), r.now()
	switch {
	case runErr != nil:
		wait := firstRetry
		for range row.Tries {
			wait = min(2*wait, maxRetry)
		}
		if stopping {
			wait = 0 // interrupted by us: the next process runs it again
		} else {
			r.log.Warn("a job failed; it will be repeated", "job", job.Name, "error", runErr, "in", wait.String())
		}
		message := runErr.Error()
		delayed, err := queries.RescheduleFailedJob(ctx, dbgen.RescheduleFailedJobParams{LastError: message[:min(len(message), maxError)], DueAt: now.Add(wait), ID: row.ID})
		if err == nil && delayed == 0 { // the same run is waiting already
			err = queries.DeleteFinishedJob(ctx, row.ID)
		}
		return store.Wrap("putting off a job", err)
	case row.Repeats:
		return store.Wrap("planning a job", queries.RescheduleRepeatingJob(ctx, now.Add(job.Every), row.ID))
	}
	return store.Wrap("finishing a job", queries.DeleteFinishedJob(ctx, row.ID))
}
