//go:build unix

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A hub that is killed during an import continues it: each patient and each event exists once.
func TestImportSurvivesKills(t *testing.T) {
	t.Parallel()
	hub := clinictest.StartHubProcess(t)
	clinic := hub.RegisterClinic()
	const patients = 4000
	created := clinic.UploadImport("csv", patientTable(patients))
	require.Equal(t, 202, created.Status, created.Text)
	id := created.Body["id"].(string)
	far := 0
	for range 3 {
		require.Eventually(t, func() bool {
			row := clinic.QueryInt(`select processed from (select created + updated + skipped + failed as processed from clinic.imports where clinic_id = $1) i`)
			ahead := row > far
			far = max(far, row)
			return ahead
		}, 2*clinictest.Timeout, clinictest.Tick)
		require.Less(t, far, patients, "it was killed in the middle")
		hub.KillAndRestart("import-file")
	}
	require.Eventually(t, func() bool { return clinic.Get("/imports/" + id)["status"] == "done" }, 4*clinictest.Timeout, clinictest.Tick)
	clinictest.RequireImportCounts(t, clinic.Get("/imports/"+id), patients, 0, 0, 0)
	require.Equal(t, patients, clinic.QueryInt(`select count(distinct cpf_hmac) from clinic.patients where clinic_id = $1`))
	require.Equal(t, patients, clinic.QueryInt(`select count(*) from clinic.patients where clinic_id = $1`))
	require.Equal(t, patients, clinic.QueryInt(`select count(*) from hub.events where tenant_id = $1 and event_type = 'patient.created'`))
	require.Equal(t, patients, clinic.QueryInt(`select count(distinct convert_from(body, 'UTF8')::jsonb->'data'->>'patient_id') from hub.events where tenant_id = $1`))
}
