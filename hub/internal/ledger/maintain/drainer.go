package maintain

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
)

const (
	drainInterval     = time.Second
	busyDrainInterval = 100 * time.Millisecond // while a target drains
	targetsPerRound   = 100                    // at most, in one transaction
	drainErrorPause   = 10 * time.Second       // before a target whose step failed is worked on again
)

// Drainer sends parked deliveries again by itself. It tries the oldest one of a target
// after 30 s, then after 1, 2, 4, 8 and 15 min, and every 15 min from then on. Once one is
// delivered the rest follow, by priority and then oldest first, a few at a time: live deliveries do not wait
// for the whole backlog. What is parked for a target that is not in use waits until it is,
// and fails when the target is deleted.
//
// Table hub.drains has a row for each such target. Triggers begin a drain when an endpoint
// is enabled or an integration becomes active, whoever changes it.
type Drainer struct {
	pool        *pgxpool.Pool
	log         *slog.Logger
	wake        func(target uuid.UUID)
	countFailed FailureCounter
}

// NewDrainer returns a drainer. It calls wake with each target that has due deliveries, and
// countFailed with deliveries that failed because their endpoint was deleted.
func NewDrainer(pool *pgxpool.Pool, log *slog.Logger, wake func(target uuid.UUID), countFailed FailureCounter) *Drainer {
	return &Drainer{pool: pool, log: log, wake: wake, countFailed: countFailed}
}

// Run drains until ctx ends. Every process may run it: a row lock assigns each target to one
// process at a time.
func (d *Drainer) Run(ctx context.Context) {
	timer := time.NewTimer(drainInterval)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		busy, err := d.DrainOnce(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			d.log.Warn("draining parked deliveries failed; trying again", "error", err)
		}
		failing = err != nil
		wait := drainInterval
		if busy {
			wait = busyDrainInterval
		}
		timer.Reset(wait)
	}
}

// DrainOnce runs one round. busy reports whether a target is due again soon.
func (d *Drainer) DrainOnce(ctx context.Context) (busy bool, err error) {
	var round drainRound
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		drains, err := lockDueDrains(ctx, tx)
		if err != nil {
			return err
		}
		// Read after the locks: whoever puts a target into use from now on finds the row
		// as this round leaves it.
		usage, err := readUsage(ctx, tx, drains)
		if err != nil {
			return err
		}
		for _, drain := range drains {
			if err := d.stepAlone(ctx, tx, drain, usage[drain.target], &round); err != nil {
				return err
			}
		}
		if len(round.requeued) > 0 {
			failpoint.Here("drain_before_commit")
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if len(round.requeued) > 0 {
		failpoint.Here("drain_after_commit")
	}
	for _, target := range round.requeued {
		d.wake(target)
	}
	for product, n := range round.failed {
		d.countFailed(product, n)
	}
	return round.busy, nil
}

// drainRound is what one round did, for after its commit.
type drainRound struct {
	requeued []uuid.UUID
	failed   map[string]int // deliveries, by product
	busy     bool
}

// stepAlone makes a target's step in a transaction of its own: one that fails holds up no
// other.
func (d *Drainer) stepAlone(ctx context.Context, tx pgx.Tx, drain targetDrain, usage targetUsage, round *drainRound) error {
	var outcome drainOutcome
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
		outcome, err = drain.step(ctx, tx, usage)
		return err
	})
	if err != nil && ctx.Err() == nil {
		d.log.Warn("draining a target failed; trying again", "target", drain.target, "error", err)
		outcome = drainOutcome{}
		_, err = tx.Exec(ctx, `update hub.drains set due_at = clock_timestamp() + $2 where target_id = $1`, drain.target, drainErrorPause)
	}
	if err != nil {
		return fmt.Errorf("draining a target: %w", err)
	}
	round.busy = round.busy || outcome.isBusy
	if outcome.requeued > 0 {
		round.requeued = append(round.requeued, drain.target)
	}
	for product, n := range outcome.failed {
		if round.failed == nil {
			round.failed = make(map[string]int)
		}
		round.failed[product] += n
	}
	return nil
}

// lockDueDrains locks the targets that are due longest, and returns them by id: the steps of
// one round lock ordering keys as commits do.
func lockDueDrains(ctx context.Context, tx pgx.Tx) ([]targetDrain, error) {
	rows, err := tx.Query(ctx, `
		select target_id, integration, state, trials, trial_id, suspect_id, since, in_flight, sent, clock_timestamp() - requeued_at,
			delivered_at is not null, parked, cursor, cursor_priority
		from hub.drains where due_at <= now() order by due_at limit $1 for update skip locked`, targetsPerRound)
	if err != nil {
		return nil, fmt.Errorf("looking for parked deliveries: %w", err)
	}
	drains, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t targetDrain, err error) {
		var cursor *uuid.UUID
		var priority hub.Priority
		err = row.Scan(&t.target, &t.isIntegration, &t.state, &t.trials, &t.trial, &t.suspect, &t.since, &t.inFlight, &t.sent, &t.sinceRequeue,
			&t.hasDelivered, &t.parked, &cursor, &priority)
		if cursor != nil {
			t.cursor = &drainCursor{priority, *cursor}
		}
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for parked deliveries: %w", err)
	}
	slices.SortFunc(drains, func(a, b targetDrain) int { return bytes.Compare(a.target[:], b.target[:]) })
	return drains, nil
}

// targetUsage says whether a target takes deliveries.
type targetUsage struct {
	exists bool
	inUse  bool
}

func readUsage(ctx context.Context, tx pgx.Tx, drains []targetDrain) (map[uuid.UUID]targetUsage, error) {
	targets := make([]uuid.UUID, len(drains))
	for i, drain := range drains {
		targets[i] = drain.target
	}
	rows, err := tx.Query(ctx, `
		select id, enabled from hub.endpoints where id = any($1) and deleted_at is null
		union all
		select id, status = 'active' from hub.integrations where id = any($1)`, targets)
	if err != nil {
		return nil, fmt.Errorf("reading which targets are in use: %w", err)
	}
	usage := make(map[uuid.UUID]targetUsage, len(drains))
	var id uuid.UUID
	var inUse bool
	if _, err = pgx.ForEachRow(rows, []any{&id, &inUse}, func() error {
		usage[id] = targetUsage{exists: true, inUse: inUse}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("reading which targets are in use: %w", err)
	}
	return usage, nil
}
