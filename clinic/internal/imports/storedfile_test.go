package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// An uploaded file is encrypted while it waits, in every table.
func TestUploadedFileIsEncrypted(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(t, err)
	created := clinic.UploadImport("csv", "nome;cpf;email\nZuleica Prado;529.982.247-25;zuleica@example.com\n")
	require.Equal(t, 202, created.Status, created.Text)
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.import_chunks where clinic_id = $1`))
	for _, needle := range []string{"zuleica", "529.982.247-25", "52998224725"} {
		require.Empty(t, hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, needle))
	}
	require.NoError(t, tx.Rollback(t.Context()))
	clinictest.RequireImportCounts(t, clinic.WaitForImport(created.Body["id"].(string)), 1, 0, 0, 0)
}
