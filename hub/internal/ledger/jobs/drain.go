package jobs

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
	drainEvery = time.Second
	drainFast  = 100 * time.Millisecond // while something drains
	drainAhead = 8                      // parked deliveries that wait for their turn at once: live ones queue behind these only
	drainRound = 100                    // integrations looked at in one round
)

// Drainer brings parked deliveries of integrations out again: all of them, oldest
// first, when the peer is well again; where the peer is well and its webhook is not,
// one every five minutes until one succeeds, and then the rest. They take their turns
// at the peer's pace with live deliveries, a few at a time, so that these do not wait
// for the whole backlog.
type Drainer struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	wake func(target uuid.UUID)
}

// NewDrainer returns a drainer; wake is told of integrations that have work.
func NewDrainer(pool *pgxpool.Pool, log *slog.Logger, wake func(target uuid.UUID)) *Drainer {
	return &Drainer{pool: pool, log: log, wake: wake}
}

// Run works until ctx ends. Every process may run it: an integration is one's at a time.
func (d *Drainer) Run(ctx context.Context) {
	timer := time.NewTimer(drainEvery)
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
		wait := drainEvery
		if busy {
			wait = drainFast
		}
		timer.Reset(wait)
	}
}

// parkedPeer is an integration that has, or may have, parked deliveries.
type parkedPeer struct {
	id       uuid.UUID
	draining *time.Time
	trial    *uuid.UUID // under way
}

// DrainOnce does what is due now; busy reports whether something drains.
func (d *Drainer) DrainOnce(ctx context.Context) (busy bool, err error) {
	var moved []uuid.UUID
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select id, draining_since, trial_id from hub.integrations
			where status = 'active' and (draining_since is not null or trial_at <= now()) and (draining_since is not null or trial_at is not null)
			order by id limit $1 for update skip locked`, drainRound)
		if err != nil {
			return fmt.Errorf("looking for parked deliveries: %w", err)
		}
		peers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p parkedPeer, err error) {
			return p, row.Scan(&p.id, &p.draining, &p.trial)
		})
		if err != nil {
			return fmt.Errorf("looking for parked deliveries: %w", err)
		}
		for _, peer := range peers {
			n, err := d.step(ctx, tx, peer)
			if err != nil {
				return err
			}
			busy = busy || peer.draining != nil
			if n > 0 {
				moved = append(moved, peer.id)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, target := range moved {
		d.wake(target)
	}
	return busy, nil
}

// step moves one integration on and returns how many deliveries it put back.
func (d *Drainer) step(ctx context.Context, tx pgx.Tx, peer parkedPeer) (int, error) {
	if peer.draining != nil {
		return d.drain(ctx, tx, peer)
	}
	if peer.trial != nil {
		return 0, d.judge(ctx, tx, peer)
	}
	trial, err := d.putBack(ctx, tx, peer.id, time.Now().AddDate(1, 0, 0), "finished_at", 1)
	if err != nil {
		return 0, err
	}
	if len(trial) == 0 {
		return 0, d.set(ctx, tx, peer.id, `trial_at = null`)
	}
	// Looked at again every second while it is under way.
	return 1, d.set(ctx, tx, peer.id, `trial_id = $2`, trial[0])
}

// drain puts back as many as may wait at once; where nothing is left it is over.
func (d *Drainer) drain(ctx context.Context, tx pgx.Tx, peer parkedPeer) (int, error) {
	var waiting int
	err := tx.QueryRow(ctx, `
		select count(*) from (select from hub.deliveries where status = 0 and target_id = $1 limit $2) d`, peer.id, drainAhead).Scan(&waiting)
	if err != nil {
		return 0, fmt.Errorf("counting what waits for an integration: %w", err)
	}
	if waiting >= drainAhead {
		return 0, nil
	}
	back, err := d.putBack(ctx, tx, peer.id, *peer.draining, "id", drainAhead-waiting)
	if err != nil || len(back) > 0 {
		return len(back), err
	}
	return 0, d.set(ctx, tx, peer.id, `draining_since = null`)
}

// judge looks at what became of a trial.
func (d *Drainer) judge(ctx context.Context, tx pgx.Tx, peer parkedPeer) error {
	var status delivery.Status
	err := tx.QueryRow(ctx, `select status from hub.deliveries where id = $1`, *peer.trial).Scan(&status)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("looking at a trial: %w", err)
	case err == nil && status == delivery.Pending:
		return nil
	case err == nil && status == delivery.Delivered:
		return d.set(ctx, tx, peer.id, `draining_since = now(), trial_at = null, trial_id = null`)
	default:
		return d.set(ctx, tx, peer.id, `trial_at = now() + `+ledger.TrialWait+`, trial_id = null`)
	}
}

func (d *Drainer) set(ctx context.Context, tx pgx.Tx, id uuid.UUID, what string, args ...any) error {
	_, err := tx.Exec(ctx, `update hub.integrations set `+what+` where id = $1`, append([]any{id}, args...)...)
	if err != nil {
		return fmt.Errorf("noting the state of an integration's park: %w", err)
	}
	return nil
}

// putBack makes parked deliveries of an integration pending again, those first that
// come first by the column.
func (d *Drainer) putBack(ctx context.Context, tx pgx.Tx, id uuid.UUID, before time.Time, by string, limit int) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, `
		with sendable as (
			select d.id from hub.deliveries d
			where d.target_id = $1 and d.status = 2 and d.integration and d.finished_at < $2
			order by d.`+by+` limit $3 for update skip locked),
		kept as (`+keepFirst+`)
		update hub.deliveries d `+again+` from sendable s where d.id = s.id returning d.id`, id, before, limit)
	if err != nil {
		return nil, fmt.Errorf("putting parked deliveries back: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("putting parked deliveries back: %w", err)
	}
	return ids, nil
}
