//go:build unix

package schedules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

const (
	tick    = 20 * time.Millisecond
	timeout = 4 * time.Minute
)

// Messages that come due while the hub is killed, again and again, and while it is down, are
// sent once.
func TestSchedulesSurviveKills(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	company.Connect()
	const schedules = 600
	hub.Exec(`insert into messaging.contacts (company_id, name, number, number_key)
		select $1, 'Contact ' || n, (5511970000000 + n)::text, (5511970000000 + n)::text from generate_series(1, 600) n`, company.ID)
	hub.Kill()
	hub.Exec(`insert into messaging.schedules (company_id, contact_id, body, send_at) select company_id, id, 'Hi', now() - interval '1 hour' from messaging.contacts`)
	hub.KillAndRestart("schedules")
	hub.AwaitCount(0, `select count(*) from messaging.messages where origin = 'schedule'`)
	messagingtest.KillAndRestart(hub, "schedules") // while they are written
	far := 0
	for range 3 {
		far = hub.AwaitCount(far+20, `select count(*) from messaging.sandbox_messages`)
		require.Less(t, far, schedules, "it was killed in the middle")
		messagingtest.KillAndRestart(hub, "schedules")
	}
	require.Eventually(t, func() bool {
		return hub.Count(`select count(*) from messaging.schedules where status = 'sent'`) == schedules
	}, timeout, tick)
	require.Equal(t, schedules, hub.Count(`select count(*) from messaging.sandbox_messages`))
	require.Equal(t, schedules, hub.Count(`select count(distinct recipient) from messaging.sandbox_messages`))
	require.Equal(t, schedules, hub.Count(`select count(*) from messaging.messages where origin = 'schedule'`))
	require.Equal(t, schedules, hub.Count(`select count(*) from messaging.tickets`))
	require.Zero(t, hub.Count(`select count(*) from messaging.schedules where attempts <> 1`))
}
