package directory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// AssertUnchangedSQL fails with division_by_zero, [ConfigChangedCode], if one of the tenants
// $2 or products $3 changed since the snapshot $1, an array of one text. A function raising an error
// would be slower. What the transaction itself changes is no reason to fail, and neither
// are rows from another cluster's future, which a restored database may have.
const (
	AssertUnchangedSQL = `
		select 1 / (` + isHorizonPassedSQL + ` and not exists (
			select from hub.config_changes c
			where ` + isNewChangeSQL + ` and (c.tenant_id = any($2::uuid[]) or c.product = any($3::text[]))))::integer
		from hub.config_horizon h`
	ConfigChangedCode = "22012"
)

const (
	snapshotSQL        = `(($1::text[])[1])::pg_snapshot`
	isHorizonPassedSQL = `(h.xid <= pg_snapshot_xmin(` + snapshotSQL + `) or h.xid > pg_snapshot_xmax(pg_current_snapshot()))`
	isNewChangeSQL     = `c.xid >= pg_snapshot_xmin(` + snapshotSQL + `) and c.xid < pg_snapshot_xmax(pg_current_snapshot())
			and not pg_visible_in_snapshot(c.xid, ` + snapshotSQL + `) and c.xid is distinct from pg_current_xact_id_if_assigned()`
)

// Snapshot returns what the cache is as new as: pass it to [AssertUnchangedSQL]. Take it
// before you read anything from the directory.
func (d *Directory) Snapshot() string {
	d.cache.mu.RLock()
	defer d.cache.mu.RUnlock()
	return d.cache.snapshot
}

// Version returns a number that grows when cached configuration changes.
func (d *Directory) Version() uint64 { return d.cache.beginLoad() }

// Refresh drops what changed since the last time from the cache, and what is unknown.
func (d *Directory) Refresh(ctx context.Context) error {
	_, err := d.RefreshSince(ctx, d.Snapshot())
	return err
}

// RefreshSince is [Directory.Refresh] and returns what changed since a snapshot that
// [Directory.Snapshot] returned.
func (d *Directory) RefreshSince(ctx context.Context, snapshot string) (Changes, error) {
	changes, err := changesSince(ctx, d.pool, snapshot)
	if err != nil {
		return Changes{}, err
	}
	d.cache.apply(changes)
	return changes, nil
}

func changesSince(ctx context.Context, db querier, snapshot string) (Changes, error) {
	var changes Changes
	var tenants, suspended []uuid.UUID
	var products []string
	err := db.QueryRow(ctx, `
		select pg_current_snapshot()::text, not `+isHorizonPassedSQL+`,
			coalesce(array_agg(distinct c.tenant_id) filter (where c.tenant_id is not null), '{}'),
			coalesce(array_agg(distinct c.product) filter (where c.product is not null), '{}'),
			array(select t.id from hub.tenants t where t.suspended_at is not null and t.deleted_at is null)
		from hub.config_horizon h left join hub.config_changes c on `+isNewChangeSQL+`
		group by h.xid`, []string{snapshot}).Scan(&changes.Snapshot, &changes.all, &tenants, &products, &suspended)
	if err != nil {
		return Changes{}, fmt.Errorf("reading what changed of the configuration: %w", err)
	}
	changes.tenants, changes.products, changes.suspended = setOf(tenants), setOf(products), setOf(suspended)
	return changes, nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// HasChanged reports whether a tenant or its product changed since a snapshot, as a
// transaction sees it. What the transaction itself changed does not count.
func HasChanged(ctx context.Context, tx pgx.Tx, snapshot string, tenants []uuid.UUID, products []string) (bool, error) {
	changes, err := changesSince(ctx, tx, snapshot)
	if err != nil {
		return false, err
	}
	for _, tenant := range tenants {
		if changes.Concern(tenant, "") {
			return true, nil
		}
	}
	for _, product := range products {
		if changes.products[product] {
			return true, nil
		}
	}
	return changes.all, nil
}

// deleteChangesBefore deletes the changes that a snapshot and all later ones see, and moves
// the horizon there.
func (d *Directory) deleteChangesBefore(ctx context.Context, snapshot string) error {
	_, err := d.pool.Exec(ctx, `
		with deleted as (
			delete from hub.config_changes where xid < pg_snapshot_xmin($1::text::pg_snapshot) returning 1)
		update hub.config_horizon set xid = pg_snapshot_xmin($1::text::pg_snapshot)
		where exists (select from deleted) and (xid < pg_snapshot_xmin($1::text::pg_snapshot) or xid > pg_snapshot_xmax(pg_current_snapshot()))`, snapshot)
	if err != nil {
		return fmt.Errorf("deleting old changes of the configuration: %w", err)
	}
	return nil
}
