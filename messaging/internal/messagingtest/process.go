//go:build unix

package messagingtest

import "integrationhub/hub/hubtest/moduletest"

// KillAndRestart kills a hub and starts it again. What it was sending, delivering or running
// goes on at once: for the test the killed process's leases are over.
func KillAndRestart(hub *moduletest.HubProcess, jobs ...string) {
	hub.T.Helper()
	hub.Kill()
	hub.Exec(`update messaging.outbox set leased_until = now() - interval '1 second' where leased_until is not null`)
	hub.Exec(`update hub.leases set due_at = now()`)
	hub.Exec(`delete from messaging.connection_leases`)
	hub.KillAndRestart(jobs...)
}
