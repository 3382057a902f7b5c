package migrations

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// partitionIndex is an index of a partitioned table of the log.
type partitionIndex struct {
	version    int64  // of the migration that makes it
	migration  string // the migration's name
	parent     string // table in the schema hub
	name       string
	suffix     string // of the names of the partitions' indexes
	definition string // what follows the table's name
}

// partitionIndexes are the indexes that SQL alone cannot make while rows are written.
var partitionIndexes = []partitionIndex{
	{
		// The sweep finds by it what is due without looking at what is not. It is an
		// expression that nothing but the scan for due rows uses. Were it the plain column
		// where status = 0, the planner might take this index for the claims of one target
		// and read all due rows, or another index for the scan and read all that wait.
		version: 25, migration: "due_index", parent: "deliveries", name: "deliveries_due_at", suffix: "_due_at_idx",
		definition: `((case when status = 0 then due_at end)) where case when status = 0 then due_at end is not null`,
	},
	{
		// The log is searched by it for who an event is about.
		version: 63, migration: "subject_index", parent: "events", name: "events_subjects", suffix: "_subjects_idx",
		definition: `using gin (subjects) where subjects is not null`,
	},
	{
		// The audit log without the routine of peers, which is most of it: the condition is
		// that of package audit.
		version: 68, migration: "audit_acts_index", parent: "audit", name: "audit_acts", suffix: "_acts_idx",
		definition: `(id) where action not in ('integrations.status', 'integrations.webhook') or status >= 400`,
	},
	{
		// What waits, by target: dispatch takes from each target its share, by priority.
		version: 72, migration: "due_priority_index", parent: "deliveries", name: "deliveries_due_priority", suffix: "_due_priority_idx",
		definition: `(target_id, priority, due_at) where status = 0`,
	},
	{
		// What is parked, by target: drains go by priority.
		version: 73, migration: "parked_priority_index", parent: "deliveries", name: "deliveries_parked_priority", suffix: "_parked_priority_idx",
		definition: `(target_id, priority, id) where status = 2`,
	},
	{
		// A tenant's events, which its keys list.
		version: 83, migration: "event_owner_index", parent: "events", name: "events_owner", suffix: "_owner_idx",
		definition: `(tenant_id, environment, seq)`,
	},
}

// programmedNames returns the names of the migrations that are programs, by version.
func programmedNames() map[int64]string {
	names := make(map[int64]string, len(partitionIndexes))
	for _, index := range partitionIndexes {
		names[index.version] = index.migration
	}
	return names
}

// programmed returns the migrations that SQL alone cannot express.
func programmed() []*goose.Migration {
	list := make([]*goose.Migration, len(partitionIndexes))
	for i, index := range partitionIndexes {
		list[i] = goose.NewGoMigration(index.version, &goose.GoFunc{RunDB: index.create}, nil)
	}
	return list
}

// create makes the index. PostgreSQL cannot make the index of a partitioned table while
// rows are written, so each partition gets its own first. After an interruption the next
// call goes on.
func (x partitionIndex) create(ctx context.Context, db *sql.DB) error {
	var hasRows bool
	if err := db.QueryRowContext(ctx, `select exists (select from hub.`+x.parent+`)`).Scan(&hasRows); err != nil {
		return fmt.Errorf("looking for rows of %s: %w", x.parent, err)
	}
	only := "only"
	if !hasRows {
		only = ""
	}
	if _, err := db.ExecContext(ctx, `create index if not exists `+x.name+` on `+only+` hub.`+x.parent+` `+x.definition); err != nil {
		return fmt.Errorf("creating the index %s: %w", x.name, err)
	}
	for {
		partition, err := x.nextPartition(ctx, db)
		if err != nil || partition == "" {
			return err
		}
		table, index := pgx.Identifier{"hub", partition}.Sanitize(), pgx.Identifier{"hub", partition + x.suffix}.Sanitize()
		for _, statement := range []string{
			`drop index concurrently if exists ` + index, // of an interrupted migration
			`create index concurrently ` + pgx.Identifier{partition + x.suffix}.Sanitize() + ` on ` + table + ` ` + x.definition,
			`alter index hub.` + x.name + ` attach partition ` + index,
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("creating the index %s of %s: %w", x.name, partition, err)
			}
		}
	}
}

// nextPartition returns the newest partition that the index lacks; "" if there is none.
func (x partitionIndex) nextPartition(ctx context.Context, db *sql.DB) (partition string, err error) {
	err = db.QueryRowContext(ctx, `
		select coalesce(max(child.relname), '') from pg_inherits i join pg_class child on child.oid = i.inhrelid
		where i.inhparent = ('hub.' || $1)::regclass and not exists (
			select from pg_index x join pg_inherits a on a.inhrelid = x.indexrelid
			where x.indrelid = child.oid and a.inhparent = ('hub.' || $2)::regclass)`, x.parent, x.name).Scan(&partition)
	if err != nil {
		return "", fmt.Errorf("looking for partitions without the index %s: %w", x.name, err)
	}
	return partition, nil
}
