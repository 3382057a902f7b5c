package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/dberr"
)

const (
	minRecompacted     = 10_000 // settled deliveries of a compacted day that are worth another compaction
	compactionTimeout  = "15min"
	compactionLockWait = "2s"
	longestLocked      = 2 * time.Second // that writers of the day wait: those of all tenants claim deliveries of every day
)

// dayTable is a table of a day, in SQL: %[1]s is the day. Rows of the old table are o, of the new one n.
type dayTable struct {
	parent, key string
	// kept is true of the rows of the old table that belong to the new one.
	kept string
	// sources select them, each by an index of the old table. Within, o has a row's version too.
	sources []string
}

// unfinishedSQL selects the deletion events of a day whose erasures are not finished.
const unfinishedSQL = `select seq from hub.erasures where finished_at is null and not whole_tenant
	and seq >= hub.day_floor(to_date(right('%[1]s', 8), 'YYYYMMDD')) and seq < hub.day_floor(to_date(right('%[1]s', 8), 'YYYYMMDD') + 1)`

// dayTables are the tables of a day. Locks are taken in this order, as an erasure takes them.
// What the hub has to find under the lock, it finds by indexes: a day may have millions of
// settled rows. A lateral query with an offset keeps PostgreSQL from reading the table instead.
var dayTables = []dayTable{
	{
		"events", "seq",
		`(exists (select from hub.deliveries_%[1]s_kept k where k.id > o.seq and k.id <= (overlay(o.seq::text placing 'ffff' from 33))::uuid) or o.seq in (` + unfinishedSQL + `))`,
		[]string{`(select (overlay(k.id::text placing '0000' from 33))::uuid as seq from hub.deliveries_%[1]s_kept k union ` + unfinishedSQL + `) s,
			lateral (select o.xmin as version, o.* from hub.events_%[1]s o where o.seq = s.seq offset 0) o`},
	},
	{
		"deliveries", "id",
		`(o.status in (0, 2) or (overlay(o.id::text placing '0000' from 33))::uuid in (` + unfinishedSQL + `))`,
		[]string{
			`(select o.xmin as version, o.* from hub.deliveries_%[1]s o where o.status = 0) o`,
			`(select o.xmin as version, o.* from hub.deliveries_%[1]s o where o.status = 2) o`,
			`(` + unfinishedSQL + `) s,
			lateral (select o.xmin as version, o.* from hub.deliveries_%[1]s o where o.id > s.seq and o.id <= (overlay(s.seq::text placing 'ffff' from 33))::uuid offset 0) o`,
		},
	},
	{
		"attempts", "delivery_id, number, started_at",
		`exists (select from hub.deliveries_%[1]s_kept k where k.id = o.delivery_id)`,
		[]string{`hub.deliveries_%[1]s_kept k, lateral (select o.xmin as version, o.* from hub.attempts_%[1]s o where o.delivery_id = k.id offset 0) o`},
	},
}

// compactIfWorth compacts a day if far more of it is settled than waits. mustThin reports
// whether it has too much that waits, or was locked for too long: see [Maintenance.thinDay].
func (m *Maintenance) compactIfWorth(ctx context.Context, tx pgx.Tx, day string) (mustThin bool, err error) {
	waiting, isWorth, err := isWorthCompacting(ctx, tx, day)
	if err != nil || !isWorth {
		return false, err
	}
	if waiting > maxCopied {
		return true, nil
	}
	err = m.compactDay(ctx, tx, day)
	return errors.Is(err, errLockedTooLong), err
}

// errLockedTooLong ends a compaction that would hold the lock of a day for too long.
var errLockedTooLong = errors.New("the day would be locked for too long")

