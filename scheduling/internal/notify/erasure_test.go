package notify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// An e-mail that is written while its client is erased is deleted with the client or not
// written at all, whichever of the two is first.
func TestErasureFindsEmailsInTheMaking(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	begin := func(statement string, args ...any) (commit func()) {
		tx, err := org.Hub.Host.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
		_, err = tx.Exec(t.Context(), statement, args...)
		require.NoError(t, err)
		return func() { require.NoError(t, tx.Commit(t.Context())) }
	}
	waiting := func(query string) {
		require.Eventually(t, func() bool {
			return org.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"+query+"%'") == 1
		}, time.Minute, 20*time.Millisecond, query)
	}

	release := begin(`lock table hub.mails in share mode`)
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	var client string
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select client_id from scheduling.appointments where id = $1`, created["appointment_id"]).Scan(&client))
	waiting("CreateMail")
	erased := make(chan moduletest.Response, 1)
	go func() {
		got, _ := org.Try("DELETE", "/clients/"+client, nil)
		erased <- got
	}()
	waiting("AnonymizeClient")
	release()
	require.Equal(t, 204, (<-erased).Status)
	org.WaitForJobs()
	require.Zero(t, org.Count("hub.mails"))

	second := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(time.Hour))
	org.WaitForEmails("gil@example.com", 1)
	org.WaitForEmails("desk@example.com", 1)
	commit := begin(`update scheduling.clients set anonymized_at = now() where anonymized_at is null`)
	org.Transition(200, "confirm", second["appointment_id"].(string), nil)
	waiting("LockClient")
	commit()
	org.WaitForJobs()
	require.Equal(t, 2, org.Count("hub.mails"), "no third is written")
}
