package maintain

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	minRecompacted     = 10_000 // settled deliveries of a compacted day that are worth another compaction
	compactionTimeout  = "15min"
	compactionLockWait = "2s"
)

// dayTables are the tables of a day: parent, key, and which rows of the old table o belong
// to the kept deliveries. Locks are taken in this order, as an erasure takes them.
var dayTables = []struct{ parent, key, kept string }{
	{"events", "seq", `o.seq in (select (overlay(k.id::text placing '0000' from 33))::uuid from hub.deliveries_%[1]s_kept k)`},
	{"deliveries", "id", `(o.status in (0, 2) or (overlay(o.id::text placing '0000' from 33))::uuid in (select seq from hub.erasures where finished_at is null))`},
	{"attempts", "delivery_id, number, started_at", `o.delivery_id in (select k.id from hub.deliveries_%[1]s_kept k)`},
}

// compactDay reduces a day to the deliveries that wait, with their events and attempts:
// they are copied to new tables, and the old tables are dropped. The name of a day's tables
// stays, so the rows are found, sent, erased and counted as before.
//
// Most is copied before the day is locked. What changed meanwhile, as the version of each
// row shows, is copied again under the lock, for which writers of this day wait.
func (m *Maintenance) compactDay(ctx context.Context, tx pgx.Tx, day string) error {
	c := &compaction{tx: tx, day: "p" + day}
	for _, step := range []func(context.Context) error{c.begin, c.copyAll, c.lock, c.update, c.count, c.replace} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("compacting %s: %w", day, err)
		}
	}
	m.log.Info("reduced a day of the log whose retention ended to what still waits", "day", day, "deliveries_kept", c.kept, "deliveries_dropped", c.delivered+c.failed)
	return nil
}

// compaction is the compaction of one day, in a transaction.
type compaction struct {
	tx      pgx.Tx
	day     string   // "p20261120"
	columns []string // of dayTables
	total   int64    // outbound deliveries

	kept, delivered, failed int64 // outbound deliveries that stay, and that are dropped
}

func (c *compaction) exec(ctx context.Context, statement string, args ...any) error {
	_, err := c.tx.Exec(ctx, statement, args...)
	return err
}

// begin makes the new tables, with a column for the version of the row that was copied.
func (c *compaction) begin(ctx context.Context) error {
	if err := c.exec(ctx, `set local statement_timeout = '`+compactionTimeout+`'; set local lock_timeout = '`+compactionLockWait+`'`); err != nil {
		return err
	}
	for _, table := range dayTables {
		var columns string
		err := c.tx.QueryRow(ctx, `
			select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
			where attrelid = ('hub.' || $1)::regclass and attnum > 0 and not attisdropped`, table.parent).Scan(&columns)
		if err != nil {
			return err
		}
		c.columns = append(c.columns, columns)
		name := "hub." + table.parent + "_" + c.day + "_kept"
		if err := c.exec(ctx, `create table `+name+` (like hub.`+table.parent+` including all); alter table `+name+` add column version xid`); err != nil {
			return err
		}
	}
	return nil
}

// copyAll copies what waits, while the day is in use.
func (c *compaction) copyAll(ctx context.Context) error {
	err := c.tx.QueryRow(ctx, `select count(*) filter (where not inbound) from hub.deliveries_`+c.day).Scan(&c.total)
	if err != nil {
		return err
	}
	return c.copyMissing(ctx)
}

// copyMissing copies what belongs to the new tables and is not there. Deliveries come
// first: they decide about the others.
func (c *compaction) copyMissing(ctx context.Context) error {
	for _, i := range []int{1, 0, 2} {
		table := dayTables[i]
		old := "hub." + table.parent + "_" + c.day
		err := c.exec(ctx, fmt.Sprintf(`insert into %[1]s_kept (%[2]s, version) select %[3]s, o.xmin from %[1]s o where %[4]s and not exists (select from %[1]s_kept n where (%[5]s) = (%[6]s))`,
			old, c.columns[i], qualify("o", c.columns[i]), c.condition(table.kept), qualify("n", table.key), qualify("o", table.key)))
		if err != nil {
			return err
		}
	}
	return nil
}

