// Package hub is the vocabulary every part of the integration hub shares:
// events and their envelope, signatures, error kinds and the connector contract
// with what connectors are made of. It does no I/O of its own, only through the
// [Doer] it is handed, and imports only the standard library and uuid.
package hub

import (
	"errors"
	"fmt"
	"time"
)

// Error kinds. Every error that can reach a caller wraps exactly one of them;
// hub/internal/httpx holds the one table that turns a kind into an HTTP status.
var (
	ErrMalformed            = errors.New("malformed request")       // 400: cannot be read at all
	ErrUnauthorized         = errors.New("unauthorized")            // 401
	ErrForbidden            = errors.New("forbidden")               // 403
	ErrNotFound             = errors.New("not found")               // 404: also another tenant's id
	ErrNotAcceptable        = errors.New("not acceptable")          // 406: asked for in a form that there is not
	ErrConflict             = errors.New("conflict")                // 409
	ErrPreconditionFailed   = errors.New("changed meanwhile")       // 412: If-Match names another version
	ErrTooLarge             = errors.New("too large")               // 413
	ErrUnsupportedMediaType = errors.New("unsupported media type")  // 415
	ErrInvalid              = errors.New("invalid")                 // 422: readable, but breaks a rule
	ErrRateLimited          = errors.New("rate limited")            // 429
	ErrPeer                 = errors.New("peer failed")             // 502: the other product answered wrongly or not at all
	ErrUnavailable          = errors.New("temporarily unavailable") // 503: try again later
	ErrPeerTimeout          = errors.New("peer timed out")          // 504
)

// Error is an error made for the caller of an interface: a kind, a stable code
// for programs and a sentence for people. It never carries a submitted value.
type Error struct {
	Kind       error         // one of the kinds above
	Code       string        // stable, snake_case, e.g. "url_not_allowed"
	Detail     string        // one sentence for people, saying what to do
	Fields     []FieldError  // which inputs are wrong; may be empty
	RetryAfter time.Duration // for ErrLimited and ErrUnavailable; 0 = not said
	Extensions Extensions    // what else the answer says, e.g. alternatives
	Cause      error         // what happened underneath; logged, never shown
}

// Extensions are further members of an error answer (RFC 9457, section 3.2). None may
// have the name of a member that every error answer has.
type Extensions map[string]any

// FieldError names one wrong input, e.g. {"body.url", "must be an absolute http(s) URL"}.
type FieldError struct {
	Location string // where: "body.url", "query.limit", "header.X-Integration-Key"
	Message  string // what is wrong, without the submitted value
}

// Errorf makes an [Error] of a kind with a code and a formatted sentence.
func Errorf(kind error, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid makes a 422 [Error] about one field. The detail repeats location and message.
func Invalid(location, message string) *Error {
	return &Error{
		Kind:   ErrInvalid,
		Code:   "validation_failed",
		Detail: location + " " + message,
		Fields: []FieldError{{Location: location, Message: message}},
	}
}

// NotFound makes a 404 [Error] for an id that is not there for the caller: it does not
// exist, or is another tenant's.
func NotFound(what string) *Error {
	return Errorf(ErrNotFound, "not_found", "%s not found", what)
}

// WithCause attaches the underlying cause, for logs only.
func (e *Error) WithCause(cause error) *Error {
	e.Cause = cause
	return e
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Detail + ": " + e.Cause.Error()
	}
	return e.Detail
}

// Unwrap lets errors.Is see the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
