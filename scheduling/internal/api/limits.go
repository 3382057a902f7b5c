package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// checkRateLimit refuses requests beyond what their caller may make. Those of keys are limited by
// the hub, clients' by the desk.
func (a *API) checkRateLimit(ctx context.Context, row rest.Route) error {
	who, known := module.CallerFrom(ctx)
	switch {
	case known && who.UserID != uuid.Nil:
		return a.host.RateLimiter.Allow(ctx, "users", who.TenantID.String())
	case known:
		return nil
	case row.ID == "auth.register":
		return a.host.RateLimiter.Allow(ctx, "sign-ups", module.ClientIP(ctx))
	case strings.HasPrefix(row.ID, "auth.") || row.ID == "payments.webhook":
		return nil
	case row.Method == http.MethodGet:
		return a.publicBooking.AllowRead(ctx)
	}
	return a.publicBooking.AllowWrite(ctx)
}
