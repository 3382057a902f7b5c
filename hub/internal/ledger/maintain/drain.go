package maintain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
)

const (
	drainInterval         = time.Second
	busyDrainInterval     = 100 * time.Millisecond // while an integration drains
	maxPendingDuringDrain = 8                      // of one integration: live deliveries queue behind these only
	integrationsPerRound  = 100                    // at most, in one transaction
)

// Drainer makes parked deliveries of integrations pending again: all of them, oldest
// first, once the peer is well. If the peer is well and its webhook is not, it tries one
// delivery every five minutes until one succeeds, and then drains the rest. Only a few
// are pending at a time, so that live deliveries do not wait for the whole backlog.
type Drainer struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	wake func(target uuid.UUID)
}

// NewDrainer returns a drainer. It calls wake with each integration that has due deliveries.
func NewDrainer(pool *pgxpool.Pool, log *slog.Logger, wake func(target uuid.UUID)) *Drainer {
	return &Drainer{pool: pool, log: log, wake: wake}
}

// Run drains until ctx ends. Every process may run it: a row lock gives each integration to
// one process at a time.
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

// parkedPeer is an integration that has, or may have, parked deliveries.
type parkedPeer struct {
	id            uuid.UUID
	drainingSince *time.Time
	trialID       *uuid.UUID // under way
}

// DrainOnce runs one round. busy reports whether an integration is draining.
func (d *Drainer) DrainOnce(ctx context.Context) (busy bool, err error) {
	var requeued []uuid.UUID
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select id, draining_since, trial_id from hub.integrations
			where status = 'active' and (draining_since is not null or trial_at <= now()) and (draining_since is not null or trial_at is not null)
			order by id limit $1 for update skip locked`, integrationsPerRound)
		if err != nil {
			return fmt.Errorf("looking for parked deliveries: %w", err)
		}
		peers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p parkedPeer, err error) {
			return p, row.Scan(&p.id, &p.drainingSince, &p.trialID)
		})
		if err != nil {
			return fmt.Errorf("looking for parked deliveries: %w", err)
		}
		for _, peer := range peers {
			n, err := d.step(ctx, tx, peer)
			if err != nil {
				return err
			}
			busy = busy || peer.drainingSince != nil
			if n > 0 {
				requeued = append(requeued, peer.id)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, target := range requeued {
		d.wake(target)
	}
	return busy, nil
}

// step advances one integration and returns how many deliveries it requeued.
func (d *Drainer) step(ctx context.Context, tx pgx.Tx, peer parkedPeer) (int, error) {
	if peer.drainingSince != nil {
		return d.drain(ctx, tx, peer)
	}
	if peer.trialID != nil {
		return 0, d.checkTrial(ctx, tx, peer)
	}
	trial, err := d.requeueParked(ctx, tx, peer.id, time.Now().AddDate(1, 0, 0), "finished_at", 1)
	if err != nil {
		return 0, err
	}
	if len(trial) == 0 {
		return 0, d.updateIntegration(ctx, tx, peer.id, `trial_at = null`)
	}
	// checkTrial runs every second until it is settled.
	return 1, d.updateIntegration(ctx, tx, peer.id, `trial_id = $2`, trial[0])
}

// drain requeues up to maxPendingDuringDrain deliveries. It ends the drain when none is left.
func (d *Drainer) drain(ctx context.Context, tx pgx.Tx, peer parkedPeer) (int, error) {
	var pending int
	err := tx.QueryRow(ctx, `
		select count(*) from (select from hub.deliveries where status = 0 and target_id = $1 limit $2) d`, peer.id, maxPendingDuringDrain).Scan(&pending)
	if err != nil {
		return 0, fmt.Errorf("counting an integration's pending deliveries: %w", err)
	}
	if pending >= maxPendingDuringDrain {
		return 0, nil
	}
	requeued, err := d.requeueParked(ctx, tx, peer.id, *peer.drainingSince, "id", maxPendingDuringDrain-pending)
	if err != nil || len(requeued) > 0 {
		return len(requeued), err
	}
	return 0, d.updateIntegration(ctx, tx, peer.id, `draining_since = null`)
}

// checkTrial starts a drain if the trial was delivered, and schedules another trial if not.
func (d *Drainer) checkTrial(ctx context.Context, tx pgx.Tx, peer parkedPeer) error {
	var status delivery.Status
	err := tx.QueryRow(ctx, `select status from hub.deliveries where id = $1`, *peer.trialID).Scan(&status)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("reading a trial: %w", err)
	case err == nil && status == delivery.Pending:
		return nil
	case err == nil && status == delivery.Delivered:
		return d.updateIntegration(ctx, tx, peer.id, `draining_since = now(), trial_at = null, trial_id = null`)
	default:
		return d.updateIntegration(ctx, tx, peer.id, `trial_at = now() + `+ledger.TrialWait+`, trial_id = null`)
	}
}

func (d *Drainer) updateIntegration(ctx context.Context, tx pgx.Tx, id uuid.UUID, assignments string, args ...any) error {
	_, err := tx.Exec(ctx, `update hub.integrations set `+assignments+` where id = $1`, append([]any{id}, args...)...)
	if err != nil {
		return fmt.Errorf("updating an integration's drain: %w", err)
	}
	return nil
}

// requeueParked makes parked deliveries of an integration pending again, in the order of
// the column. It returns their ids.
func (d *Drainer) requeueParked(ctx context.Context, tx pgx.Tx, id uuid.UUID, before time.Time, column string, limit int) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, `
		with sendable as (
			select d.id from hub.deliveries d
			where d.target_id = $1 and d.status = 2 and d.integration and d.finished_at < $2
			order by d.`+column+` limit $3 for update skip locked),
		kept as (`+moveFirstAttemptSQL+`)
		update hub.deliveries d `+setPendingSQL+` from sendable s where d.id = s.id returning d.id`, id, before, limit)
	if err != nil {
		return nil, fmt.Errorf("requeueing parked deliveries: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("requeueing parked deliveries: %w", err)
	}
	return ids, nil
}
