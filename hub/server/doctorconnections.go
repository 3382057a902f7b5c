package server

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/delivery"
)

// listenerConns is how many connections a process has besides its pools: the one that
// listens for due deliveries.
const listenerConns = 1

// maxConnections returns how many connections a process with so many products may open.
func maxConnections(modules int) int {
	return engineConns + apiConns + modules*moduleConns + listenerConns
}

// connectionUse compares what processes may open with what PostgreSQL accepts.
type connectionUse struct {
	processes  int // of this hub, running; at least 1
	perProcess int // connections that each may open
	others     int // open connections of other programs
	accepted   int // by PostgreSQL, without those reserved for superusers
}

// finding judges the use.
func (u connectionUse) finding() Finding {
	opened := u.processes * u.perProcess
	detail := fmt.Sprintf("%d processes with up to %d connections each: %d; PostgreSQL accepts %d, others have %d", u.processes, u.perProcess, opened, u.accepted, u.others)
	if u.processes == 1 {
		detail = fmt.Sprintf("up to %d of the %d that PostgreSQL accepts, others have %d", opened, u.accepted, u.others)
	}
	advice := fmt.Sprintf("set max_connections of PostgreSQL to %d or more, or run fewer processes", opened+u.others+10)
	switch {
	case opened > u.accepted:
		return Finding{"connections", FindingFailed, detail, advice}
	case opened+u.others > u.accepted:
		return Finding{"connections", FindingWarning, detail, advice}
	}
	return Finding{"connections", FindingOK, detail, ""}
}

// checkConnections compares the pools of all running processes with max_connections. Each
// process has one connection that listens.
func checkConnections(ctx context.Context, db *pgxpool.Pool, modules int, report func(Finding)) {
	use := connectionUse{perProcess: maxConnections(modules)}
	err := db.QueryRow(ctx, `
		select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
				- coalesce(current_setting('reserved_connections', true), '0')::integer,
			greatest(1, count(*) filter (where datname = current_database() and application_name = $1 and query = $2)),
			count(*) filter (where backend_type = 'client backend' and (datname <> current_database() or application_name not like 'hub-%'))
		from pg_stat_activity`, engineSettings["application_name"], `listen "`+delivery.DueChannel+`"`).Scan(&use.accepted, &use.processes, &use.others)
	if err != nil {
		report(Finding{"connections", FindingFailed, "reading PostgreSQL's connections failed: " + err.Error(), ""})
		return
	}
	report(use.finding())
}
