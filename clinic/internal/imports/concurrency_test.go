package imports_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
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

// waitForLockWaits waits until a number of statements wait for locks of rows.
func waitForLockWaits(clinic *clinictest.Clinic, count int) {
	clinic.T.Helper()
	require.Eventually(clinic.T, func() bool {
		return clinic.QueryInt("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%clinic.patients%'") == count
	}, clinictest.Timeout, clinictest.Tick)
}

// A patient whom an import is about to update is merged into another meanwhile: the import
// updates the survivor, and creates no second patient.
func TestImportMeetsAMerge(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	merged := uuid.MustParse(clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone})["id"].(string))
	survivor := uuid.MustParse(clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "email": "ana@example.com"})["id"].(string))
	var user uuid.UUID
	require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select id from clinic.users where clinic_id = $1`, clinic.ID).Scan(&user))
	scope := store.Scope{Clinic: clinic.ID, Env: hub.Live}
	var id string
	require.NoError(t, store.New(clinic.Hub.Host).InTx(t.Context(), "merging beside an import", func(tx *store.Tx) error {
		if _, err := tx.LockPatients(t.Context(), scope.Clinic, scope.Env, []uuid.UUID{merged, survivor}); err != nil {
			return err
		}
		created := clinic.UploadImport("csv", "nome;telefone;email\nAna Souza;"+clinictest.Phone+";souza@example.com\n")
		require.Equal(t, 202, created.Status, created.Text)
		id = created.Body["id"].(string)
		waitForLockWaits(clinic, 1)
		_, err := tx.MergePatients(t.Context(), scope, merged, survivor, user)
		return err
	}))
	clinictest.RequireImportCounts(t, clinic.WaitForImport(id), 0, 1, 0, 0)
	patients := clinic.Items("/patients")
	require.Len(t, patients, 1)
	require.Equal(t, survivor.String(), patients[0]["id"])
	require.Equal(t, "souza@example.com", patients[0]["email"])
}

// A patient whom an import is about to update is erased meanwhile: the import does not bring
// the data back.
func TestImportMeetsAnErasure(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	patient := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone, "cpf": clinictest.CPF})["id"].(string)
	tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `select from clinic.patients where id = $1 for update`, patient)
	require.NoError(t, err)
	erased := make(chan int, 1)
	go func() {
		got, err := clinic.Try("POST", "/patients/"+patient+"/deletion-request", nil)
		if err != nil {
			got.Status = 0
		}
		erased <- got.Status
	}()
	waitForLockWaits(clinic, 1)
	created := clinic.UploadImport("csv", "nome;telefone;email;cpf\nAna Souza;"+clinictest.Phone+";ana@example.com;"+clinictest.CPF+"\n")
	require.Equal(t, 202, created.Status, created.Text)
	waitForLockWaits(clinic, 2)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 202, <-erased)
	clinictest.RequireImportCounts(t, clinic.WaitForImport(created.Body["id"].(string)), 0, 0, 1, 0)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.patients where clinic_id = $1 and status <> 'anonymized'`))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.import_matches where clinic_id = $1`))
}
