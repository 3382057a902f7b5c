//go:build unix

package clinic_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A request to be forgotten that waits for a peer outlives the process twice: while the
// event is still to be sent, and while the job that follows requests is at work. Nobody
// asks for it meanwhile: that would follow it too.
func TestDeletionSurvivesKills(t *testing.T) {
	t.Parallel()
	k := startKillable(t)
	p := k.practice()
	m := p.connect("messaging")
	m.answer(503)
	path := p.deleted(p.patient(phone))
	require.Equal(t, "waiting", p.get(path)["status"])
	k.Kill()
	require.Empty(t, m.arrived("patient.deleted"))
	m.answer(0)
	k.killed("deletions") // for it may have been at work
	require.Eventually(t, func() bool { return len(m.arrived("patient.deleted")) == 1 }, 4*soon, tick, "the event that waited is sent")
	require.Eventually(t, func() bool {
		return p.count(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.deleted' and status = 1`) == 1
	}, 2*soon, tick)
	status := func() (s string) {
		require.NoError(t, k.db.QueryRow(t.Context(), `select status from clinic.deletion_requests where clinic_id = $1`, p.id).Scan(&s))
		return s
	}
	require.Equal(t, "waiting", status(), "the job has not seen it yet")

	held, err := k.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(t.Context(), `select from clinic.deletion_requests where clinic_id = $1 for update`, p.id)
	require.NoError(t, err)
	k.exec(`update hub.jobs set due_at = now() where job = 'deletions'`) // or wait for five minutes
	require.Eventually(t, func() bool {
		return p.count(`select count(*) from hub.jobs j where $1::uuid is not null and job = 'deletions' and leased_to > now()
			and exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like '%clinic.deletion_requests%')`) == 1
	}, 2*soon, tick, "the job is at work")
	k.Kill()
	require.NoError(t, held.Rollback(t.Context()))
	require.Equal(t, "waiting", status())
	k.killed("deletions")
	require.Eventually(t, func() bool { return status() == "completed" }, 2*soon, tick, "%s", k.LogTail())
	done := p.get(path)
	require.Equal(t, map[string]string{"messaging": "acknowledged"}, peers(done))
	require.NotNil(t, done["completed_at"])
}
