package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/logid"
)

// The log is read day by day, newest first, until a page is full, each day by its
// own table: a statement on the parent table is planned for every day there is, and
// where the planner expects matches soon it walks all of them for a value that is
// not there. The number of days read at once doubles, so that a page of today costs
// one small statement and a value of long ago few round trips.

// firstDays is how many days the first statement reads.
const firstDays = 1

// find returns the newest ids that match, newest first, at most limit.
func (r *Reader) find(ctx context.Context, p *plan, limit int) ([]uuid.UUID, error) {
	for retried := false; ; retried = true {
		ids, err := r.searchDays(ctx, p, limit)
		if isMissingTable(err) && !retried {
			continue // a day was dropped meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("searching the log: %w", err)
		}
		return ids, nil
	}
}

// isMissingTable reports whether a statement failed because a day has no tables.
func isMissingTable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01"
}

func (r *Reader) searchDays(ctx context.Context, p *plan, limit int) ([]uuid.UUID, error) {
	days, err := p.days(ctx, r.pool)
	if err != nil {
		return nil, err
	}
	if p.subjects != "" {
		return r.searchSubjects(ctx, p, days, limit)
	}
	if p.triesNewest && len(days) > 0 {
		statement, args := p.newestStatement(days[0], limit, r.limits)
		if found, err := r.searchIDs(ctx, statement, args); err != nil || len(found) == limit {
			return found, err
		}
	}
	var found []uuid.UUID
	for next := firstDays; len(days) > 0 && len(found) < limit; next *= 2 {
		n := min(next, len(days))
		ids, err := r.searchIDs(ctx, p.statement(days[:n], limit-len(found), r.limits), p.args)
		if err != nil {
			return nil, err
		}
		found, days = append(found, ids...), days[n:]
	}
	return found, nil
}

