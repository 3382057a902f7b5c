package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub/module"
)

// Requests that are let through: wide, for a clinic's staff and its clients often
// share one address. Those of keys are limited by the hub, clients' by the desk.
const (
	signUpsPerHour = 100  // of one address
	requestsPerMin = 1200 // of one organization's users
)

// limited refuses requests beyond what their caller may make.
func (a *API) limited(api huma.API, row route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, known := module.CallerFrom(ctx.Context())
		var err error
		switch {
		case known && who.UserID != uuid.Nil:
			err = a.kit.Limits.Allow(ctx.Context(), "users", who.TenantID.String(), requestsPerMin, time.Minute)
		case known:
		case row.id == "auth.register":
			err = a.kit.Limits.Allow(ctx.Context(), "sign-ups", module.ClientIP(ctx.Context()), signUpsPerHour, time.Hour)
		case strings.HasPrefix(row.id, "auth.") || row.id == "payments.webhook":
		case row.method == http.MethodGet:
			err = a.desk.AllowRead(ctx.Context())
		default:
			err = a.desk.AllowWrite(ctx.Context())
		}
		if err != nil {
			_ = huma.WriteErr(api, ctx, http.StatusInternalServerError, "", err) // the status is the error's own
			return
		}
		next(ctx)
	}
}
