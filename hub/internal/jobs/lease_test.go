//go:build unix

package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/jobs"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

const (
	leaseTime    = 15 * time.Second
	takeoverTime = 20 * time.Second // from the death of a process until another runs its job
	busyMachine  = 2 * time.Minute
	tick         = 10 * time.Millisecond
)

// workerDatabase is the environment variable that makes this program a process that runs a
// job without an end.
const workerDatabase = "JOBS_TEST_DATABASE"

func TestMain(m *testing.M) {
	if url := os.Getenv(workerDatabase); url != "" {
		if err := runWithoutEnd(url); err != nil {
			panic(err)
		}
		return
	}
	hubtest.Main(m)
}

func runWithoutEnd(url string) error {
	db, err := pgxpool.New(context.Background(), url)
	if err != nil {
		return err
	}
	job := module.Job{Name: "work", Timeout: time.Hour, Run: func(ctx context.Context, _ []byte) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	jobs.NewRunner(db, "clinic", []module.Job{job}, slog.New(slog.NewTextHandler(os.Stderr, nil)), time.Now).Run(context.Background())
	return nil
}

// worker starts a process that runs the job without an end.
func worker(t *testing.T, url string) *hubtest.Process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), workerDatabase+"="+url)
	return hubtest.RunProcess(t, "worker", t.TempDir(), cmd)
}

// enqueueRun adds a due run of the job to a database.
func enqueueRun(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	require.NoError(t, dbgen.New(db).UpsertHostedProduct(t.Context(), dbgen.UpsertHostedProductParams{Name: "clinic", Prefix: "cli", Title: "Clinic"}))
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		return jobs.Queue{Product: "clinic", Now: time.Now}.Enqueue(t.Context(), tx, module.JobRun{Job: "work"})
	}))
}

// leaseOf returns who has the lease of the run, and until when; "" if nobody has.
func leaseOf(t *testing.T, db *pgxpool.Pool) (holder string, until time.Time) {
	t.Helper()
	err := db.QueryRow(t.Context(), `select holder, leased_to from hub.jobs where leased_to > clock_timestamp()`).Scan(&holder, &until)
	if !errors.Is(err, pgx.ErrNoRows) {
		require.NoError(t, err)
	}
	return holder, until
}

func await(t *testing.T, within time.Duration, condition func() bool, message string) {
	t.Helper()
	require.Eventually(t, condition, within, tick, message)
}

// A process that is killed while it runs a job leaves it to another one within seconds,
// whatever the job's timeout is; and to itself, where it is the only one and starts again.
func TestProcessIsKilled(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	for name, isAlone := range map[string]bool{"another process": false, "the only process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := hubtest.DatabaseURL(t)
			db, err := pgxpool.New(t.Context(), url)
			require.NoError(t, err)
			defer db.Close()
			enqueueRun(t, db)
			runs := func(process *hubtest.Process) bool {
				holder, _ := leaseOf(t, db)
				return strings.HasPrefix(holder, fmt.Sprintf("%d-", process.Pid()))
			}
			owner := worker(t, url)
			await(t, busyMachine, func() bool { return runs(owner) }, "the job runs")
			var next *hubtest.Process
			if !isAlone {
				next = worker(t, url)
			}
			_, first := leaseOf(t, db)
			await(t, busyMachine, func() bool {
				_, renewed := leaseOf(t, db)
				return renewed.After(first)
			}, "the lease is renewed")
			owner.Kill()
			killed := time.Now()
			if isAlone {
				next = worker(t, url)
			}
			await(t, takeoverTime, func() bool { return runs(next) }, "the run begins again")
			t.Logf("the job runs %s after the kill", time.Since(killed).Round(time.Millisecond))
		})
	}
}

// observed is a job that says when it runs, and never runs twice at the same time.
type observed struct {
	module.Job
	began   chan struct{}
	cancels chan error // causes
	end     chan struct{}
	running atomic.Int32
	ended   atomic.Int32 // runs
	overlap atomic.Bool
}

func observe() *observed {
	o := &observed{began: make(chan struct{}, 100), cancels: make(chan error, 100), end: make(chan struct{})}
	o.Job = module.Job{Name: "work", Timeout: time.Hour, Run: func(ctx context.Context, _ []byte) error {
		if o.running.Add(1) > 1 {
			o.overlap.Store(true)
		}
		defer o.running.Add(-1)
		o.began <- struct{}{}
		select {
		case <-ctx.Done():
			o.cancels <- context.Cause(ctx)
			return ctx.Err()
		case <-o.end:
			o.ended.Add(1)
			return nil
		}
	}}
	return o
}

