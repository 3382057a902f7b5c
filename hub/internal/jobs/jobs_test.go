package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/jobs"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// bundle is one product with a job that does what the test says.
type bundle struct {
	t       *testing.T
	db      *pgxpool.Pool
	clock   *hubtest.Clock
	job     module.Job
	ran     []string
	fail    error
	runner1 *jobs.Runner
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: hubtest.Database(t), clock: hubtest.NewClock(time.Now().UTC().Truncate(time.Second))}
	require.NoError(t, dbgen.New(b.db).UpsertHostedProduct(context.Background(), dbgen.UpsertHostedProductParams{Name: "clinic", Prefix: "cli", Title: "Clinic"}))
	b.job = module.Job{Name: "work", Run: func(_ context.Context, payload []byte) error {
		b.ran = append(b.ran, string(payload))
		return b.fail
	}}
	b.runner1 = b.runner()
	return b
}

func (b *bundle) runner() *jobs.Runner {
	return jobs.NewRunner(b.db, "clinic", []module.Job{b.job}, slog.New(slog.DiscardHandler), b.clock.Now)
}

func (b *bundle) enqueue(key, payload string, in time.Duration) {
	b.t.Helper()
	require.NoError(b.t, pgx.BeginFunc(context.Background(), b.db, func(tx pgx.Tx) error {
		run := module.JobRun{Job: "work", Key: key, Payload: []byte(payload)}
		if in > 0 {
			run.At = b.clock.Now().Add(in)
		}
		return jobs.Queue{Product: "clinic", Now: b.clock.Now}.Enqueue(context.Background(), tx, run)
	}))
}

// later advances the clock, runs what is due and returns what has run since.
func (b *bundle) later(d time.Duration) []string {
	b.t.Helper()
	b.clock.Advance(d)
	b.ran = nil
	require.NoError(b.t, b.runner1.RunDue(context.Background(), b.job))
	return b.ran
}

func TestJobsRunWhenDueOneOfAKeyAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue("", "now", 0)
	b.enqueue("", "later", time.Hour)
	b.enqueue("k", "first", 0)
	b.enqueue("k", "second", 0)
	require.ElementsMatch(t, []string{"now", "first"}, b.later(0), "of those with one key the first waits")
	require.Empty(t, b.later(time.Hour-time.Second))
	require.Equal(t, []string{"later"}, b.later(time.Second))
	b.enqueue("k", "third", 0)
	require.Equal(t, []string{"third"}, b.later(0), "the key is free again")
	require.Empty(t, b.later(24*time.Hour))
}

// What fails is repeated, waiting longer each time; a panic is a failure.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fail = errors.New("no luck")
	b.enqueue("", "x", 0)
	require.Len(t, b.later(0), 1)
	for _, seconds := range []int{5, 10, 20, 40, 80, 160, 320, 640, 900, 900} {
		wait := time.Duration(seconds) * time.Second
		require.Empty(t, b.later(wait-time.Second), "not before %s", wait)
		require.Len(t, b.later(time.Second), 1, "after %s", wait)
	}
	b.fail = nil
	require.Len(t, b.later(15*time.Minute), 1)
	require.Empty(t, b.later(time.Hour))

	b.job.Run = func(context.Context, []byte) error { panic("oh") }
	b.enqueue("", "x", 0)
	require.Empty(t, b.later(0))
	var lastError string
	require.NoError(t, b.db.QueryRow(context.Background(), `select last_error from hub.jobs`).Scan(&lastError))
	require.Contains(t, lastError, "panic")
}

// What an error quotes may be no text to PostgreSQL, or be cut within a character.
func TestErrorsThatAreNoText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue("", "x", 0)
	for _, text := range []string{"a\x00b", "a\xffb", "a" + strings.Repeat("é", 300)} {
		b.fail = errors.New(text)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		b.clock.Advance(time.Hour)
		require.NoError(t, b.runner1.RunDue(ctx, b.job), "%q", text)
		cancel()
		var lastError string
		require.NoError(t, b.db.QueryRow(context.Background(), `select last_error from hub.jobs`).Scan(&lastError))
		require.True(t, utf8.ValidString(lastError), "%q", lastError)
		require.Equal(t, "a", lastError[:1])
		require.LessOrEqual(t, len(lastError), 500)
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.job.Every = time.Hour
	require.Len(t, b.later(0), 1)
	require.Empty(t, b.later(time.Hour-time.Second))
	require.Len(t, b.later(time.Second), 1)
	require.Len(t, b.later(10*time.Hour), 1, "what was missed is not made up for")
}

// queryCounter counts queries.
type queryCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c *queryCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*queryCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A running runner finds what is due of every job, however many there are, with one query a
// second for all of them.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	settings, counter := b.db.Config(), &queryCounter{}
	settings.ConnConfig.Tracer = counter
	db, err := pgxpool.NewWithConfig(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	ran := make(chan string, 100)
	list := []module.Job{b.job}
	list[0].Run = func(_ context.Context, payload []byte) error {
		ran <- string(payload)
		return nil
	}
	for n := range 19 {
		list = append(list, module.Job{Name: fmt.Sprintf("repeats-%d", n), Every: time.Hour, Run: func(context.Context, []byte) error {
			ran <- "repeats"
			return nil
		}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { jobs.NewRunner(db, "clinic", list, slog.New(slog.DiscardHandler), time.Now).Run(ctx) })
	for range 19 {
		require.Equal(t, "repeats", <-ran, "each was planned and has run")
	}
	require.Eventually(t, func() bool {
		var ended int
		require.NoError(t, b.db.QueryRow(t.Context(), `select count(*) from hub.jobs where repeats and leased_to is null and due_at > now()`).Scan(&ended))
		return ended == 19
	}, time.Minute, 10*time.Millisecond)
	b.clock = hubtest.NewClock(time.Now())
	began := time.Now()
	before := counter.n.Load()
	for n := range 5 {
		b.enqueue("", fmt.Sprint(n), 0)
		require.Equal(t, fmt.Sprint(n), <-ran)
	}
	asked, seconds := counter.n.Load()-before, int64(time.Since(began)/time.Second)+1
	require.LessOrEqual(t, asked, 6*5+19+7+seconds, "the runs, what each repeating job looks for after its own, and one look a second")
	cancel()
	running.Wait()
}

// A job of every process is run by each of them, and again after a failure.
func TestJobOfEveryProcess(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	ran := make(chan string)
	for _, name := range []string{"a", "b"} {
		job := module.Job{Name: "work", Every: time.Millisecond, EveryProcess: true, Run: func(ctx context.Context, _ []byte) error {
			select {
			case ran <- name:
			case <-ctx.Done():
			}
			panic("the job is broken")
		}}
		runner := jobs.NewRunner(db, "clinic", []module.Job{job}, slog.New(slog.DiscardHandler), time.Now)
		go runner.Run(t.Context())
	}
	count := map[string]int{}
	for count["a"] < 3 || count["b"] < 3 {
		count[<-ran]++
	}
	var rows int
	require.NoError(t, db.QueryRow(t.Context(), `select count(*) from hub.jobs`).Scan(&rows))
	require.Zero(t, rows)
}
