package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// An import locks the patients of a batch by id, whatever the order of the file. While it
// waits for the first, it holds none of the others.
func TestImportsLockPatientsInOrder(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	first := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": clinictest.CPF})["id"].(string)
	last := clinic.OK(201, "POST", "/patients", object{"name": "Gil", "cpf": "529.982.247-25"})["id"].(string)
	require.Less(t, first, last)
	tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	const lock = `select from clinic.patients where id = $1 for update`
	_, err = tx.Exec(t.Context(), lock, first)
	require.NoError(t, err)
	created := clinic.UploadImport("csv", "nome;cpf\nGIL;529.982.247-25\nANA;"+clinictest.CPF+"\n")
	require.Equal(t, 202, created.Status, created.Text)
	require.Eventually(t, func() bool {
		return clinic.QueryInt("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.patients%for update%'") == 1
	}, clinictest.Timeout, clinictest.Tick)
	_, err = tx.Exec(t.Context(), lock+" nowait", last)
	require.NoError(t, err, "the import has the other one")
	require.NoError(t, tx.Rollback(t.Context()))
	clinictest.RequireImportCounts(t, clinic.WaitForImport(created.Body["id"].(string)), 0, 2, 0, 0)
}