// start runs the job with so many runners, as many processes would.
func (o *observed) start(t *testing.T, db *pgxpool.Pool, runners int) {
	t.Helper()
	for range runners {
		go jobs.NewRunner(db, "clinic", []module.Job{o.Job}, slog.New(slog.DiscardHandler), time.Now).Run(t.Context())
	}
}

func awaitRow(t *testing.T, db *pgxpool.Pool, rows int, message string) {
	t.Helper()
	await(t, busyMachine, func() bool {
		var n int
		err := db.QueryRow(t.Context(), `select count(*) from hub.jobs`).Scan(&n)
		return err == nil && n == rows
	}, message)
}

// A job that runs for longer than its lease runs once, and not beside another run of it.
func TestLongRun(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	db, job := hubtest.Database(t), observe()
	enqueueRun(t, db)
	job.start(t, db, 3)
	<-job.began
	_, first := leaseOf(t, db)
	enqueueRun(t, db)
	await(t, busyMachine, func() bool {
		_, until := leaseOf(t, db)
		return until.Sub(first) > leaseTime
	}, "renewed")
	require.Empty(t, job.began)
	close(job.end)
	awaitRow(t, db, 0, "both runs have ended")
	require.EqualValues(t, 2, job.ended.Load())
	require.False(t, job.overlap.Load())
}

// A run whose lease is another process's is cancelled, and does not touch the other's run.
func TestLostLease(t *testing.T) {
	t.Parallel()
	db, job := hubtest.Database(t), observe()
	enqueueRun(t, db)
	job.start(t, db, 1)
	<-job.began
	_, err := db.Exec(t.Context(), `update hub.jobs set holder = 'another', leased_to = now() + interval '1 hour'`)
	require.NoError(t, err)
	require.ErrorContains(t, <-job.cancels, "another process")
	enqueueRun(t, db)
	holder, until := leaseOf(t, db)
	require.Equal(t, "another", holder)
	require.Greater(t, time.Until(until), 30*time.Minute)
	require.Empty(t, job.began, "the other process runs the job")
	_, err = db.Exec(t.Context(), `update hub.jobs set leased_to = now() - interval '1 second' where holder = 'another'`)
	require.NoError(t, err)
	<-job.began
	close(job.end)
	awaitRow(t, db, 0, "the other process's run came first, and then the second")
	require.False(t, job.overlap.Load())
}

// The lease ends although its process goes on: then the run is cancelled, and begins again.
func TestExpiredLease(t *testing.T) {
	t.Parallel()
	db, job := hubtest.Database(t), observe()
	enqueueRun(t, db)
	job.start(t, db, 1)
	<-job.began
	_, err := db.Exec(t.Context(), `update hub.jobs set leased_to = now() - interval '1 second'`)
	require.NoError(t, err)
	require.ErrorContains(t, <-job.cancels, "another process")
	<-job.began
	close(job.end)
	awaitRow(t, db, 0, "the run has ended")
	require.EqualValues(t, 1, job.ended.Load())
}

// While PostgreSQL is away no lease is renewed: the run is cancelled before another process
// could begin, and begins again when PostgreSQL is back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	server, job := hubtest.StartPostgres(t), observe()
	db, err := pgxpool.New(t.Context(), server.URL())
	require.NoError(t, err)
	defer db.Close()
	enqueueRun(t, db)
	job.start(t, db, 2)
	<-job.began
	server.Kill()
	killed := time.Now()
	require.ErrorContains(t, <-job.cancels, "another process")
	require.Less(t, time.Since(killed), leaseTime, "before the lease ends")
	server.Start()
	back := time.Now()
	<-job.began
	t.Logf("runs again %s after PostgreSQL was back", time.Since(back).Round(time.Millisecond))
	require.Less(t, time.Since(back), takeoverTime)
	close(job.end)
	awaitRow(t, db, 0, "the run has ended")
	require.EqualValues(t, 1, job.ended.Load())
	require.False(t, job.overlap.Load())
}

// A run that ends while PostgreSQL is away for a moment is recorded when it is back, and not
// repeated.
func TestResultWhileDatabaseAway(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	server, job := hubtest.StartPostgres(t), observe()
	db, err := pgxpool.New(t.Context(), server.URL())
	require.NoError(t, err)
	defer db.Close()
	enqueueRun(t, db)
	job.start(t, db, 2)
	<-job.began
	began := time.Now()
	server.Kill()
	close(job.end)
	require.Eventually(t, func() bool { return job.ended.Load() == 1 }, busyMachine, tick)
	server.Start()
	away := time.Since(began)
	awaitRow(t, db, 0, "the result is recorded")
	if away < leaseTime/2 {
		require.EqualValues(t, 1, job.ended.Load(), "away for %s", away)
	}
	require.False(t, job.overlap.Load())
}
