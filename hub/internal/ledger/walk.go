package ledger

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

// find gives the newest ids that match, newest first, at most limit.
func (r *Reader) find(ctx context.Context, p *plan, limit int) ([]uuid.UUID, error) {
	for again := false; ; again = true {
		ids, err := r.walk(ctx, p, limit)
		if noTable(err) && !again {
			continue // a day was dropped meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("searching the log: %w", err)
		}
		return ids, nil
	}
}

// noTable tells whether a statement failed because a day has no tables.
func noTable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01"
}

func (r *Reader) walk(ctx context.Context, p *plan, limit int) ([]uuid.UUID, error) {
	days, err := p.days(ctx, r.pool)
	if err != nil {
		return nil, err
	}
	var found []uuid.UUID
	for next := firstDays; len(days) > 0 && len(found) < limit; next *= 2 {
		n := min(next, len(days))
		statement, args := p.statement(days[:n], limit-len(found), r.effort)
		// Planned anew with the values at hand: a value's frequency decides which
		// index serves, and there are too many statements to keep plans of.
		rows, err := r.pool.Query(ctx, statement, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return nil, err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return nil, err
		}
		found, days = append(found, ids...), days[n:]
	}
	return found, nil
}

// days lists the days that have rows and can have matches, newest first, as the
// suffixes of their tables.
func (p *plan) days(ctx context.Context, db querier) ([]string, error) {
	rows, err := db.Query(ctx, `
		select right(c.relname, 9) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'hub.deliveries'::regclass and right(c.relname, 9) between $1 and $2 and pg_relation_size(c.oid) > 0
		order by 1 desc`, dayName(p.first, "p00000000"), dayName(p.last, "p99999999"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// dayName is the day of a bound of ids; ids of far away times have none.
func dayName(id uuid.UUID, none string) string {
	at := logid.Time(id)
	if id == uuid.Nil || at.Year() > 9999 {
		return none
	}
	return logid.Partition(id)
}

// effort bounds how many rows are looked at, newest first, in the hope that a page
// is among them, before all matches of the day are gathered.
type effort struct {
	newest int // of all rows of the day
	driven int // of the rows an index gives
}

var usualEffort = effort{newest: 1000, driven: 2000}

// statement writes the search of some days, as its text and arguments.
func (p *plan) statement(days []string, limit int, e effort) (string, []any) {
	parts := make([]string, 0, len(days)*len(p.reads))
	for _, day := range days {
		for _, r := range p.reads {
			parts = append(parts, "("+p.part(r, "hub.deliveries_"+day, limit, e)+")")
		}
	}
	if len(parts) == 1 {
		return parts[0][1 : len(parts[0])-1], p.args
	}
	return "select id from (" + strings.Join(parts, " union all ") + ") merged order by id desc limit " + strconv.Itoa(limit), p.args
}

// part reads the newest matches of one read from one table.
//
// Where a page may be far away, the first half looks at a bounded number of rows;
// only if that does not fill the page, the second half gathers every match, in the
// way the planner finds cheapest without regard to order ("offset 0" keeps the
// limit from it: it would trust in matches being everywhere).
func (p *plan) part(r read, table string, limit int, e effort) string {
	page := " order by d.id desc limit " + strconv.Itoa(limit)
	where := r.driver + " and " + p.where()
	switch {
	case r.each != "":
		return fmt.Sprintf(`select d.id from unnest(%s) t(target), unnest('{%s}'::smallint[]) s(status), lateral (
			select d.id from %s d where d.target_id = t.target and d.status = s.status and %s%s) d%s`, p.targets, r.each, table, where, page, page)
	case !r.sieve:
		return "select d.id from " + table + " d where " + where + page
	}
	bound := e.driven
	if r.driver == "true" {
		bound = e.newest
	}
	if p.targets != "" {
		where += " and d.target_id = any(" + p.targets + ")"
	}
	return fmt.Sprintf(`
		with quick as materialized (
			select d.id from (select * from %[1]s d where %[2]s and %[3]s order by d.id desc limit %[4]d) d where %[5]s%[6]s)
		select id from quick where (select count(*) from quick) >= %[7]d
		union all
		(select d.id from (select d.id from %[1]s d where %[5]s and (select count(*) from quick) < %[7]d offset 0) d%[6]s)`,
		table, r.driver, all(p.ranges), bound, where, page, limit)
}
