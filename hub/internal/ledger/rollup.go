package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// rollupLock keeps processes from folding at the same time.
const rollupLock = 7240912

// foldBatch is how many deltas one transaction folds.
const foldBatch = 5000

type rollupKey struct {
	bucket         time.Time
	tenant, target uuid.UUID
	product        string // pings are the hub's, whoever's endpoint they go to
}

type rollup struct {
	accepted, delivered, failed, parked, attempts, errors int64
	latency                                               []int64
}

// foldDeltas adds deltas to their minute rollups and removes them, in one
// transaction; it tells whether more are waiting.
func (m *Maintenance) foldDeltas(ctx context.Context) (more bool, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, rollupLock).Scan(&mine); err != nil || !mine {
			return err
		}
		folded, n, err := takeDeltas(ctx, tx)
		if err != nil || n == 0 {
			return err
		}
		more = n == foldBatch
		return addRollups(ctx, tx, folded)
	})
	if err != nil {
		return false, fmt.Errorf("folding rollups: %w", err)
	}
	return more, nil
}

func takeDeltas(ctx context.Context, tx pgx.Tx) (map[rollupKey]*rollup, int, error) {
	rows, err := tx.Query(ctx, `
		delete from hub.rollup_deltas where ctid = any(array(select ctid from hub.rollup_deltas limit $1))
		returning bucket, tenant_id, target_id, product, accepted, delivered, failed, parked, attempts, errors, latency`, foldBatch)
	if err != nil {
		return nil, 0, err
	}
	folded := make(map[rollupKey]*rollup)
	var key rollupKey
	var one rollup
	var latency []int32
	tag, err := pgx.ForEachRow(rows, []any{&key.bucket, &key.tenant, &key.target, &key.product,
		&one.accepted, &one.delivered, &one.failed, &one.parked, &one.attempts, &one.errors, &latency}, func() error {
		key.bucket = key.bucket.UTC()
		sum := folded[key]
		if sum == nil {
			sum = &rollup{}
			folded[key] = sum
		}
		sum.accepted += one.accepted
		sum.delivered += one.delivered
		sum.failed += one.failed
		sum.parked += one.parked
		sum.attempts += one.attempts
		sum.errors += one.errors
		sum.latency = addLatency(sum.latency, latency, false)
		return nil
	})
	return folded, int(tag.RowsAffected()), err
}

func addRollups(ctx context.Context, tx pgx.Tx, folded map[rollupKey]*rollup) error {
	batch := &pgx.Batch{}
	for key, sum := range folded {
		batch.Queue(`
			insert into hub.rollups as r (bucket, tenant_id, target_id, product, accepted, delivered, failed, parked, attempts, errors, latency)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			on conflict (bucket, tenant_id, target_id, product) do update set
				accepted = r.accepted + excluded.accepted, delivered = r.delivered + excluded.delivered,
				failed = r.failed + excluded.failed, parked = r.parked + excluded.parked,
				attempts = r.attempts + excluded.attempts, errors = r.errors + excluded.errors,
				latency = (select coalesce(array_agg(coalesce(o, 0) + coalesce(n, 0) order by i), '{}')
				           from unnest(r.latency, excluded.latency) with ordinality u(o, n, i))`,
			key.bucket, key.tenant, key.target, key.product, sum.accepted, sum.delivered, sum.failed, sum.parked,
			sum.attempts, sum.errors, trimmed(sum.latency))
	}
	return tx.SendBatch(ctx, batch).Close()
}

// trimmed leaves the empty classes at the end out: most rows need only a few.
func trimmed(counts []int64) []int64 {
	n := len(counts)
	for n > 0 && counts[n-1] == 0 {
		n--
	}
	if n == 0 {
		return []int64{}
	}
	return counts[:n]
}
