package maintain

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Step handles one batch of one running replay.
func (s *Replays) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }

// ParkAllCancelled parks what cancelled replays made pending.
func (s *Replays) ParkAllCancelled(ctx context.Context) error { return s.parkAllCancelled(ctx) }

// LimitCounts sets what one count may take.
func (s *Replays) LimitCounts(time time.Duration, cost uint64) { s.limits = countLimits{time, cost} }

// FailParked fails what was parked for too long.
func (m *Maintenance) FailParked(ctx context.Context) error { return m.failParked(ctx, m.now()) }

// LimitLocked sets how long a compaction may lock a day.
func (m *Maintenance) LimitLocked(time time.Duration) { m.lockedFor = time }

// CountReads returns how many rows of a day's tables are read to decide about its compaction, and
// while it is locked for that. It changes nothing.
func (m *Maintenance) CountReads(ctx context.Context, day string) (deciding, locked int64, err error) {
	rolledBack := errors.New("rolled back")
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		reads := func() (n int64) {
			if err == nil {
				err = tx.QueryRow(ctx, `
					select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_xact_all_tables
					where schemaname = 'hub' and relname = any(array['events_p' || $1, 'deliveries_p' || $1, 'attempts_p' || $1])`, day).Scan(&n)
			}
			return n
		}
		before := reads() // of earlier transactions, which PostgreSQL has not counted yet
		if _, err := hasWaiting(ctx, tx, day); err != nil {
			return err
		}
		if _, _, err := isWorthCompacting(ctx, tx, day); err != nil {
			return err
		}
		deciding = reads() - before
		c := &compaction{tx: tx, day: "p" + day, lockedFor: m.lockedFor}
		for _, step := range []func(context.Context) error{c.begin, c.copyAll} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		before = reads()
		for _, step := range []func(context.Context) error{c.lock, c.update, c.count} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		locked = reads() - before
		return rolledBack
	})
	if errors.Is(err, rolledBack) {
		err = nil
	}
	return deciding, locked, err
}
