package api

import (
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// errorNames are the platform's names of the hub's errors. Other codes are named after
// themselves: "no_ticket_found" is ERR_NO_TICKET_FOUND.
//
//nolint:gosec // names of errors, no credentials
var errorNames = map[string]string{
	"validation_failed":     "ERR_VALIDATION",
	"malformed":             "ERR_VALIDATION",
	"json_null_character":   "ERR_VALIDATION",
	"unauthorized":          "ERR_SESSION_EXPIRED",
	"invalid_token":         "ERR_SESSION_EXPIRED",
	"invalid_refresh_token": "ERR_SESSION_EXPIRED",
	"admin_only":            "ERR_NO_PERMISSION",
	"forbidden":             "ERR_NO_PERMISSION",
	"missing_scope":         "ERR_NO_PERMISSION",
	"rate_limited":          "ERR_RATE_LIMIT",
	"too_many_logins":       "ERR_RATE_LIMIT",
}

// platformStatuses are the statuses that docs/interfaces/messaging.md has instead of the
// hub's: it knows neither 409 nor 422.
var platformStatuses = map[int]int{
	http.StatusConflict: http.StatusBadRequest, http.StatusPreconditionFailed: http.StatusBadRequest, http.StatusUnprocessableEntity: http.StatusBadRequest,
}

// AdaptError is a [module.ErrorAdapter]: it adds the platform's name of the error.
func AdaptError(e module.ErrorResponse) (status int, members hub.Extensions) {
	status = e.Status
	if platform, ok := platformStatuses[status]; ok {
		status = platform
	}
	name, ok := errorNames[e.Code]
	switch {
	case ok:
	case strings.HasPrefix(e.Code, "json_"): // what is wrong with the JSON
		name = "ERR_VALIDATION"
	default:
		name = "ERR_" + strings.ToUpper(e.Code)
	}
	return status, hub.Extensions{"error": name}
}

// withPlatformErrors makes a route return errors as the platform does, and documents it.
func withPlatformErrors(r rest.Route) rest.Route {
	bind := r.Bind
	r.Bind = func(api huma.API, op huma.Operation) {
		op.Metadata = map[string]any{module.MetadataErrorAdapter: module.ErrorAdapter(AdaptError)}
		op.Errors = append(op.Errors, http.StatusBadRequest)
		if op.Responses == nil {
			op.Responses = make(map[string]*huma.Response)
		}
		bind(api, op)
		maps.DeleteFunc(op.Responses, func(status string, _ *huma.Response) bool { return status == "409" || status == "422" })
	}
	return r
}
