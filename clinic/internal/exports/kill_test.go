//go:build unix

package exports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/exports"
)

// A hub that is killed during an export continues it: each patient is there once.
func TestExportSurvivesKills(t *testing.T) {
	t.Parallel()
	hub := clinictest.StartHubProcess(t)
	clinic := hub.RegisterClinic()
	const patients = 20_000
	addPatients(clinic, patients)
	address := clinic.StartExport("?_type=Patient")
	last := 0
	for range 2 {
		require.Eventually(t, func() bool {
			written := clinic.QueryInt(`select coalesce(sum(resources), 0)::int from clinic.export_files where clinic_id = $1`)
			isAhead := written > last
			last = max(last, written)
			return isAhead
		}, 2*clinictest.Timeout, clinictest.Tick)
		require.Less(t, last, patients, "it was killed in the middle")
		hub.KillAndRestart(exports.ExportJob)
	}
	clinic.WaitForExport(address)
	requireEachPatientOnce(clinic, address, patients)
}
