package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/store"
)

// A merge knows every column that refers to patients: the foreign keys of the catalog are
// those it moves, deletes or refuses.
func TestMergeKnowsEveryPatientColumn(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinicAlone(t)
	rows, err := c.Hub.Host.Pool.Query(t.Context(), `
		select distinct c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
		where c.relnamespace = 'clinic'::regnamespace and c.relkind in ('r', 'p') and (a.attname = 'patient_id' or exists (
			select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = 'clinic.patients'::regclass and k.conkey[3] = a.attnum))`)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	known := []string{"import_matches.patient_id", "deletion_requests.patient_id"}
	for _, column := range store.MovedColumns {
		known = append(known, column.Name())
	}
	require.ElementsMatch(t, known, columns,
		"a merge has to move a new column: see MovedColumns")
}
