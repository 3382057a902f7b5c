package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// Replay is a job that makes every matching delivery pending again.
type Replay struct {
	ID         uuid.UUID    `json:"id" format:"uuid"`
	Filter     query.Filter `json:"filter"`
	Status     string       `json:"status" enum:"running,done,cancelled,failed"`
	Total      int64        `json:"total" doc:"Deliveries that matched when the job began; done and failed never exceed it"`
	Done       int64        `json:"done" doc:"Deliveries put back so far"`
	Failed     int64        `json:"failed" doc:"Deliveries that cannot be sent again: payload erased or gone, or endpoint disabled or deleted"`
	Error      *string      `json:"error" doc:"Why the last try failed: it is tried again while the replay is running"`
	CreatedBy  string       `json:"created_by"`
	CreatedAt  time.Time    `json:"created_at"`
	FinishedAt *time.Time   `json:"finished_at"`
}

const (
	replayBatch = 500
	replayPoll  = time.Second

	// A replay that fails is tried again after 1 s, 2 s, 4 s, … 1 min, for about eight
	// minutes in all.
	replayTries        = 13
	longestReplayPause = time.Minute
	maxErrorLength     = 500 // bytes of a stored error
)

const replayColumns = `id, filter, status, total, done, failed, error, created_by, created_at, finished_at`

func scanReplay(row pgx.CollectableRow) (Replay, error) {
	var r Replay
	var filter []byte
	if err := row.Scan(&r.ID, &filter, &r.Status, &r.Total, &r.Done, &r.Failed, &r.Error, &r.CreatedBy, &r.CreatedAt, &r.FinishedAt); err != nil {
		return r, err
	}
	return r, json.Unmarshal(filter, &r.Filter)
}

// Replays creates, lists and runs replays. Any process may work on a replay: a row lock and
// a cursor let another process continue where one stopped.
type Replays struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time
	wake func(target uuid.UUID)
}

// NewReplays returns the replay service. It calls wake with each target that has due deliveries.
func NewReplays(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, wake func(uuid.UUID)) *Replays {
	return &Replays{pool: pool, log: log, now: now, wake: wake}
}

// Count returns how many settled deliveries a filter matches now.
func (s *Replays) Count(ctx context.Context, f query.Filter) (int64, error) {
	return count(ctx, s.pool, f, s.upperBound())
}

// upperBound returns the upper id bound of a new replay, with one second for clock skew.
// finished_at decides membership.
func (s *Replays) upperBound() uuid.UUID { return logid.Floor(s.now().Add(time.Second)) }

func count(ctx context.Context, db query.DB, f query.Filter, upto uuid.UUID) (int64, error) {
	c, ok, err := f.Conditions(ctx, db)
	if err != nil || !ok {
		return 0, err
	}
	c.Add("d.status <> 0 and not d.inbound and d.finished_at <= now()")
	c.Add("d.id <= ?", upto)
	var n int64
	if err := db.QueryRow(ctx, `select count(*) from hub.deliveries d where `+c.Where(), c.Args()...).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting deliveries: %w", err)
	}
	return n, nil
}

// Create starts a replay of what matches now: deliveries that are settled later do not
// belong to it. One transaction counts and creates it, so that both see the same log.
func (s *Replays) Create(ctx context.Context, f query.Filter, by string) (replay Replay, err error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return Replay{}, fmt.Errorf("writing the filter: %w", err)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		upto := s.upperBound()
		total, err := count(ctx, tx, f, upto)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			insert into hub.replays (id, filter, status, total, upto, created_by, created_at)
			values ($1, $2, 'running', $3, $4, $5, now()) returning `+replayColumns, logid.New(s.now()), filter, total, upto, by)
		replay, err = collectReplay(rows, err)
		return err
	})
	return replay, err
}

// Get reads one replay.
func (s *Replays) Get(ctx context.Context, id uuid.UUID) (Replay, error) {
	rows, err := s.pool.Query(ctx, `select `+replayColumns+` from hub.replays where id = $1`, id)
	return collectReplay(rows, err)
}

// Cancel stops a running replay; one that has ended stays as it is.
func (s *Replays) Cancel(ctx context.Context, id uuid.UUID) (Replay, error) {
	_, err := s.pool.Exec(ctx, `
		update hub.replays set status = 'cancelled', finished_at = now() where id = $1 and status = 'running'`, id)
	if err != nil {
		return Replay{}, fmt.Errorf("cancelling a replay: %w", err)
	}
	return s.Get(ctx, id)
}

// List returns the newest replays, older than before where it is set.
func (s *Replays) List(ctx context.Context, before *uuid.UUID, limit int) ([]Replay, error) {
	rows, err := s.pool.Query(ctx, `
		select `+replayColumns+` from hub.replays where $1::uuid is null or id < $1 order by id desc limit $2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("listing replays: %w", err)
	}
	replays, err := pgx.CollectRows(rows, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("listing replays: %w", err)
	}
	return replays, nil
}

