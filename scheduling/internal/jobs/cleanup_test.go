package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestWhatNobodyNeedsIsForgotten(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k")
	p.Guest().OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	p.ResetToken(p.Email)
	p.Guest().Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": p.Email, "password": "wrong wrong"})
	p.OK(200, "PUT", "/organization", object{"slug": p.Slug + "-new"})
	p.Guest().OK(201, "POST", "/public/book/"+p.Slug+"/hold", object{"service_id": p.ServiceID, "start_at": p.At(time.Hour)})
	p.BookWithProof(p.BookingBody(2 * time.Hour))
	tables := []string{"refresh_tokens", "mailed_tokens", "login_failures", "idempotency", "old_slugs", "holds", "spent_proofs"}
	p.RunJob("cleanup")
	p.RunJob("expired-logins")
	for _, table := range tables {
		require.Positive(t, p.Count("scheduling."+table), table)
	}
	p.Hub.Clock.Advance(100 * 24 * time.Hour)
	p.RunJob("cleanup")
	p.RunJob("expired-logins")
	for _, table := range tables {
		require.Zero(t, p.Count("scheduling."+table), table)
	}
	p.AdvanceClock(0)
	p.OK(201, "POST", "/appointments", p.AppointmentBody(200*24*time.Hour))
}