// compactDay reduces a day to the deliveries that wait, with their events and attempts, and
// to the deletion events of unfinished erasures: they are copied to new tables, and the old
// tables are dropped. The name of a day's tables stays, so the rows are found, sent, erased
// and counted as before.
//
// Most is copied before the day is locked. What changed meanwhile, as the version of each
// row shows, is copied again under the lock, for which writers of this day wait. If that
// takes too long, nothing is compacted: an errLockedTooLong.
func (m *Maintenance) compactDay(ctx context.Context, tx pgx.Tx, day string) error {
	c := &compaction{tx: tx, day: "p" + day, lockedFor: m.lockedFor}
	for _, step := range []func(context.Context) error{c.begin, c.copyAll, c.lock, c.update, c.count, c.replace} {
		if err := step(ctx); err != nil {
			if !c.lockedAt.IsZero() && dberr.Code(err) == queryCanceled {
				err = errLockedTooLong
			}
			return fmt.Errorf("compacting %s: %w", day, err)
		}
	}
	m.log.Info("reduced a day of the log whose retention ended to what still waits", "day", day, "deliveries_kept", c.kept, "deliveries_dropped", c.delivered+c.failed)
	return nil
}

// queryCanceled is the code of a statement that took longer than statement_timeout.
const queryCanceled = "57014"

// compaction is the compaction of one day, in a transaction.
type compaction struct {
	tx        pgx.Tx
	day       string        // "p20261120"
	lockedFor time.Duration // at most
	lockedAt  time.Time     // zero: not yet
	columns   []string      // of dayTables
	total     int64         // outbound deliveries

	kept, delivered, failed int64 // outbound deliveries that stay, and that are dropped
}

// exec runs a statement. Once the day is locked, it ends when the time for that is over.
func (c *compaction) exec(ctx context.Context, statement string, args ...any) error {
	if err := c.boundLocked(ctx); err != nil {
		return err
	}
	_, err := c.tx.Exec(ctx, statement, args...)
	return err
}

// boundLocked bounds the next statement by what is left of the time that the day may be locked.
func (c *compaction) boundLocked(ctx context.Context) error {
	if c.lockedAt.IsZero() {
		return nil
	}
	left := (c.lockedFor - time.Since(c.lockedAt)).Milliseconds()
	if left <= 0 {
		return errLockedTooLong
	}
	_, err := c.tx.Exec(ctx, fmt.Sprintf(`set local statement_timeout = %d`, left))
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

// copyAll counts the day and copies what waits, while it is in use. From then on every
// statement must find its rows by an index.
func (c *compaction) copyAll(ctx context.Context) error {
	if err := c.exec(ctx, `set local enable_seqscan = on`); err != nil {
		return err
	}
	err := c.tx.QueryRow(ctx, `select count(*), count(*) filter (where status = 3) from hub.deliveries_`+c.day+` where not inbound`).Scan(&c.total, &c.failed)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, `set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`); err != nil {
		return err
	}
	for _, i := range []int{1, 0, 2} { // deliveries first: they decide about the others
		if err := c.copyMissing(ctx, i); err != nil {
			return err
		}
		if err := c.exec(ctx, `analyze hub.`+dayTables[i].parent+`_`+c.day+`_kept`); err != nil {
			return err
		}
	}
	return nil
}

// copyMissing copies what belongs to one of the new tables and is not there.
func (c *compaction) copyMissing(ctx context.Context, i int) error {
	table := dayTables[i]
	for _, source := range table.sources {
		err := c.exec(ctx, fmt.Sprintf(`insert into hub.%[1]s_kept (%[2]s, version) select %[3]s, o.version from %[4]s where not exists (select from hub.%[1]s_kept n where (%[5]s) = (%[6]s))`,
			table.parent+"_"+c.day, c.columns[i], qualify("o", c.columns[i]), c.ofDay(source), qualify("n", table.key), qualify("o", table.key)))
		if err != nil {
			return err
		}
	}
	return nil
}

// ofDay writes the name of the day into a text of dayTables.
func (c *compaction) ofDay(text string) string { return strings.ReplaceAll(text, "%[1]s", c.day) }

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
		if c.lockedAt.IsZero() {
			c.lockedAt = time.Now()
		}
	}
	return nil
}

