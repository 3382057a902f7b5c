//go:build quiet && unix

package schedules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// Tests with the tag quiet measure times: make test runs them last and alone.

// "10,000 due schedules of 20 companies are dispatched within a minute, and one company with
// 10,000 delays another company's single one by at most a few seconds."
func TestTenThousandSchedules(t *testing.T) {
	hub := moduletest.StartHubProcess(t)
	const companies, schedules = 20, 10_000
	var all []*messagingtest.Company
	for range companies {
		company := messagingtest.SignUp(t, hub.Product("messaging"))
		company.Connect()
		all = append(all, company)
	}
	fill := func(where string, contacts int) {
		hub.Exec(`with people as (
				insert into messaging.contacts (company_id, name, number, number_key)
				select c.id, 'Contact ' || n, (5511970000000 + n + c.id * 100000)::text, (5511970000000 + n + c.id * 100000)::text from messaging.companies c, generate_series(1, $1) n where `+where+` returning company_id, id)
			insert into messaging.schedules (company_id, contact_id, body, send_at) select company_id, id, 'Hi', now() from people`, contacts)
	}
	pending := func() int { return hub.Count(`select count(*) from messaging.schedules where status <> 'sent'`) }

	begin := time.Now()
	fill("true", schedules/companies)
	require.Eventually(t, func() bool { return pending() == 0 }, time.Minute, 100*time.Millisecond, hub.LogTail())
	t.Logf("%d schedules of %d companies were sent in %s", schedules, companies, time.Since(begin).Round(100*time.Millisecond))
	require.Equal(t, schedules, hub.Count(`select count(*) from messaging.sandbox_messages`))

	hub.Exec(`delete from messaging.contacts`)
	large, small := all[0], all[1]
	fill("c.id = (select min(id) from messaging.companies)", schedules)
	require.NotZero(t, large.ID)
	require.Eventually(t, func() bool { return hub.Count(`select count(*) from messaging.schedules where status = 'sent'`) > 0 }, time.Minute, 10*time.Millisecond)
	begin = time.Now()
	contact := small.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})["id"]
	hub.Exec(`insert into messaging.schedules (company_id, contact_id, body, send_at) values ($1, $2, 'Hi', now())`, small.ID, contact)
	require.Eventually(t, func() bool {
		return hub.Count(`select count(*) from messaging.schedules where company_id = $1 and status = 'sent'`, small.ID) == 1
	}, time.Minute, 10*time.Millisecond)
	t.Logf("another company's schedule was sent after %s, while %d waited", time.Since(begin).Round(10*time.Millisecond), pending())
	require.Less(t, time.Since(begin), 5*time.Second)
}
