package api_test

import (
	"image/color"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// An organization that is deleted leaves no row in any table and no file, and another loses none.
func TestDeletedOrganizationIsErased(t *testing.T) {
	t.Parallel()
	gone := schedulingtest.NewBookableBesidePeer(t)
	other := schedulingtest.RegisterOrganization(t, gone.Hub).MakeBookable()
	for _, org := range []*schedulingtest.Bookable{gone, other} {
		ResourceIDs(org)
		org.OK(200, "POST", "/loyalty/clients/"+org.ClientID+"/adjust", object{"points": 5, "reason": "a gift"})
		require.Equal(t, 200, org.Upload("/organization/logo", "file", org.PNG(30, 20, color.White)).Status)
		require.Equal(t, 200, org.Upload("/professionals/"+org.ProfessionalID+"/avatar", "file", org.PNG(30, 20, color.White)).Status)
	}
	gone.WaitForJobs()
	counts := func(org *schedulingtest.Bookable) map[string]int {
		return org.Hub.RowCounts("organizations", "org_id", org.ID, "known_logins", "login_failures", "mailed_tokens", "provider_events", "refresh_tokens", "sandbox_charges", "sandbox_refunds", "schema_version")
	}
	kept := counts(other)
	require.GreaterOrEqual(t, len(counts(gone)), 15, "tables: %v", counts(gone))
	require.Positive(t, counts(gone)["loyalty_entries"])
	require.Len(t, gone.Hub.Files(), 4)
	gone.Hub.DeleteTenant(gone.ID)
	require.Empty(t, counts(gone))
	require.Equal(t, kept, counts(other))
	require.Len(t, gone.Hub.Files(), 2)
	gone.Guest().Refused(404, "not_found", "GET", gone.PublicPath(""), nil)
	require.Equal(t, 200, other.Guest().Call("GET", other.PublicPath(""), nil).Status)
}

// The pages and calendars of a suspended organization are not found until it is resumed.
func TestSuspendedOrganization(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.Hub.Suspend(org.ID)
	org.Refused(403, "tenant_suspended", "GET", "/appointments", nil)
	org.Guest().Refused(404, "not_found", "GET", org.PublicPath(""), nil)
	org.Guest().Refused(404, "not_found", "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	require.Equal(t, 200, org.Hub.OperatorStatus("POST", "/api/v1/tenants/"+org.ID.String()+"/resume"))
	require.Eventually(t, func() bool { return org.Guest().Call("GET", org.PublicPath(""), nil).Status == 200 }, time.Minute, time.Millisecond)
}
