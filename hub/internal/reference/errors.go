package reference

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module/rest"
)

// meanings are the descriptions of error statuses.
var meanings = map[int]string{
	http.StatusBadRequest:            "the request cannot be read, or breaks a rule of this operation",
	http.StatusUnauthorized:          "the caller is not known",
	http.StatusForbidden:             "the caller may not do this",
	http.StatusNotFound:              "not there, or another customer's",
	http.StatusMethodNotAllowed:      "the path does not know the method",
	http.StatusNotAcceptable:         "the format asked for is not supported",
	http.StatusConflict:              "the request clashes with what is stored",
	http.StatusGone:                  "it is no longer there",
	http.StatusPreconditionFailed:    "If-Match names another version",
	http.StatusRequestEntityTooLarge: "the body is too large",
	http.StatusUnsupportedMediaType:  "the body has another media type or is compressed",
	http.StatusUnprocessableEntity:   "an input breaks a rule; errors lists them",
	http.StatusTooManyRequests:       "too many requests; Retry-After says when to go on",
	http.StatusInternalServerError:   "a failure of the hub; the request id finds it in the logs",
	http.StatusBadGateway:            "the other side failed",
	http.StatusServiceUnavailable:    "not available right now; Retry-After says when to try again",
	http.StatusGatewayTimeout:        "the other side did not respond in time",
}

// jsonCodes are the codes of a body that is not the JSON an operation can read.
var jsonCodes = []string{
	"json_syntax", "json_empty", "json_byte_order_mark", "json_trailing_data", "json_too_deep", "json_invalid_utf8",
	"json_null_character", "json_lone_surrogate", "json_number_too_long", "json_duplicate_key",
}

// commonCodes are the codes that every operation may answer, by status.
var commonCodes = map[int][]string{
	http.StatusNotFound:              {"not_found"},
	http.StatusNotAcceptable:         {"not_acceptable"},
	http.StatusPreconditionFailed:    {"version_mismatch"},
	http.StatusRequestEntityTooLarge: {"too_large"},
	http.StatusUnsupportedMediaType:  {"unsupported_media_type", "content_encoding_not_supported"},
	http.StatusUnprocessableEntity:   {"validation_failed"},
	http.StatusTooManyRequests:       {"rate_limited"},
	http.StatusInternalServerError:   {"internal"},
	http.StatusBadGateway:            {"peer_failed"},
	http.StatusServiceUnavailable:    {"unavailable", "database_unavailable"},
	http.StatusGatewayTimeout:        {"peer_timeout"},
}

// cursorParameter is the name of the parameter that selects the next page of a list.
const cursorParameter = "cursor"

// errorCodes returns the error codes of an operation by status: those that it shares with
// others, and after them its own.
func errorCodes(op *huma.Operation, accepted rest.Credentials) map[string][]string {
	codes := make(map[string][]string, len(op.Responses))
	for status, list := range commonCodes {
		codes[strconv.Itoa(status)] = list
	}
	codes["400"] = []string{"malformed"}
	if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
		codes["400"] = append(codes["400"], jsonCodes...)
	}
	if op.Responses["422"] == nil { // an interface without 422
		codes["400"] = append(codes["400"], "validation_failed")
	}
	switch {
	case accepted.Bearer && accepted.Key:
		codes["401"] = []string{"unauthorized", "invalid_token", "invalid_key"}
	case accepted.Key:
		codes["401"] = []string{"invalid_key"}
	case accepted.Bearer:
		codes["401"] = []string{"unauthorized", "invalid_token"}
	}
	if accepted.Admin {
		codes["403"] = append(codes["403"], "admin_only")
	}
	if accepted.Key {
		codes["403"] = append(codes["403"], "missing_scope", "integration_inactive")
	}
	if accepted.Key || accepted.Bearer && !acceptsSession(op) { // operators are no tenant's
		codes["403"] = append(codes["403"], "tenant_suspended")
	}
	if slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == cursorParameter }) {
		codes["422"] = append(slices.Clone(codes["422"]), "invalid_cursor")
	}
	if acceptsSession(op) {
		codes["401"] = append(slices.Clone(codes["401"]), "invalid_session")
		codes["403"] = append(slices.Clone(codes["403"]), "csrf_token", "cross_site")
	}
	own, _ := op.Extensions[rest.ErrorCodesExtension].(map[string][]string)
	for status, list := range own {
		known := codes[status]
		codes[status] = append(known[:len(known):len(known)], list...)
	}
	for status := range codes {
		if op.Responses[status] == nil {
			delete(codes, status)
		}
	}
	return codes
}

// schemeSession is the security scheme of a browser's session.
const schemeSession = "session"

// acceptsSession reports whether browsers call an operation with the cookie of a session.
func acceptsSession(op *huma.Operation) bool {
	return slices.ContainsFunc(op.Security, func(alternative map[string][]string) bool {
		_, ok := alternative[schemeSession]
		return ok
	})
}
