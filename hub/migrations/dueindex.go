package migrations

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// dueIndexVersion is the version of the migration that makes the index of due deliveries.
const dueIndexVersion = 25

// dueIndexDefinition is an expression that nothing but the scan for due rows uses. Were it
// the plain column where status = 0, the planner might take this index for the claims of
// one target and read all due rows, or another index for the scan and read all that wait.
const dueIndexDefinition = `((case when status = 0 then due_at end)) where case when status = 0 then due_at end is not null`

// programmedNames are the names of the migrations that are programs, by version.
var programmedNames = map[int64]string{dueIndexVersion: "due_index"}

// programmed are the migrations that SQL alone cannot express, by version.
func programmed() []*goose.Migration {
	return []*goose.Migration{goose.NewGoMigration(dueIndexVersion, &goose.GoFunc{RunDB: createDueIndex}, nil)}
}

// createDueIndex makes the index hub.deliveries_due_at: what waits, by when it is due. The
// sweep finds by it what is due without looking at what is not. PostgreSQL cannot make the
// index of a partitioned table while rows are written, so each partition gets its own
// first. After an interruption the next call goes on.
func createDueIndex(ctx context.Context, db *sql.DB) error {
	var hasRows bool
	if err := db.QueryRowContext(ctx, `select exists (select from hub.deliveries)`).Scan(&hasRows); err != nil {
		return fmt.Errorf("looking for deliveries: %w", err)
	}
	only := "only"
	if !hasRows {
		only = ""
	}
	if _, err := db.ExecContext(ctx, `create index if not exists deliveries_due_at on `+only+` hub.deliveries `+dueIndexDefinition); err != nil {
		return fmt.Errorf("creating the index of due deliveries: %w", err)
	}
	for {
		partition, err := partitionWithoutDueIndex(ctx, db)
		if err != nil || partition == "" {
			return err
		}
		table, index := pgx.Identifier{"hub", partition}.Sanitize(), pgx.Identifier{"hub", partition + "_due_at_idx"}.Sanitize()
		for _, statement := range []string{
			`drop index concurrently if exists ` + index, // of an interrupted migration
			`create index concurrently ` + pgx.Identifier{partition + "_due_at_idx"}.Sanitize() + ` on ` + table + ` ` + dueIndexDefinition,
			`alter index hub.deliveries_due_at attach partition ` + index,
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("indexing the due deliveries of %s: %w", partition, err)
			}
		}
	}
}

// partitionWithoutDueIndex returns the newest partition that the index lacks; "" if there is
// none.
func partitionWithoutDueIndex(ctx context.Context, db *sql.DB) (partition string, err error) {
	err = db.QueryRowContext(ctx, `
		select coalesce(max(child.relname), '') from pg_inherits i join pg_class child on child.oid = i.inhrelid
		where i.inhparent = 'hub.deliveries'::regclass and not exists (
			select from pg_index x join pg_inherits a on a.inhrelid = x.indexrelid
			where x.indrelid = child.oid and a.inhparent = 'hub.deliveries_due_at'::regclass)`).Scan(&partition)
	if err != nil {
		return "", fmt.Errorf("looking for partitions without the index of due deliveries: %w", err)
	}
	return partition, nil
}
