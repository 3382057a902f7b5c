package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// failDeletes makes the database refuse to delete the rows of a table that a condition on old
// selects.
func failDeletes(company *messagingtest.Company, table, condition string) {
	company.T.Helper()
	for _, sql := range []string{
		`create or replace function refuse_deletion() returns trigger language plpgsql as $$ begin raise exception 'this row stays'; end $$`,
		`create trigger refuse_deletion before delete on ` + table + ` for each row when (` + condition + `) execute function refuse_deletion()`,
	} {
		_, err := company.Hub.Host.Pool.Exec(company.T.Context(), sql)
		require.NoError(company.T, err)
	}
}

// A file that cannot be deleted keeps no other file from being deleted; the job says what failed.
func TestUndeletableFilesHoldUpNothing(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	_, _, ticket := openTicket(company)
	company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile})
	require.Len(t, company.Hub.Files(), 1)
	failDeletes(company, "media_files", "old.name = 'stays'")
	for _, sql := range []string{ // more of them than the job looks at in a batch, all before the other file
		`insert into media_files (company_id, id, blob_id, media_type, mime_type, name, erased_at)
			select company_id, gen_random_uuid()::text, gen_random_uuid(), media_type, mime_type, 'stays', now() - interval '1 hour' from media_files, generate_series(1, 501)`,
		`delete from messages where media_id is not null`,
		`update media_files set erased_at = now() where erased_at is null`,
	} {
		_, err := company.Hub.Host.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := company.Hub.Job("erase-media").Run(ctx, nil)
	require.ErrorContains(t, err, "this row stays")
	require.Less(t, len(err.Error()), 10_000, "not each failure is repeated")
	require.Empty(t, company.Hub.Files())
	require.Equal(t, 501, company.Hub.Count("messaging.media_files"))
}

// A company whose messages cannot be deleted keeps neither its own schedules nor another company's
// messages from being deleted.
func TestUndeletableMessagesHoldUpNothing(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	first := messagingtest.NewCompanyAt(t, start)
	companies := []*messagingtest.Company{first, first.AnotherCompany()}
	for _, company := range companies {
		_, _, ticket := openTicket(company)
		contact := company.Get(ticket)["contactId"]
		company.OK(201, "POST", "/schedules", object{"body": "Later", "sendAt": start.Add(time.Hour), "contactId": contact})
		company.OK(200, "PUT", ticket, object{"status": "closed"})
		company.OK(200, "PUT", "/company", object{"retentionDays": 30})
	}
	for _, sql := range []string{`update messages set sent_at = $1`, `update schedules set send_at = $1, updated_at = $1, status = 'error', error = 'refused'`} {
		_, err := first.Hub.Host.Pool.Exec(t.Context(), sql, start.AddDate(0, 0, -31))
		require.NoError(t, err)
	}
	failDeletes(first, "messages", fmt.Sprintf("old.company_id = %d", first.ID))
	require.ErrorContains(t, first.Hub.Job("retention").Run(t.Context(), nil), "this row stays")
	left := func(table string, company *messagingtest.Company) int {
		return first.Hub.Count("messaging."+table+" where company_id = $1", company.ID)
	}
	require.Equal(t, []int{1, 0}, []int{left("messages", first), left("messages", companies[1])})
	require.Equal(t, []int{0, 0}, []int{left("schedules", first), left("schedules", companies[1])})
}
