package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A company that is deleted leaves no row in any table and no file, and another loses none.
func TestDeletedCompanyIsErased(t *testing.T) {
	t.Parallel()
	gone, other := fillCompanies(t)
	other.FlushOutbox()
	counts := func(c *filledCompany) map[string]int {
		return c.Hub.RowCounts("companies", "company_id", c.ID, "changes_marker", "known_logins", "login_failures", "mailed_tokens", "refresh_tokens", "sandbox_faults", "sandbox_messages", "sandbox_pairings", "sandbox_phones", "sandbox_sessions", "schema_version", "stream_tickets")
	}
	kept := counts(other)
	require.GreaterOrEqual(t, len(counts(gone)), 15, "tables: %v", counts(gone))
	gone.Hub.DeleteTenant(gone.Tenant)
	require.Empty(t, counts(gone))
	require.Equal(t, kept["messages"], counts(other)["messages"])
	require.Equal(t, kept["media_files"], counts(other)["media_files"])
	require.Equal(t, 401, gone.Call("GET", "/tickets", nil).Status)
	require.Equal(t, 401, gone.program.Call("POST", "/api/messages/send", object{"number": contactNumber, "body": "Oi"}).Status)
	require.Equal(t, 200, other.Call("GET", "/media/"+other.ids["/media"].(string), nil).Status)
}

// A suspended company sends nothing: what waits is sent once it is resumed.
func TestSuspendedCompanySendsNothing(t *testing.T) {
	t.Parallel()
	company, other := fillCompanies(t)
	company.SetNetwork("offline")
	company.OK(201, "POST", "/tickets/"+fmt.Sprint(company.ids["/tickets"])+"/messages", object{"body": "later"})
	company.Hub.Suspend(company.Tenant)
	company.Refused(403, "ERR_TENANT_SUSPENDED", "GET", "/tickets", nil)
	company.program.Refused(403, "ERR_TENANT_SUSPENDED", "POST", "/api/messages/send", object{"number": contactNumber, "body": "Oi"})
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update connections set status = 'CONNECTED' where company_id = $1`, company.ID)
	require.NoError(t, err)
	waiting := func() (n int) {
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from outbox where company_id = $1`, company.ID).Scan(&n))
		return n
	}
	company.Hub.Clock.Advance(time.Hour)
	company.RunJob("outbox")
	require.Equal(t, 1, waiting())
	other.Advance(0)
	other.OK(201, "POST", "/tickets/"+fmt.Sprint(other.ids["/tickets"])+"/messages", object{"body": "now"})
	other.FlushOutbox()
}
