package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
)

// Replay is a job that puts every matching delivery back to pending.
type Replay struct {
	ID         uuid.UUID  `json:"id" format:"uuid"`
	Filter     Filter     `json:"filter"`
	Status     string     `json:"status" enum:"running,done,cancelled,failed"`
	Total      int64      `json:"total" doc:"Deliveries that matched when the job began"`
	Done       int64      `json:"done" doc:"Deliveries put back so far"`
	Failed     int64      `json:"failed" doc:"Deliveries that cannot be sent again: payload gone, or endpoint disabled or deleted"`
	Error      *string    `json:"error"`
	CreatedBy  string     `json:"created_by"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

const (
	replayBatch = 500
	replayPoll  = time.Second
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

// Replays makes, shows and works off replays. Any process may work on one: it
// takes a lease and moves a cursor, so a restart goes on where the last one stopped.
type Replays struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time
	kick func(target uuid.UUID)
}

// NewReplays makes the replay service; kick is told of targets that have work.
func NewReplays(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, kick func(uuid.UUID)) *Replays {
	return &Replays{pool: pool, log: log, now: now, kick: kick}
}

// Count tells exactly how many settled deliveries a filter matches now.
func (s *Replays) Count(ctx context.Context, f Filter) (int64, error) {
	return s.count(ctx, f, logid.Floor(s.now().Add(time.Second)))
}

func (s *Replays) count(ctx context.Context, f Filter, upto uuid.UUID) (int64, error) {
	c, ok, err := f.conditions(ctx, s.pool)
	if err != nil || !ok {
		return 0, err
	}
	c.add("d.status <> 0")
	c.add("d.id <= ?", upto)
	var n int64
	if err := s.pool.QueryRow(ctx, `select count(*) from hub.deliveries d where `+c.where(), c.args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting deliveries: %w", err)
	}
	return n, nil
}

// Create starts a replay of what matches now.
func (s *Replays) Create(ctx context.Context, f Filter, by string) (Replay, error) {
	upto := logid.Floor(s.now().Add(time.Second))
	total, err := s.count(ctx, f, upto)
	if err != nil {
		return Replay{}, err
	}
	filter, err := json.Marshal(f)
	if err != nil {
		return Replay{}, fmt.Errorf("writing the filter: %w", err)
	}
	rows, err := s.pool.Query(ctx, `
		insert into hub.replays (id, filter, status, total, upto, created_by)
		values ($1, $2, 'running', $3, $4, $5) returning `+replayColumns, logid.New(s.now()), filter, total, upto, by)
	return oneReplay(rows, err)
}

// Get reads one replay.
func (s *Replays) Get(ctx context.Context, id uuid.UUID) (Replay, error) {
	rows, err := s.pool.Query(ctx, `select `+replayColumns+` from hub.replays where id = $1`, id)
	return oneReplay(rows, err)
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

// List gives the newest replays, older than before where it is set.
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

func oneReplay(rows pgx.Rows, err error) (Replay, error) {
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	replay, err := pgx.CollectExactlyOneRow(rows, scanReplay)
	if notFound(err) {
		return Replay{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such replay.")
	}
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	return replay, nil
}

// Run works off replays until ctx ends.
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
				s.log.Warn("working off a replay failed; trying again", "error", err)
				more = false
			}
		}
	}
}

// step handles one batch of one running replay: the batch and the cursor move in
// one transaction. It tells whether there may be more to do.
func (s *Replays) step(ctx context.Context) (more bool, err error) {
	var batch requeued
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var id, upto uuid.UUID
		var cursor *uuid.UUID
		var raw []byte
		err := tx.QueryRow(ctx, `
			select id, filter, cursor, upto from hub.replays
			where status = 'running' order by id limit 1 for update skip locked`).Scan(&id, &raw, &cursor, &upto)
		if notFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("taking a replay: %w", err)
		}
		more = true
		var f Filter
		if err := json.Unmarshal(raw, &f); err != nil {
			return fail(ctx, tx, id, err)
		}
		c, ok, err := f.conditions(ctx, tx)
		if err != nil {
			return err
		}
		if ok {
			c.add("d.id <= ?", upto)
			if cursor != nil {
				c.add("d.id > ?", *cursor)
			}
			if batch, err = requeueBatch(ctx, tx, plan{conditions: c}, replayBatch); err != nil {
				return err
			}
		}
		return advance(ctx, tx, id, batch)
	})
	if err != nil {
		return false, err
	}
	for target := range batch.targets {
		s.kick(target)
	}
	return more, nil
}

func advance(ctx context.Context, tx pgx.Tx, id uuid.UUID, b requeued) error {
	var err error
	if b.seen == 0 {
		_, err = tx.Exec(ctx, `update hub.replays set status = 'done', finished_at = now() where id = $1`, id)
	} else {
		_, err = tx.Exec(ctx, `update hub.replays set cursor = $2, done = done + $3, failed = failed + $4 where id = $1`,
			id, b.last, b.seen-b.gone, b.gone)
	}
	if err != nil {
		return fmt.Errorf("moving a replay on: %w", err)
	}
	return nil
}

func fail(ctx context.Context, tx pgx.Tx, id uuid.UUID, cause error) error {
	_, err := tx.Exec(ctx, `update hub.replays set status = 'failed', error = $2, finished_at = now() where id = $1`, id, cause.Error())
	if err != nil {
		return fmt.Errorf("ending a replay: %w", err)
	}
	return nil
}
