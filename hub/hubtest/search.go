//go:build unix

package hubtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// FindInDatabase searches every column of every table of a database, whichever schema it
// is in, as a search of a dump would, ignoring case. It returns where the needle was found, as
// schema.table.column. It decodes nothing, such as the escapes of JSON.
func FindInDatabase(t testing.TB, url, needle string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `
		select n.nspname, c.relname, a.attname, a.atttypid = 'bytea'::regtype
		from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
		where c.relkind in ('r', 'm') and a.attnum > 0 and not a.attisdropped
		  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
		order by 1, 2, 3`)
	require.NoError(t, err)
	var schema, table, column string
	var raw bool
	columns := make(map[string][]string) // by table, the tests of their columns
	names := make(map[string][]string)
	_, err = pgx.ForEachRow(rows, []any{&schema, &table, &column, &raw}, func() error {
		// Bytes are compared as text too, with what is not ASCII written as \ooo.
		value, want := pgx.Identifier{column}.Sanitize()+"::text", "$1::text"
		if raw {
			value, want = "encode("+pgx.Identifier{column}.Sanitize()+", 'escape')", "encode(convert_to($1::text, 'UTF8'), 'escape')"
		}
		from := pgx.Identifier{schema, table}.Sanitize()
		names[from] = append(names[from], schema+"."+table+"."+column)
		columns[from] = append(columns[from], "coalesce(bool_or(strpos(lower("+value+"), lower("+want+")) > 0), false)")
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, columns, "the database has no tables")
	var found []string
	for from, tests := range columns {
		var hits []bool
		err := conn.QueryRow(ctx, "select array["+strings.Join(tests, ", ")+"] from "+from, needle).Scan(&hits)
		require.NoError(t, err, from)
		for i, hit := range hits {
			if hit {
				found = append(found, names[from][i])
			}
		}
	}
	slices.Sort(found)
	return found
}
