// Package hub is the vocabulary every part of the integration hub shares:
// events and their envelope, signatures, error kinds and the connector contract. It
// does no I/O except through a [Doer] argument, and imports only the standard library
// and uuid.
package hub

import (
	"errors"
	"fmt"
	"time"
)

// Error kinds. Every error that can reach a caller wraps exactly one of them;
// hub/internal/httpx holds the one table that turns a kind into an HTTP status.
var (
	ErrMalformed            = errors.New("malformed request")       // 400: cannot be parsed
	ErrUnauthorized         = errors.New("unauthorized")            // 401
	ErrForbidden            = errors.New("forbidden")               // 403
	ErrNotFound             = errors.New("not found")               // 404: also another tenant's id
	ErrNotAcceptable        = errors.New("not acceptable")          // 406: the requested format is not supported
	ErrConflict             = errors.New("conflict")                // 409
	ErrPreconditionFailed   = errors.New("precondition failed")     // 412: If-Match names another version
	ErrTooLarge             = errors.New("too large")               // 413
	ErrUnsupportedMediaType = errors.New("unsupported media type")  // 415
	ErrInvalid              = errors.New("invalid")                 // 422: readable, but breaks a rule
	ErrRateLimited          = errors.New("rate limited")            // 429
	ErrPeer                 = errors.New("peer failed")             // 502: the other product responded wrongly or not at all
	ErrUnavailable          = errors.New("temporarily unavailable") // 503: try again later
	ErrPeerTimeout          = errors.New("peer timed out")          // 504
)

// Error is an error for the caller of an API: a kind, a stable code for programs and a
// sentence for people. It never contains a submitted value.
type Error struct {
	Kind       error         // one of the kinds above
	Code       string        // stable, snake_case, e.g. "url_not_allowed"
	Detail     string        // one sentence for people: what to do
	Fields     []FieldError  // invalid inputs; may be empty
	RetryAfter time.Duration // for ErrLimited and ErrUnavailable; 0 = none
	Extensions Extensions    // additional members of the response, e.g. alternatives
	Cause      error         // underlying error; logged, never shown
}

// Extensions are extension members of an error response (RFC 9457, section 3.2). They
// must not have the name of a standard member.
type Extensions map[string]any

// FieldError describes one invalid input, e.g. {"body.url", "must be an absolute http(s) URL"}.
type FieldError struct {
	Location string // e.g. "body.url", "query.limit", "header.X-Integration-Key"
	Message  string // the broken rule, without the submitted value
}

// Errorf returns an [Error] of a kind with a code and a formatted sentence.
func Errorf(kind error, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns a 422 [Error] for one field. The detail repeats location and message.
func Invalid(location, message string) *Error {
	return &Error{
		Kind:   ErrInvalid,
		Code:   "validation_failed",
		Detail: location + " " + message,
		Fields: []FieldError{{Location: location, Message: message}},
	}
}

// NotFound returns a 404 [Error] for an id that is not there for the caller: it does not
// exist, or is another tenant's.
func NotFound(what string) *Error {
	return Errorf(ErrNotFound, "not_found", "%s not found", what)
}

// WithCause sets the underlying error, for logs only, and returns e.
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

// HasCode reports whether err is or wraps an [Error] with a code.
func HasCode(err error, code string) bool {
	var hubErr *Error
	return errors.As(err, &hubErr) && hubErr.Code == code
}
