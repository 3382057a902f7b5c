package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/module/dberr"
)

// errNothing is returned for a table that has no row to copy.
var errNothing = errors.New("no row")

// reference is a foreign key of the schema.
type reference struct {
	name, from, to string
	columns        []string
}

// references reads every foreign key of the clinic's schema.
func references(clinic *clinictest.Clinic) []reference {
	clinic.T.Helper()
	rows, err := clinic.Hub.Host.Pool.Query(clinic.T.Context(), `
		select c.conname, (select 'clinic.' || relname from pg_class where oid = c.conrelid), (select 'clinic.' || relname from pg_class where oid = c.confrelid),
			array(select a.attname::text from unnest(c.conkey) k join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k)
		from pg_constraint c join pg_namespace n on n.oid = c.connamespace where n.nspname = 'clinic' and c.contype = 'f' order by 1, 2`)
	require.NoError(clinic.T, err)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r reference, err error) {
		err = row.Scan(&r.name, &r.from, &r.to, &r.columns)
		return r, err
	})
	require.NoError(clinic.T, err)
	return list
}

// columnsOf reads the columns of every table of the clinic's schema.
func columnsOf(clinic *clinictest.Clinic) map[string][]string {
	clinic.T.Helper()
	rows, err := clinic.Hub.Host.Pool.Query(clinic.T.Context(), `select 'clinic.' || table_name, array_agg(column_name::text) from information_schema.columns
		where table_schema = 'clinic' and table_name <> 'goose_db_version' group by 1`)
	require.NoError(clinic.T, err)
	tables := make(map[string][]string)
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		tables[table] = slices.Clone(columns)
		return nil
	})
	require.NoError(clinic.T, err)
	return tables
}

// Clinic and environment are part of every foreign key and every primary key: no row can refer
// to another clinic, or from live to test.
func TestEveryReferenceStaysInItsClinic(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	tables := columnsOf(clinic)
	has := func(table string, columns ...string) bool {
		return !slices.ContainsFunc(columns, func(text string) bool { return !slices.Contains(tables[table], text) })
	}
	named := make(map[string][]string) // columns that references hold, by table
	for _, r := range references(clinic) {
		named[r.from] = append(named[r.from], r.columns...)
		if has(r.from, "clinic_id") && has(r.to, "clinic_id") {
			require.Contains(t, r.columns, "clinic_id", "%s of %s", r.name, r.from)
		}
		if has(r.from, "env") && has(r.to, "env") {
			require.Contains(t, r.columns, "env", "%s of %s", r.name, r.from)
		}
	}
	for table, columns := range tables {
		if !has(table, "clinic_id") {
			continue
		}
		require.Contains(t, named[table], "clinic_id", "%s belongs to no clinic that is there", table)
		for _, column := range columns {
			if slices.Contains([]string{"patient_id", "appointment_id", "import_id", "request_id", "created_by", "settled_by"}, column) {
				require.Contains(t, named[table], column, "%s of %s refers to nothing", column, table)
			}
		}
		if has(table, "env") {
			var primary []string
			require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
				where i.indrelid = $1::regclass and i.indisprimary)`, table).Scan(&primary))
			require.Subset(t, primary, []string{"clinic_id", "env"}, "primary key of %s", table)
		}
	}
	require.Greater(t, len(tables), 12)
}

// Unique indexes include clinic and environment, so that a conflict reveals nothing about
// another clinic.
func TestUniqueIndexesIncludeTheScope(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	rows, err := clinic.Hub.Host.Pool.Query(t.Context(), `
		select c.relname::text, array(select coalesce(a.attname::text, '') from unnest(i.indkey) with ordinality k(attnum, n)
			left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n)
		from pg_index i join pg_class c on c.oid = i.indexrelid
		where i.indisunique and c.relnamespace = 'clinic'::regnamespace
		and (select count(*) from pg_attribute a where a.attrelid = i.indrelid and a.attname in ('clinic_id', 'env')) = 2`)
	require.NoError(t, err)
	var name string
	var columns []string
	seen := 0
	_, err = pgx.ForEachRow(rows, []any{&name, &columns}, func() error {
		require.Greater(t, len(columns), 2, name)
		require.Equal(t, []string{"clinic_id", "env"}, columns[:2], name)
		seen++
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 15)
}

// Each row of a patient, copied with the patient of another clinic, or from live to test, is
// refused.
func TestForeignKeysHold(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	chart := &clinictest.Chart{Clinic: clinic.Clinic}
	chart.AddChart(clinic.PatientID)
	db := clinic.Hub.Host.Pool
	foreign := clinic.AnotherClinic().AddPatient("+5511911113333")
	tried := 0
	for table, columns := range columnsOf(clinic.Clinic) {
		if !slices.Contains(columns, "patient_id") {
			continue
		}
		var generated []string
		require.NoError(t, db.QueryRow(t.Context(), `select array(select attname::text from pg_attribute where attrelid = $1::regclass and attgenerated <> '')`, table).Scan(&generated))
		columns = slices.DeleteFunc(columns, func(text string) bool { return slices.Contains(generated, text) })
		for name, replaced := range map[string]map[string]string{
			"another clinic's patient": {"patient_id": "'" + foreign + "'::uuid"},
			"live in test":             {"env": "'test'"},
		} {
			values := slices.Clone(columns)
			for i, column := range columns {
				if value, ok := replaced[column]; ok {
					values[i] = value
				} else if column == "id" {
					values[i] = "'" + uuid.NewString() + "'::uuid"
				} else if slices.Contains([]string{"source_id", "event_id", "external_id", "external_ref", "phone_key", "ticket_id"}, column) {
					values[i] = fmt.Sprintf("case when %s is null then null else '+551100000000' end", column)
				}
			}
			err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
				tag, err := tx.Exec(t.Context(), fmt.Sprintf("insert into %s (%s) select %s from %s where clinic_id = $1 and patient_id is not null limit 1",
					table, strings.Join(columns, ", "), strings.Join(values, ", "), table), clinic.ID)
				if err == nil && tag.RowsAffected() == 0 {
					return errNothing
				}
				if err == nil {
					_, err = tx.Exec(t.Context(), `set constraints all immediate`)
				}
				return err
			})
			if errors.Is(err, errNothing) {
				continue
			}
			tried++
			require.ErrorContains(t, err, "SQLSTATE 23503", "%s in %s", name, table)
			require.NotEmpty(t, dberr.ConstraintName(err))
		}
	}
	require.GreaterOrEqual(t, tried, 8, "tables with rows to copy")
}
