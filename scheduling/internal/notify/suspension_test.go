package notify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// A suspended organization sends no reminder and no message of a campaign; once it is resumed,
// what is still due is sent.
func TestSuspendedOrganizationSendsNothing(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"]
	org.WaitForEmails("gil@example.com", 1)
	org.Hub.Suspend(org.ID)
	org.Hub.Clock.Advance(48 * time.Hour)
	org.RunJob("reminders")
	require.Equal(t, 2, org.Count("scheduling.reminders where sent_at is null and appointment_id = $1", id))
	require.Equal(t, 200, org.Hub.OperatorStatus("POST", "/api/v1/tenants/"+org.ID.String()+"/resume"))
	require.Eventually(t, func() bool { return org.Hub.Host.Tenants.CheckActive(org.ID) == nil }, time.Minute, time.Millisecond)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 2)
}
