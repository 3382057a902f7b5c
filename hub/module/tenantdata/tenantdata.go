// Package tenantdata erases the rows of a tenant from the schema of a product.
package tenantdata

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/module/dberr"
)

// Schema is where a product has its tenants' rows.
type Schema struct {
	Name string // PostgreSQL schema, such as clinic
	Root string // table of the tenants: its id is their key
	Key  string // column that has the key in each other table, such as clinic_id
}

// maxRows is how many rows a transaction deletes, so that it is short. What refers to them is
// deleted before.
const maxRows = 1000

// SettingErasing is a PostgreSQL setting that is on in a transaction that erases a tenant. Triggers
// that keep rows from being deleted let these through.
const SettingErasing = "hub.erases_tenant"

// Erase deletes all rows of a tenant, those of the root last. Rows without the key go with what
// they refer to, by their foreign keys. After an error it is called again, and continues.
func (s Schema) Erase(ctx context.Context, pool *pgxpool.Pool, key any) error {
	tables, err := s.tables(ctx, pool)
	if err != nil {
		return err
	}
	for isEmpty := false; !isEmpty; { // triggers may add rows about those that go
		isEmpty = true
		for _, table := range tables {
			column := s.Key
			if table == s.Root {
				column = "id"
			}
			deleted, err := s.empty(ctx, pool, table, column, key)
			if err != nil {
				return dberr.Wrap("erasing rows of "+s.Name+"."+table, err)
			}
			isEmpty = isEmpty && deleted == 0
		}
	}
	return nil
}

// empty deletes the rows of a tenant in a table, and returns how many.
func (s Schema) empty(ctx context.Context, pool *pgxpool.Pool, table, column string, key any) (total int64, err error) {
	name, of := pgx.Identifier{s.Name, table}.Sanitize(), pgx.Identifier{column}.Sanitize()
	deletion := fmt.Sprintf(`delete from %s where ctid = any(array(select ctid from %s where %s = $1 limit %d))`, name, name, of, maxRows)
	for {
		var deleted int64
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `select set_config($1, 'on', true)`, SettingErasing); err != nil {
				return err //nolint:wrapcheck // Erase wraps it
			}
			tag, err := tx.Exec(ctx, deletion, key)
			deleted = tag.RowsAffected()
			return err //nolint:wrapcheck // Erase wraps it
		})
		total += deleted
		if err != nil || deleted == 0 {
			return total, err //nolint:wrapcheck // Erase wraps it
		}
	}
}

// tables returns the tables with the key and the root, each before those that it refers to.
func (s Schema) tables(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	rows, err := pool.Query(ctx, `
		select c.relname::text, coalesce(p.relname::text, ''), coalesce(f.confdeltype in ('n', 'd'), false)
		from pg_class c
		left join pg_constraint f on f.contype = 'f' and f.conrelid = c.oid and f.confrelid <> c.oid
		left join pg_class p on p.oid = f.confrelid and p.relnamespace = c.relnamespace
		where c.relnamespace = to_regnamespace($1) and c.relkind = 'r' and (c.relname = $2 or exists (
			select from pg_attribute a where a.attrelid = c.oid and a.attname = $3 and not a.attisdropped))
		order by 1, 2`, s.Name, s.Root, s.Key)
	if err != nil {
		return nil, dberr.Wrap("listing the tables of "+s.Name, err)
	}
	parents, optional := make(references), make(references)
	var table, parent string
	var isOptional bool
	if _, err := pgx.ForEachRow(rows, []any{&table, &parent, &isOptional}, func() error {
		switch {
		case parent == "":
			parents[table] = nil
		case isOptional:
			optional[table] = append(optional[table], parent)
		default:
			parents[table] = append(parents[table], parent)
		}
		return nil
	}); err != nil {
		return nil, dberr.Wrap("listing the tables of "+s.Name, err)
	}
	return childrenFirst(parents, optional, s.Root), nil
}

// references are tables and the tables that their foreign keys refer to.
type references map[string][]string

// reach reports whether a table refers to another, also through others. visited has the tables
// that were looked at: there may be circles.
func (r references) reach(from, to string, visited map[string]bool) bool {
	if from == to {
		return true
	}
	if visited[from] {
		return false
	}
	visited[from] = true
	return slices.ContainsFunc(r[from], func(parent string) bool { return r.reach(parent, to, visited) })
}

// childrenFirst orders tables so that each comes before its parents, and the root last. Foreign
// keys that become null, the optional ones, count where they are part of no circle: rows that are
// deleted first need no update.
func childrenFirst(parents, optional references, root string) []string {
	for table := range optional { // also those without others
		parents[table] = append(parents[table], root)
	}
	tables := slices.Sorted(maps.Keys(parents))
	for _, table := range slices.Sorted(maps.Keys(optional)) {
		for _, parent := range optional[table] {
			if !parents.reach(parent, table, make(map[string]bool)) {
				parents[table] = append(parents[table], parent)
			}
		}
	}
	var ordered []string
	visited := make(map[string]bool, len(parents))
	var visit func(table string)
	visit = func(table string) {
		if _, isListed := parents[table]; !isListed || visited[table] {
			return
		}
		visited[table] = true
		for _, parent := range parents[table] {
			visit(parent)
		}
		ordered = append(ordered, table) // after its parents
	}
	visit(root)
	for _, table := range tables {
		visit(table)
	}
	slices.Reverse(ordered)
	return ordered
}