func collectReplay(rows pgx.Rows, err error) (Replay, error) {
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	replay, err := pgx.CollectExactlyOneRow(rows, scanReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		return Replay{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such replay.")
	}
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	return replay, nil
}

// Run runs replays until ctx ends.
func (s *Replays) Run(ctx context.Context) {
	tick := time.NewTicker(replayPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = s.step(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("running replays failed; trying again", "error", err)
				more = false
			}
		}
	}
}

// step handles one batch of one running replay: the batch and the cursor move in one
// transaction. A replay that fails waits longer each time, so that the others get their
// turn. more reports whether there may be more to do.
func (s *Replays) step(ctx context.Context) (more bool, err error) {
	var job replayJob
	var batch requeuedBatch
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			select id, filter, cursor, upto, created_at from hub.replays
			where status = 'running' and (retry_at is null or retry_at <= now()) order by id limit 1 for update skip locked`).
			Scan(&job.id, &job.filter, &job.cursor, &job.upto, &job.asOf)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("locking a replay: %w", err)
		}
		more = true
		if batch, err = job.handle(ctx, tx); err != nil {
			return err
		}
		return advanceReplay(ctx, tx, job.id, batch)
	})
	if err != nil {
		if job.id == uuid.Nil || ctx.Err() != nil {
			return false, err
		}
		s.log.Warn("running a replay failed", "replay", job.id, "error", err)
		return true, s.recordFailure(ctx, job.id, err)
	}
	for target := range batch.targets {
		s.wake(target)
	}
	return more, nil
}

// replayJob is the part of a replay that a step reads.
type replayJob struct {
	id, upto uuid.UUID
	filter   []byte
	cursor   *uuid.UUID
	asOf     time.Time // when it was created
}

// handle requeues the job's next deliveries.
func (j *replayJob) handle(ctx context.Context, tx pgx.Tx) (requeuedBatch, error) {
	var f query.Filter
	if err := json.Unmarshal(j.filter, &f); err != nil {
		return requeuedBatch{}, fmt.Errorf("reading the filter: %w", err)
	}
	c, ok, err := f.Conditions(ctx, tx)
	if err != nil || !ok {
		return requeuedBatch{}, err
	}
	c.Add("d.id <= ?", j.upto)
	c.Add("d.finished_at <= ?", j.asOf)
	if j.cursor != nil {
		c.Add("d.id > ?", *j.cursor)
	}
	return requeueBatch(ctx, tx, c, replayBatch)
}

// advanceReplay records a batch. A delivery that another transaction was settling while the job
// was counted may exceed the total.
func advanceReplay(ctx context.Context, tx pgx.Tx, id uuid.UUID, b requeuedBatch) error {
	var err error
	if b.matched == 0 {
		_, err = tx.Exec(ctx, `
			update hub.replays set status = 'done', finished_at = now(), failures = 0, retry_at = null, error = null where id = $1`, id)
	} else {
		_, err = tx.Exec(ctx, `
			update hub.replays set cursor = $2, done = done + $3, failed = failed + $4, total = greatest(total, done + failed + $3 + $4),
				failures = 0, retry_at = null, error = null where id = $1`,
			id, b.last, b.matched-b.unsendable, b.unsendable)
	}
	if err != nil {
		return fmt.Errorf("advancing a replay: %w", err)
	}
	return nil
}

// recordFailure records that a replay's step failed: it is tried later, or the replay fails.
func (s *Replays) recordFailure(ctx context.Context, id uuid.UUID, cause error) error {
	message := cause.Error()
	if len(message) > maxErrorLength {
		message = strings.ToValidUTF8(message[:maxErrorLength], "") + "…"
	}
	_, err := s.pool.Exec(ctx, `
		update hub.replays set error = $2, failures = failures + 1,
			retry_at = now() + least($3::float8, 2 ^ failures) * interval '1 second',
			status = case when failures + 1 >= $4 then 'failed' else status end,
			finished_at = case when failures + 1 >= $4 then now() end
		where id = $1 and status = 'running'`, id, message, longestReplayPause.Seconds(), replayTries)
	if err != nil {
		return fmt.Errorf("recording a replay's failure: %w", err)
	}
	return nil
}
