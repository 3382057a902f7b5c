package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Requests that are let through: wide, for a clinic's staff and its clients often
// share one address. Those of keys are limited by the hub, clients' by the desk.
const (
	signUpsPerHour = 100  // of one address
	requestsPerMin = 1200 // of one organization's users
)

// limit refuses requests beyond what their caller may make.
func (a *API) limit(ctx context.Context, row rest.Route) error {
	who, known := module.CallerFrom(ctx)
	switch {
	case known && who.UserID != uuid.Nil:
		return a.kit.Limits.Allow(ctx, "users", who.TenantID.String(), requestsPerMin, time.Minute)
	case known:
		return nil
	case row.ID == "auth.register":
		return a.kit.Limits.Allow(ctx, "sign-ups", module.ClientIP(ctx), signUpsPerHour, time.Hour)
	case strings.HasPrefix(row.ID, "auth.") || row.ID == "payments.webhook":
		return nil
	case row.Method == http.MethodGet:
		return a.desk.AllowRead(ctx)
	}
	return a.desk.AllowWrite(ctx)
}