// searchIDs runs a search. It is planned anew with the values at hand: a value's
// frequency decides which index serves, and there are too many statements to keep
// plans of.
func (r *Reader) searchIDs(ctx context.Context, statement string, args []any) ([]uuid.UUID, error) {
	rows, err := r.pool.Query(ctx, statement, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// day is one day's table of deliveries.
type day struct {
	name  string // "p20261120"
	bytes int64
}

func (d day) table() string { return "hub.deliveries_" + d.name }

// days lists the days that have rows and can have matches, newest first.
func (p *plan) days(ctx context.Context, db DB) ([]day, error) {
	rows, err := db.Query(ctx, `
		with days as materialized ( -- only their sizes are looked at
			select c.oid, right(c.relname, 9) as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
			where i.inhparent = 'hub.deliveries'::regclass)
		select day, pg_relation_size(oid) from days
		where day between $1 and $2 and pg_relation_size(oid) > 0 order by day desc`, dayName(p.first, "p00000000"), dayName(p.last, "p99999999"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (d day, err error) { return d, row.Scan(&d.name, &d.bytes) })
}

// dayName is the day of a bound of ids; ids of far away times have none.
func dayName(id uuid.UUID, unbounded string) string {
	idTime := logid.Time(id)
	if id == uuid.Nil || idTime.Year() > 9999 {
		return unbounded
	}
	return logid.Partition(id)
}

// readLimits bounds how many rows are looked at, newest first, in the hope that a page
// is among them, before every match of the day is gathered. Rows that lie side by
// side cost far less than those an index finds here and there.
type readLimits struct {
	newest         int // of all rows of the newest day
	perDriver      int // of a driver's rows
	perDenseDriver int // of a driver's rows that lie side by side

	smallDay int64 // size in bytes of a day's table up to which matches are gathered at once

	// How many targets of a tenant or product are read one by one: few of them as they
	// are, many by the newest row of each. Who has still more has rows everywhere in
	// the log, and reading it in order finds a page soon.
	fewTargets, manyTargets int

	pending int // of what waits, when it is counted for the metrics
}

var defaultLimits = readLimits{newest: 4000, perDriver: 1000, perDenseDriver: 5000, smallDay: 16 << 20, fewTargets: 100, manyTargets: 3000, pending: maxPendingCounted}

// newestStatement writes the search of a day's newest rows.
func (p *plan) newestStatement(newest day, limit int, e readLimits) (statement string, args []any) {
	args = p.args
	if p.targets != "" {
		args = args[:len(args)-1]
	}
	return fmt.Sprintf("select d.id from (select * from %s d where %s order by d.id desc limit %d) d where %s order by d.id desc limit %d",
		newest.table(), conjunction(p.ranges), e.newest, p.Where(), limit), args
}

// statement writes the search of some days.
func (p *plan) statement(days []day, limit int, e readLimits) string {
	parts := make([]string, 0, len(days)*len(p.reads))
	for _, d := range days {
		reads := p.reads
		if d.bytes <= e.smallDay && p.smallDayReads != nil {
			reads = p.smallDayReads
		}
		for _, r := range reads {
			parts = append(parts, p.readStatement(r, d, limit, e))
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "select id from ((" + strings.Join(parts, ") union all (") + ")) merged order by id desc limit " + strconv.Itoa(limit)
}

// readStatement writes one read of one day's table.
func (p *plan) readStatement(r read, d day, limit int, e readLimits) string {
	table, page := d.table(), " order by d.id desc limit "+strconv.Itoa(limit)
	switch {
	case r.perStatuses != "":
		where := p.Where()
		if p.targetsImplyTenant { // without them the index alone answers; the tenant's argument has to stay
			where = p.without(p.tenant, p.environment)
			if p.tenant != "" {
				where += " and " + strings.Replace(p.tenant, "d.tenant_id = ", "", 1) + "::uuid is not null"
			}
		}
		pairs := "unnest('{" + r.perStatuses + "}'::smallint[]) s(status)"
		if p.targets != "" {
			pairs += ", unnest(" + p.targets + ") t(target)"
			where += " and d.target_id = t.target"
		}
		each := fmt.Sprintf("%s, lateral (select d.id from %s d where %s and d.status = s.status and d.status <> 0", pairs, table, where)
		if p.hasManyTargets {
			each += " and d.id >= " + pageBound(each, limit)
		}
		return "select d.id from " + each + page + ") d" + page
	case r.isSieved:
		return p.sievedStatement(r, d, page, limit, e)
	}
	return "select d.id from " + table + " d where " + r.driver + " and " + p.Where() + page
}

// pageBound writes the id that no row of a page is older than, by the newest row of each
// pair of a read: a page of them is a page of rows. With it a pair returns only rows of
// the page, mostly none; without it each of many pairs would give a page.
func pageBound(each string, limit int) string {
	return "coalesce((select h.id from " + each + " order by d.id desc limit 1) h order by h.id desc offset " + strconv.Itoa(limit-1) +
		" limit 1), '00000000-0000-0000-0000-000000000000')"
}

// sievedStatement writes a read whose page may be far away. Its first half looks at a
// bounded number of the driver's rows; only if they do not fill the page, the
// second half gathers every match, in the way the planner finds cheapest without
// regard to order: "offset 0" keeps the limit from it, for it would trust in
// matches being everywhere and walk the whole day.
func (p *plan) sievedStatement(r read, d day, page string, limit int, e readLimits) string {
	gathered := "select d.id from (select d.id from " + d.table() + " d where %s offset 0) d" + page
	if d.bytes <= e.smallDay || r.status == "2" || r.status == "3" { // few rows
		return fmt.Sprintf(gathered, p.gatheringCondition(r))
	}
	bound := e.perDriver
	if r.status == "" || strings.HasPrefix(r.driver, "true") {
		bound = e.perDenseDriver
	}
	return fmt.Sprintf(`
		with quick as materialized (
			select d.id from (select * from %[1]s d where %[2]s and %[3]s order by d.id desc limit %[4]d) d where %[5]s and %[2]s%[6]s)
		select id from quick where (select count(*) from quick) >= %[7]d
		union all
		(%[8]s)`,
		d.table(), r.driver, conjunction(p.ranges), bound, p.Where(), page, limit,
		fmt.Sprintf(gathered, p.gatheringCondition(r)+" and (select count(*) from quick) < "+strconv.Itoa(limit)))
}

// gatheringCondition returns the conditions to gather a sieved read's matches by. PostgreSQL
// intersects two indexes only where they share no condition, so of those that have
// most rows only one says that rows are settled; the status is compared in a way no
// index serves, unless it singles out few rows itself.
func (p *plan) gatheringCondition(r read) string {
	where := p.Where() + " and d.status = 0"
	if r.status != "" {
		where = p.without(p.status) + " and d.status <> 0"
		switch r.status {
		case "1":
			where += " and d.status + 0 = 1"
		case "2", "3":
			where += " and d.status = " + r.status
		}
	}
	if p.targets != "" {
		where += " and d.target_id = any(" + p.targets + ")"
	}
	return where
}
