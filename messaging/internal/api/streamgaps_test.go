package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// resume opens a stream at the beginning, and makes a contact then: a stream that goes on where it
// was sees nothing but that.
func resume(company *messagingtest.Company) streamEvent {
	company.T.Helper()
	stream, status := openStream(company.T, company, "", "Authorization", "Bearer "+company.Token, "Last-Event-ID", "0")
	require.Equal(company.T, 200, status)
	company.OK(201, "POST", "/contacts", object{"name": "Later", "number": "15551230000"})
	return stream.next()
}

// addChanges adds changes of so many contacts, without numbers, as while no stream is open.
func addChanges(company *messagingtest.Company, n int, age time.Duration) {
	company.T.Helper()
	company.Hub.Exec(`insert into messaging.changes (company_id, kind, action, item_id, at)
		select $1, 'contact', 'update', '1', now() - $3 * interval '1 second' from generate_series(1, $2::int)`, company.ID, n, int(age.Seconds()))
}

// An inbox that was closed for a night, in which changes were deleted that no stream has seen, is
// loaded anew, whether or not something happened in the last hour.
func TestInboxIsResetAfterNight(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	lively, idle := company.AnotherCompany(), company.AnotherCompany()
	addChanges(company, 1500, 2*time.Hour)
	addChanges(lively, 3, 2*time.Hour)
	addChanges(lively, 2, time.Minute)
	company.RunJob("expired-changes")
	require.Equal(t, 2, company.Hub.Count(`messaging.changes`))
	require.Equal(t, "reset", resume(company).Name)
	require.Equal(t, "reset", resume(lively).Name)
	require.Equal(t, "contact", resume(idle).Name, "nothing is missing")
}

// Streams whose changes are deleted before they are read say so, and go on.
func TestOpenStreamFindsGap(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	stream, status := openStream(t, company, "", "Authorization", "Bearer "+company.Token)
	require.Equal(t, 200, status)
	stream.position()
	company.Hub.Exec(`insert into messaging.change_cursors as k (company_id, seq) values ($1, 7) on conflict (company_id) do update set seq = k.seq + 7`, company.ID)
	require.Equal(t, "reset", stream.next().Name)
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "15551230000"})
	require.Equal(t, "contact", stream.next().Name)
}

// A crash of the database empties the table of changes, which is unlogged: streams begin anew, those
// that are open and those that come back.
func TestCrashOfDatabaseResetsStreams(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	other := company.AnotherCompany()
	crash := func() { company.Hub.Exec(`truncate messaging.changes, messaging.changes_marker`) }
	addChanges(other, 3, time.Minute)
	crash()
	require.Equal(t, "reset", resume(other).Name)
	stream, status := openStream(t, company, "", "Authorization", "Bearer "+company.Token)
	require.Equal(t, 200, status)
	stream.position()
	crash()
	require.Equal(t, "reset", stream.next().Name)
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "15551230000"})
	require.Equal(t, "contact", stream.next().Name)
	require.Equal(t, 1, company.Hub.Count(`messaging.changes_marker`))
}
