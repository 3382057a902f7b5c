package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/ledger/query"
)

const (
	replayBatch       = 500
	maxReplayAhead    = 1000   // deliveries of a replay that are pending and were not attempted
	maxReplayOpen     = 20_000 // that are pending, those that wait for a retry included
	replayPoll        = 250 * time.Millisecond
	replayIdlePause   = time.Second // between two steps while there is nothing to make pending
	replayPause       = 200 * time.Millisecond
	maxReplaysInARow  = 100        // steps without a look at cancelled replays
	cancelledInterval = replayPoll // between two looks at cancelled replays

	// A replay that fails is tried again after 1 s, 2 s, 4 s, … 1 min, for about eight
	// minutes in all.
	replayTries        = 13
	longestReplayPause = time.Minute
	maxErrorLength     = 500 // bytes of a stored error
)

// Run runs replays until ctx ends.
func (s *Replays) Run(ctx context.Context) {
	tick := time.NewTicker(replayPoll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		more, err := s.look(ctx)
		for n := 0; err == nil && more && n < maxReplaysInARow && ctx.Err() == nil; n++ {
			more, err = s.step(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("running replays failed; trying again", "error", err)
		}
		failing = err != nil
	}
}

// look takes back what cancelled replays made pending, and reports whether a replay is due to
// run. Mostly there is neither: one query says so, without a transaction.
func (s *Replays) look(ctx context.Context) (isDue bool, err error) {
	var wasCancelled bool
	err = s.pool.QueryRow(ctx, `
		select exists (select from hub.replays r join hub.replay_deliveries d on d.replay_id = r.id where r.status = 'cancelled'),
			exists (select from hub.replays where status = 'running' and (due_at is null or due_at <= now()))`).Scan(&wasCancelled, &isDue)
	if err != nil {
		return false, fmt.Errorf("looking for replays: %w", err)
	}
	if wasCancelled {
		err = s.parkAllCancelled(ctx)
	}
	return isDue, err
}

// step makes one step of the running replay that is due longest: it counts what was
// settled and makes the next deliveries pending, as far as those before were sent. Counts,
// deliveries and cursor change in one transaction. A replay that fails waits longer each
// time, so that the others get their turn. more reports whether a replay was due.
func (s *Replays) step(ctx context.Context) (more bool, err error) {
	var job replayJob
	var batch requeuedBatch
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			select id, kind, filter, cursor, upto, created_at, sent_all from hub.replays
			where status = 'running' and (due_at is null or due_at <= now()) order by due_at nulls first, id limit 1 for update skip locked`).
			Scan(&job.id, &job.kind, &job.filter, &job.cursor, &job.upto, &job.asOf, &job.hasSentAll)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("locking a replay: %w", err)
		}
		more = true
		batch, err = job.step(ctx, tx)
		return err
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
	id, upto   uuid.UUID
	kind       ReplayKind
	filter     []byte
	cursor     *uuid.UUID
	asOf       time.Time // when it was created
	hasSentAll bool
}

func (j *replayJob) step(ctx context.Context, tx pgx.Tx) (batch requeuedBatch, err error) {
	settled, err := countSettled(ctx, tx, j.id)
	if err != nil {
		return batch, err
	}
	open, ahead, err := countOpen(ctx, tx, j.id)
	if err != nil {
		return batch, err
	}
	if room := min(replayBatch, maxReplayAhead-ahead, maxReplayOpen-open); room > 0 && !j.hasSentAll {
		if batch, err = j.send(ctx, tx, room); err != nil {
			return batch, err
		}
		j.hasSentAll = batch.matched == 0
		if err := trackReplayed(ctx, tx, j.id, batch.requeued); err != nil {
			return batch, err
		}
		settled.failed += batch.unsendable
		open += len(batch.requeued)
	}
	return batch, j.advance(ctx, tx, batch, settled, j.hasSentAll && open == 0)
}

// send makes up to limit of the job's next deliveries pending.
func (j *replayJob) send(ctx context.Context, tx pgx.Tx, limit int) (requeuedBatch, error) {
	var f ReplayFilter
	if err := json.Unmarshal(j.filter, &f); err != nil {
		return requeuedBatch{}, fmt.Errorf("reading the filter: %w", err)
	}
	if j.kind == KindRecover {
		return j.recover(ctx, tx, f, limit)
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
	return requeueBatch(ctx, tx, c, limit)
}

// advance records a step. A delivery that another transaction was settling while the job
// was counted may exceed the total.
func (j *replayJob) advance(ctx context.Context, tx pgx.Tx, b requeuedBatch, settled settledCounts, isDone bool) error {
	pause := replayIdlePause
	if b.matched > 0 {
		pause = replayPause
		j.cursor = &b.last
	}
	_, err := tx.Exec(ctx, `
		update hub.replays set cursor = $2, sent_all = $3, delivered = delivered + $4, parked = parked + $5, failed = failed + $6, done = done + $7,
			total = greatest(total, done + $7), failures = 0, error = null, due_at = clock_timestamp() + $8,
			status = case when $9 then 'done' else status end, finished_at = case when $9 then now() end
		where id = $1`,
		j.id, j.cursor, j.hasSentAll, settled.delivered, settled.parked, settled.failed, settled.delivered+settled.parked+settled.failed, pause, isDone)
	if err != nil {
		return fmt.Errorf("advancing a replay: %w", err)
	}
	return nil
}

// settledCounts says what became of deliveries.
type settledCounts struct{ delivered, parked, failed int }

// countSettled counts the deliveries of a replay that were settled since the last time.
// Those whose retention has ended meanwhile count as failed; those that its end parked count
// as parked.
func countSettled(ctx context.Context, tx pgx.Tx, replay uuid.UUID) (c settledCounts, err error) {
	err = tx.QueryRow(ctx, `
		with settled as (
			select r.delivery_id, d.status from hub.replay_deliveries r left join hub.deliveries d on d.id = r.delivery_id
			where r.replay_id = $1 and d.status is distinct from 0),
		counted as (
			delete from hub.replay_deliveries r using settled s where r.replay_id = $1 and r.delivery_id = s.delivery_id returning s.status)
		select count(*) filter (where status = 1), count(*) filter (where status = 2), count(*) filter (where status = 3 or status is null) from counted`,
		replay).Scan(&c.delivered, &c.parked, &c.failed)
	if err != nil {
		return c, fmt.Errorf("counting what a replay sent: %w", err)
	}
	return c, nil
}

// unattemptedSQL is true of pending deliveries d that were not attempted in this round.
const unattemptedSQL = `d.status = 0 and d.spent = 0 and d.next_attempt_at is null`

// countOpen counts the deliveries of a replay that are pending, and those of them that were
// not attempted.
func countOpen(ctx context.Context, tx pgx.Tx, replay uuid.UUID) (open, ahead int, err error) {
	err = tx.QueryRow(ctx, `
		select count(*), count(*) filter (where `+unattemptedSQL+`)
		from hub.replay_deliveries r join hub.deliveries d on d.id = r.delivery_id where r.replay_id = $1`, replay).Scan(&open, &ahead)
	if err != nil {
		return 0, 0, fmt.Errorf("counting what a replay waits for: %w", err)
	}
	return open, ahead, nil
}

func trackReplayed(ctx context.Context, tx pgx.Tx, replay uuid.UUID, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into hub.replay_deliveries (replay_id, delivery_id) select $1, id from unnest($2::uuid[]) u(id)`, replay, ids)
	if err != nil {
		return fmt.Errorf("recording what a replay sends: %w", err)
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
			due_at = now() + least($3::float8, 2 ^ failures) * interval '1 second',
			status = case when failures + 1 >= $4 then 'failed' else status end,
			finished_at = case when failures + 1 >= $4 then now() end
		where id = $1 and status = 'running'`, id, message, longestReplayPause.Seconds(), replayTries)
	if err != nil {
		return fmt.Errorf("recording a replay's failure: %w", err)
	}
	return nil
}

// Cancel stops one of the owner's running replays; one that has ended stays as it is. What it made pending
// and what was not attempted is parked: at once where no process has it, else by that
// process within a second.
func (s *Replays) Cancel(ctx context.Context, id uuid.UUID, owner query.Owner) (Replay, error) {
	if _, err := s.Get(ctx, id, owner); err != nil {
		return Replay{}, err
	}
	_, err := s.pool.Exec(ctx, `
		update hub.replays set status = 'cancelled', finished_at = now() where id = $1 and status = 'running'`, id)
	if err == nil {
		err = s.parkCancelled(ctx, id)
	}
	if err != nil {
		return Replay{}, fmt.Errorf("cancelling a replay: %w", err)
	}
	return s.Get(ctx, id, owner)
}

// parkAllCancelled parks what cancelled replays, whoever cancelled them, made pending and
// no process has attempted.
func (s *Replays) parkAllCancelled(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `
		select r.id, d.delivery_id from hub.replays r join hub.replay_deliveries d on d.replay_id = r.id where r.status = 'cancelled'`)
	if err != nil {
		return fmt.Errorf("looking for cancelled replays: %w", err)
	}
	replays := make(map[uuid.UUID]bool)
	var deliveries []uuid.UUID
	var replay, id uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&replay, &id}, func() error {
		replays[replay] = true
		deliveries = append(deliveries, id)
		return nil
	}); err != nil {
		return fmt.Errorf("looking for cancelled replays: %w", err)
	}
	if len(deliveries) > 0 && s.parkQueued != nil {
		s.parkQueued(deliveries)
	}
	for id := range replays {
		if err := s.parkCancelled(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// parkCancelled parks those deliveries of a cancelled replay that wait in the database, and
// counts what was settled. A drain sends those with a place in an order. Its other deliveries are looked at again until they are settled.
func (s *Replays) parkCancelled(ctx context.Context, id uuid.UUID) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `select from hub.replays where id = $1 and status = 'cancelled' for update skip locked`, id)
		if err != nil {
			return fmt.Errorf("locking a replay: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil // it was not cancelled, or another process works on it
		}
		_, err = tx.Exec(ctx, `
			with waiting as (
				select d.id from hub.replay_deliveries r join hub.deliveries d on d.id = r.delivery_id
				where r.replay_id = $1 and `+unattemptedSQL+` and d.due_at <= now() order by d.id for update of d skip locked),
			moved as (
				update hub.deliveries d set status = 2, reason = '`+delivery.ReasonReplayCancelled+`', parked_at = coalesce(d.parked_at, now()), finished_at = now()
				from waiting w where d.id = w.id returning d.tenant_id, d.target_id, d.product, d.integration, d.ordering_key),
			drained as (
				insert into hub.drains (target_id, integration, state, due_at)
				select t.target_id, t.integration, 'waiting', now() + `+ledger.FirstTrialWaitSQL+` from (select distinct target_id, integration from moved where ordering_key is not null) t
				where not exists (select from hub.drains d where d.target_id = t.target_id and d.state <> 'settling')
				order by t.target_id
				on conflict (target_id) do update set state = 'waiting', due_at = excluded.due_at, trials = 0 where drains.state = 'settling')
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, parked)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4`, id)
		if err != nil {
			return fmt.Errorf("parking what a cancelled replay sent: %w", err)
		}
		settled, err := countSettled(ctx, tx, id)
		if err != nil || settled == (settledCounts{}) {
			return err
		}
		_, err = tx.Exec(ctx, `
			update hub.replays set delivered = delivered + $2, parked = parked + $3, failed = failed + $4, done = done + $5, total = greatest(total, done + $5)
			where id = $1`, id, settled.delivered, settled.parked, settled.failed, settled.delivered+settled.parked+settled.failed)
		if err != nil {
			return fmt.Errorf("counting what a replay sent: %w", err)
		}
		return nil
	})
}
