package imports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/imports"
)

// A batch that the database cannot import in time is halved. A row that is slow by itself
// fails alone, and the import ends with the rest.
func TestImportSplitsSlowBatches(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `
		create function clinic.refuse_slow() returns trigger language plpgsql as $$
		begin
			if (select count(*) > 30 or bool_or(name = 'Paciente 77') from added) then
				raise exception 'canceling statement due to statement timeout' using errcode = '57014';
			end if;
			return null;
		end $$;
		create trigger slow after insert on clinic.patients referencing new table as added for each statement execute function clinic.refuse_slow()`)
	require.NoError(t, err)
	upload := clinic.UploadImport("csv", patientTable(130))
	require.Equal(t, 202, upload.Status, upload.Text)
	got := waitWithoutPauses(clinic, upload.Body["id"].(string))
	clinictest.RequireImportCounts(t, got, 129, 0, 0, 1)
	require.Equal(t, []any{object{"line": 79.0, "error": "took too long to import, and was left out; import this line again"}}, got["errors"])
	require.Equal(t, 129, clinic.QueryInt(`select count(*) from hub.events where tenant_id = $1 and event_type = 'patient.created'`))
}

// waitWithoutPauses waits until an import is done, without its pauses before a slow row is tried
// again.
func waitWithoutPauses(clinic *clinictest.Clinic, id string) (result object) {
	clinic.T.Helper()
	require.Eventually(clinic.T, func() bool {
		_, err := clinic.Hub.Host.Pool.Exec(clinic.T.Context(), `update hub.jobs set due_at = now() where job = $1 and due_at > now()`, imports.ImportJob)
		require.NoError(clinic.T, err)
		result = clinic.Get("/imports/" + id)
		return result["status"] == "done"
	}, clinictest.Timeout, clinictest.Tick)
	return result
}

// A database that stalls for a while costs no row of an import.
func TestStalledDatabaseFailsNoRow(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	pool := clinic.Hub.Host.Pool
	_, err := pool.Exec(t.Context(), `
		create sequence clinic.tries;
		create function clinic.refuse_all() returns trigger language plpgsql as $$
		begin
			if nextval('clinic.tries') <= 5 then
				raise exception 'canceling statement due to statement timeout' using errcode = '57014';
			end if;
			return null;
		end $$;
		create trigger slow after insert on clinic.patients for each statement execute function clinic.refuse_all()`)
	require.NoError(t, err)
	upload := clinic.UploadImport("csv", patientTable(3))
	require.Equal(t, 202, upload.Status, upload.Text)
	clinictest.RequireImportCounts(t, waitWithoutPauses(clinic, upload.Body["id"].(string)), 3, 0, 0, 0)
}

// A run whose time is over before its batch was imported leaves half of the batch to the next
// run.
func TestImportRunOutOfTime(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	patient := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": clinictest.CPF})["id"].(string)
	tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `select from clinic.patients where id = $1 for update`, patient)
	require.NoError(t, err)
	created := clinic.UploadImport("csv", "nome;cpf\nANA;"+clinictest.CPF+"\nBia;\nCaio;\n")
	require.Equal(t, 202, created.Status, created.Text)
	id := created.Body["id"].(string)

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, clinic.Job(imports.ImportJob).Run(ctx, fmt.Appendf(nil, `{"clinic":%q,"env":"live","id":%q}`, clinic.ID, id)))
	var payload struct {
		MaxRows int `json:"max_rows"`
	}
	var encoded []byte
	require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select payload from hub.jobs where job = $1 and key = $2 order by id desc limit 1`, imports.ImportJob, id).Scan(&encoded))
	require.NoError(t, json.Unmarshal(encoded, &payload))
	require.Equal(t, 1, payload.MaxRows)
	require.NoError(t, tx.Rollback(t.Context()))
	clinictest.RequireImportCounts(t, clinic.WaitForImport(id), 2, 1, 0, 0)
}