// update brings the new tables up to date: rows that changed since they were copied, or do
// not belong there any more, are deleted, and what is missing is copied.
func (c *compaction) update(ctx context.Context) error {
	for _, i := range []int{1, 0, 2} {
		table := dayTables[i]
		outdated := fmt.Sprintf(`delete from hub.%[1]s_kept n where not exists (select from hub.%[1]s o where (%[2]s) = (%[3]s) and o.xmin = n.version and %[4]s)`,
			table.parent+"_"+c.day, qualify("o", table.key), qualify("n", table.key), c.ofDay(table.kept))
		var err error
		if i == 1 {
			err = c.deleteOutdatedDeliveries(ctx, outdated)
		} else {
			err = c.exec(ctx, outdated)
		}
		if err == nil {
			err = c.copyMissing(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteOutdatedDeliveries runs the statement that deletes them, and counts those that failed
// since the day was counted.
func (c *compaction) deleteOutdatedDeliveries(ctx context.Context, statement string) error {
	if err := c.boundLocked(ctx); err != nil {
		return err
	}
	var failed int64
	err := c.tx.QueryRow(ctx, `
		with gone as (`+statement+` returning n.id, n.status)
		select count(*) from gone g, lateral (select o.status, o.inbound from hub.deliveries_`+c.day+` o where o.id = g.id offset 0) o
		where g.status <> 3 and o.status = 3 and not o.inbound`).Scan(&failed)
	c.failed += failed
	return err
}

// count counts what is dropped, for the balance of the day. A delivery that failed before and
// was sent again during the compaction still counts as failed; their sum is exact.
func (c *compaction) count(ctx context.Context) error {
	if err := c.boundLocked(ctx); err != nil {
		return err
	}
	var failedKept int64
	err := c.tx.QueryRow(ctx, `select count(*), count(*) filter (where status = 3) from hub.deliveries_`+c.day+`_kept where not inbound`).Scan(&c.kept, &failedKept)
	if err != nil {
		return err
	}
	dropped := c.total - c.kept
	c.failed = min(c.failed-failedKept, dropped)
	c.delivered = dropped - c.failed
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
// such that wait. Those that wait have indexes; of all, the statistics of PostgreSQL are near
// enough: to count a large day would take longer than a statement may.
func isWorthCompacting(ctx context.Context, tx pgx.Tx, day string) (waiting int64, isWorth bool, err error) {
	total, isCompacted, err := estimateDay(ctx, tx, day)
	if err == nil && total < 0 { // no statistics yet
		if _, err = tx.Exec(ctx, `analyze hub.deliveries_p`+day); err == nil {
			total, isCompacted, err = estimateDay(ctx, tx, day)
		}
	}
	if err == nil {
		err = tx.QueryRow(ctx, `
			select (select count(*) from (select from hub.deliveries_p`+day+` where status = 0 limit $1) p)
				+ (select count(*) from (select from hub.deliveries_p`+day+` where status = 2 limit $1) p)`, total/2+1).Scan(&waiting)
	}
	if err != nil {
		return 0, false, fmt.Errorf("counting what waits of %s: %w", day, err)
	}
	settled := total - waiting
	return waiting, settled > waiting && (!isCompacted || settled > minRecompacted), nil
}

// estimateDay returns how many deliveries a day has, by the statistics of PostgreSQL; -1
// without any. isCompacted reports whether it was compacted before.
func estimateDay(ctx context.Context, tx pgx.Tx, day string) (total int64, isCompacted bool, err error) {
	err = tx.QueryRow(ctx, `
		select reltuples::bigint, exists (select from hub.compacted_days where day = to_date($1, 'YYYYMMDD'))
		from pg_class where oid = ('hub.deliveries_p' || $1)::regclass`, day).Scan(&total, &isCompacted)
	return total, isCompacted, err
}
