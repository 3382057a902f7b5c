package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// checkRateLimit enforces the rate limits of users and visitors. The hub limits API keys
// itself.
func (a *API) checkRateLimit(ctx context.Context, route rest.Route) error {
	caller, authenticated := module.CallerFrom(ctx)
	switch {
	case authenticated && caller.UserID != uuid.Nil:
		return a.host.RateLimiter.Allow(ctx, "users", caller.TenantID.String())
	case authenticated:
		return nil
	case route.ID == "auth.register":
		return a.host.RateLimiter.Allow(ctx, "sign-ups", module.ClientIP(ctx))
	case strings.HasPrefix(route.ID, "auth.") || route.ID == "payments.webhook":
		return nil
	case route.Method == http.MethodGet:
		return a.publicBooking.AllowRead(ctx)
	}
	return a.publicBooking.AllowWrite(ctx)
}
