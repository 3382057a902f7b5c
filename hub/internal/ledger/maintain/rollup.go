package maintain

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/ledger"
)

// rollupLock keeps processes from rolling up at the same time.
const rollupLock = 7240912

// deltasPerRollUp is how many deltas one transaction adds to the statistics.
const deltasPerRollUp = 20_000

// rollupKey names a row of the statistics.
type rollupKey struct {
	width  time.Duration
	scope  ledger.Scope
	id     uuid.UUID // of the tenant or target; Nil: of everything
	bucket time.Time
	// product is the event's: pings are the hub's, whoever's endpoint they go to. In
	// a row of everything "" stands for all products.
	product string
	tenant  uuid.UUID // of a target; else Nil
}

type rollup struct {
	accepted, delivered, failed, parked, attempts, errors int64
	latency                                               []int64
}

// rollUpOnce adds deltas to the statistics and deletes them, in one transaction. It
// reports whether more are waiting.
func (m *Maintenance) rollUpOnce(ctx context.Context) (more bool, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var hasLock bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, rollupLock).Scan(&hasLock); err != nil || !hasLock {
			return err
		}
		rollups, health, n, err := takeDeltas(ctx, tx)
		if err != nil || n == 0 {
			return err
		}
		more = n == deltasPerRollUp
		if err := health.record(ctx, tx, m.now()); err != nil {
			return err
		}
		return addRollups(ctx, tx, rollups)
	})
	if err != nil {
		return false, fmt.Errorf("rolling up statistics: %w", err)
	}
	return more, nil
}

func takeDeltas(ctx context.Context, tx pgx.Tx) (map[rollupKey]*rollup, targetHealth, int, error) {
	rows, err := tx.Query(ctx, `
		delete from hub.rollup_deltas where ctid = any(array(select ctid from hub.rollup_deltas limit $1))
		returning bucket, tenant_id, target_id, product, accepted, delivered, failed, parked, attempts, errors, latency`, deltasPerRollUp)
	if err != nil {
		return nil, nil, 0, err
	}
	rollups, health := make(map[rollupKey]*rollup), make(targetHealth)
	var bucketStart time.Time
	var tenant, target uuid.UUID
	var product string
	var delta rollup
	var latency []int32
	tag, err := pgx.ForEachRow(rows, []any{&bucketStart, &tenant, &target, &product,
		&delta.accepted, &delta.delivered, &delta.failed, &delta.parked, &delta.attempts, &delta.errors, &latency}, func() error {
		health.add(target, product, &delta)
		for _, width := range []time.Duration{ledger.FineBucket, ledger.CoarseBucket} {
			bucket := bucketStart.UTC().Truncate(width)
			for _, key := range [...]rollupKey{
				{width, ledger.ScopeAll, uuid.Nil, bucket, "", uuid.Nil},
				{width, ledger.ScopeAll, uuid.Nil, bucket, product, uuid.Nil},
				{width, ledger.ScopeTenant, tenant, bucket, product, uuid.Nil},
				{width, ledger.ScopeTarget, target, bucket, product, tenant},
			} {
				sum := rollups[key]
				if sum == nil {
					sum = &rollup{}
					rollups[key] = sum
				}
				sum.add(&delta, latency)
			}
		}
		return nil
	})
	return rollups, health, int(tag.RowsAffected()), err
}

// add adds a delta. latency has the class of each of its delivered attempts.
func (r *rollup) add(delta *rollup, latency []int32) {
	r.accepted += delta.accepted
	r.delivered += delta.delivered
	r.failed += delta.failed
	r.parked += delta.parked
	r.attempts += delta.attempts
	r.errors += delta.errors
	r.latency = ledger.AddLatencyClasses(r.latency, latency)
}

// statisticsColumns are the values of many rows. Latencies are PostgreSQL arrays as text,
// because unnest flattens arrays of arrays.
type statisticsColumns struct {
	widths, scopes                                        []int16
	ids, tenants                                          []uuid.UUID
	buckets                                               []time.Time
	products, latencies                                   []string
	accepted, delivered, failed, parked, attempts, errors []int64
}

func addRollups(ctx context.Context, tx pgx.Tx, rollups map[rollupKey]*rollup) error {
	var c statisticsColumns
	for key, sum := range rollups {
		c.widths, c.scopes = append(c.widths, int16(key.width/time.Minute)), append(c.scopes, int16(key.scope))
		c.ids, c.tenants = append(c.ids, key.id), append(c.tenants, key.tenant)
		c.buckets, c.products = append(c.buckets, key.bucket), append(c.products, key.product)
		c.accepted, c.delivered = append(c.accepted, sum.accepted), append(c.delivered, sum.delivered)
		c.failed, c.parked = append(c.failed, sum.failed), append(c.parked, sum.parked)
		c.attempts, c.errors = append(c.attempts, sum.attempts), append(c.errors, sum.errors)
		c.latencies = append(c.latencies, arrayText(sum.latency))
	}
	_, err := tx.Exec(ctx, `
		insert into hub.statistics as r (width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, latency)
		select width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, latency::integer[]
		from unnest($1::smallint[], $2::smallint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::uuid[],
			$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
			u(width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, latency)
		on conflict (width, scope, scope_id, bucket, product) do update set
			accepted = r.accepted + excluded.accepted, delivered = r.delivered + excluded.delivered,
			failed = r.failed + excluded.failed, parked = r.parked + excluded.parked,
			attempts = r.attempts + excluded.attempts, errors = r.errors + excluded.errors,
			latency = case when excluded.latency = '{}' then r.latency else (
				select coalesce(array_agg(coalesce(o, 0) + coalesce(n, 0) order by i), '{}')
				from unnest(r.latency, excluded.latency) with ordinality u(o, n, i)) end`,
		c.widths, c.scopes, c.ids, c.buckets, c.products, c.tenants, c.accepted, c.delivered, c.failed, c.parked, c.attempts, c.errors, c.latencies)
	return err
}

// arrayText writes counts as a PostgreSQL array, without the empty classes at the
// end: most rows need only a few.
func arrayText(counts []int64) string {
	n := len(counts)
	for n > 0 && counts[n-1] == 0 {
		n--
	}
	array := []byte{'{'}
	for i, count := range counts[:n] {
		if i > 0 {
			array = append(array, ',')
		}
		array = strconv.AppendInt(array, count, 10)
	}
	return string(append(array, '}'))
}
