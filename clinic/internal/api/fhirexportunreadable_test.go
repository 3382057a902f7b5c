package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Records that cannot be decrypted, also a whole batch of them, are left out of an export. Its
// manifest names them; the others are there.
func TestExportLeavesOutUnreadableRecords(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	patient := clinic.AddPatient(clinictest.Phone)
	clinic.OK(201, "POST", "/patients/"+patient+"/records", object{"date": "2026-03-02", "type": "x", "content": "Kept"})
	const unreadable = 60
	clinic.Exec(`
		insert into clinic.records (clinic_id, env, id, patient_id, date, type, professional, content_enc)
		select $1, 'live', ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, $2, '2026-03-01', 'secret', '', '\x00112233' from generate_series(1, $3::int) n`, patient, unreadable)

	manifest := clinic.WaitForExport(clinic.StartExport(""))
	files := ExportedFiles(clinic, manifest)
	require.Len(t, files["DocumentReference"], 1)
	require.Len(t, files["Patient"], 1)
	require.Len(t, manifest["error"], 1)
	errors := ExportedFiles(clinic, object{"output": manifest["error"]})["OperationOutcome"]
	require.Len(t, errors, unreadable)
	require.Contains(t, errors[0], `"diagnostics":"DocumentReference/00000000-0000-4000-8000-000000000001 cannot be read and was left out."`)
	require.NotContains(t, errors[0], "secret")
	require.NotContains(t, errors[0], patient)
	require.Contains(t, clinic.Hub.Log(), "an export leaves it out")
}
