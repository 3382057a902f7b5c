//go:build unix

package erasure_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A waiting deletion request survives two kills of the process: while its event is unsent, and
// while the job updates it. Nobody reads the request meanwhile: that would update it too.
func TestDeletionSurvivesKills(t *testing.T) {
	t.Parallel()
	hub := clinictest.StartHubProcess(t)
	clinic := hub.RegisterClinic()
	messaging := clinic.ConnectPeer("messaging")
	messaging.SetStatus(503)
	path := clinic.RequestDeletion(clinic.AddPatient(clinictest.Phone))
	require.Equal(t, "waiting", clinic.Get(path)["status"])
	hub.Kill()
	require.Empty(t, messaging.Received("patient.deleted"))
	messaging.SetStatus(0)
	hub.KillAndRestart("deletions") // for it may have been at work
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, 4*clinictest.Timeout, clinictest.Tick, "the event that waited is sent")
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.deleted' and status = 1`) == 1
	}, 2*clinictest.Timeout, clinictest.Tick)
	status := func() (s string) {
		require.NoError(t, hub.DB.QueryRow(t.Context(), `select status from clinic.deletion_requests where clinic_id = $1`, clinic.ID).Scan(&s))
		return s
	}
	require.Equal(t, "waiting", status(), "the job has not seen it yet")

	held, err := hub.DB.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(t.Context(), `select from clinic.deletion_requests where clinic_id = $1 for update`, clinic.ID)
	require.NoError(t, err)
	hub.Exec(`update hub.jobs set due_at = now() where job = 'deletions'`) // or wait for five minutes
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.jobs j where $1::uuid is not null and job = 'deletions' and leased_to > now()
			and exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like '%clinic.deletion_requests%')`) == 1
	}, 2*clinictest.Timeout, clinictest.Tick, "the job is at work")
	hub.Kill()
	require.NoError(t, held.Rollback(t.Context()))
	require.Equal(t, "waiting", status())
	hub.KillAndRestart("deletions")
	require.Eventually(t, func() bool { return status() == "completed" }, 2*clinictest.Timeout, clinictest.Tick, "%s", hub.LogTail())
	request := clinic.Get(path)
	require.Equal(t, map[string]string{"messaging": "acknowledged"}, peers(request))
	require.NotNil(t, request["completed_at"])
}
