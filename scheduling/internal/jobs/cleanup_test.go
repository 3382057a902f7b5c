package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestExpiredRowsAreDeleted(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k")
	org.Guest().OK(200, "POST", "/auth/forgot-password", object{"email": org.Email})
	org.ResetToken(org.Email)
	org.Guest().Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": org.Email, "password": "wrong wrong"})
	org.OK(200, "PUT", "/organization", object{"slug": org.Slug + "-new"})
	org.Guest().OK(201, "POST", "/public/book/"+org.Slug+"/hold", object{"service_id": org.ServiceID, "start_at": org.At(time.Hour)})
	org.BookWithProof(org.BookingBody(2 * time.Hour))
	org.WaitForJobs()
	tables := []string{"refresh_tokens", "mailed_tokens", "login_failures", "idempotency", "old_slugs", "holds", "spent_proofs", "booking_emails"}
	org.RunJob("cleanup")
	org.RunJob("expired-logins")
	for _, table := range tables {
		require.Positive(t, org.Count("scheduling."+table), table)
	}
	org.Hub.Clock.Advance(100 * 24 * time.Hour)
	org.RunJob("cleanup")
	org.RunJob("expired-logins")
	for _, table := range tables {
		require.Zero(t, org.Count("scheduling."+table), table)
	}
	org.AdvanceClock(0)
	org.OK(201, "POST", "/appointments", org.AppointmentBody(200*24*time.Hour))
}