// condition writes the name of the day into a condition of dayTables.
func (c *compaction) condition(text string) string { return strings.ReplaceAll(text, "%[1]s", c.day) }

// qualify writes the name of a table before each of a list of columns.
func qualify(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// lock keeps all others from changing the day.
func (c *compaction) lock(ctx context.Context) error {
	for _, table := range dayTables {
		if err := c.exec(ctx, `lock table hub.`+table.parent+`_`+c.day+` in share row exclusive mode`); err != nil {
			return err
		}
	}
	return nil
}

// update brings the new tables up to date: rows that changed since they were copied, or do
// not belong there any more, are deleted, and what is missing is copied.
func (c *compaction) update(ctx context.Context) error {
	for _, i := range []int{1, 0, 2} {
		table := dayTables[i]
		old := "hub." + table.parent + "_" + c.day
		err := c.exec(ctx, fmt.Sprintf(`delete from %[1]s_kept n where not exists (select from %[1]s o where (%[2]s) = (%[3]s) and o.xmin = n.version and %[4]s)`,
			old, qualify("o", table.key), qualify("n", table.key), c.condition(table.kept)))
		if err != nil {
			return err
		}
		if i == 1 { // what the others belong to
			if err := c.copyMissing(ctx); err != nil {
				return err
			}
		}
	}
	return c.copyMissing(ctx)
}

// count counts what is dropped, for the balance of the day.
func (c *compaction) count(ctx context.Context) error {
	old := "hub.deliveries_" + c.day
	err := c.tx.QueryRow(ctx, `
		select (select count(*) from `+old+`_kept where not inbound),
			(select count(*) from `+old+` where status = 3 and not inbound) - (select count(*) from `+old+`_kept where status = 3 and not inbound)`).Scan(&c.kept, &c.failed)
	if err != nil {
		return err
	}
	c.delivered = c.total - c.kept - c.failed
	return c.exec(ctx, `
		insert into hub.compacted_days (day, delivered, failed) values (to_date(right($1, 8), 'YYYYMMDD'), $2, $3)
		on conflict (day) do update set delivered = compacted_days.delivered + excluded.delivered, failed = compacted_days.failed + excluded.failed, compacted_at = now()`,
		c.day, c.delivered, c.failed)
}

// replace puts the new tables into the place of the old ones.
func (c *compaction) replace(ctx context.Context) error {
	if err := c.exec(ctx, `drop table hub.attempts_`+c.day+`, hub.deliveries_`+c.day+`, hub.events_`+c.day); err != nil {
		return err
	}
	for _, table := range dayTables {
		name := table.parent + "_" + c.day
		err := c.exec(ctx, `alter table hub.`+name+`_kept drop column version; alter table hub.`+name+`_kept rename to `+name)
		if err == nil {
			err = c.exec(ctx, `
				do $$ begin
					execute format('alter table hub.`+table.parent+` attach partition hub.`+name+` for values from (%L) to (%L)',
						hub.day_floor(to_date('`+c.day[1:]+`', 'YYYYMMDD')), hub.day_floor(to_date('`+c.day[1:]+`', 'YYYYMMDD') + 1));
				end $$`)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isWorthCompacting reports whether a day has far more deliveries that are settled than
// such that wait.
func isWorthCompacting(ctx context.Context, tx pgx.Tx, day string) (bool, error) {
	var settled, waiting int64
	var isCompacted bool
	err := tx.QueryRow(ctx, `
		select count(*) filter (where status in (1, 3)), count(*) filter (where status in (0, 2)),
			exists (select from hub.compacted_days where day = to_date($1, 'YYYYMMDD'))
		from hub.deliveries_p`+day, day).Scan(&settled, &waiting, &isCompacted)
	if err != nil {
		return false, fmt.Errorf("counting what waits of %s: %w", day, err)
	}
	return settled > waiting && (!isCompacted || settled > minRecompacted), nil
}
