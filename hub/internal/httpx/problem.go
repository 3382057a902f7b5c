// Package httpx holds what all HTTP interfaces of the hub share: the form of errors,
// rules for request bodies, request ids, limits on uploads and pages of lists.
package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
)

// ProblemType is the media type of every error response (RFC 9457).
const ProblemType = "application/problem+json"

// aboutBlank is the problem type without a meaning beyond the status.
const aboutBlank = "about:blank"

// retryDefault is the Retry-After of a 503 whose error has none.
const retryDefault = time.Second

// outcome is the response to one kind of error.
type outcome struct {
	kind   error
	status int
	code   string // of errors without a code
	detail string // of errors without a detail
}

// outcomes is the one table that maps kinds of errors to responses.
var outcomes = []outcome{
	{hub.ErrMalformed, http.StatusBadRequest, "malformed", "The request cannot be read."},
	{hub.ErrUnauthorized, http.StatusUnauthorized, "unauthorized", "Valid credentials are needed."},
	{hub.ErrForbidden, http.StatusForbidden, "forbidden", "These credentials do not allow this."},
	{hub.ErrNotFound, http.StatusNotFound, "not_found", "There is nothing here."},
	{hub.ErrNotAcceptable, http.StatusNotAcceptable, "not_acceptable", "Responses are application/json."},
	{hub.ErrConflict, http.StatusConflict, "conflict", "The request clashes with what is stored."},
	{hub.ErrPreconditionFailed, http.StatusPreconditionFailed, "version_mismatch", "This was changed by someone else."},
	{hub.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", "The request is too large."},
	{hub.ErrUnsupportedMediaType, http.StatusUnsupportedMediaType, "unsupported_media_type", "Send application/json without compression."},
	{hub.ErrInvalid, http.StatusUnprocessableEntity, "validation_failed", "The request breaks a rule."},
	{hub.ErrRateLimited, http.StatusTooManyRequests, "rate_limited", "Too many requests; wait and try again."},
	{hub.ErrPeer, http.StatusBadGateway, "peer_failed", "The other side failed."},
	{hub.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", "Not available right now; try again later."},
	{hub.ErrPeerTimeout, http.StatusGatewayTimeout, "peer_timeout", "The other side did not respond in time."},
}

// routerOutcomes are the responses to errors of the server and the router, by status.
var routerOutcomes = map[int]outcome{
	http.StatusMethodNotAllowed:            {code: "method_not_allowed", detail: "This address does not know the method; the Allow header lists those it knows."},
	http.StatusRequestTimeout:              {code: "request_timeout", detail: "The request did not arrive in time."},
	http.StatusRequestHeaderFieldsTooLarge: {code: "headers_too_large", detail: "The request's headers are too large."},
	http.StatusInternalServerError:         {code: "internal", detail: "Something failed on our side; the request id finds it in the logs."},
}

// Problem is the form of every error response.
type Problem struct {
	_ struct{} `additionalProperties:"true"`

	Type      string         `json:"type" doc:"A URI naming the kind of problem; about:blank when the status says it all"`
	Title     string         `json:"title" doc:"Short name of the status" example:"Unprocessable Entity"`
	Status    int            `json:"status" doc:"HTTP status code" example:"422"`
	Detail    string         `json:"detail" doc:"A sentence for people"`
	Code      string         `json:"code" doc:"Stable name for programs" example:"validation_failed"`
	Errors    []FieldProblem `json:"errors" nullable:"false" doc:"Which inputs are wrong; never the submitted values"`
	RequestID string         `json:"request_id" doc:"Id of the request, also in the X-Request-Id header and in the logs"`
	members   hub.Extensions // further JSON members
	retry     time.Duration  // Retry-After; 0 = none
	cause     error          // for logs
}

// FieldProblem describes one invalid input.
type FieldProblem struct {
	Location string `json:"location" doc:"Where the input is" example:"body.url"`
	Message  string `json:"message" doc:"What is wrong with it"`
}

// ProblemOf returns the response to an error and the time for Retry-After (0 = no such
// header). Errors that are neither a [hub.Error] nor wrap one of its kinds become a 500
// that reveals nothing about them. A cancelled or expired context becomes a 503, because
// the request may be sent again.
func ProblemOf(err error, requestID string) (problem Problem, retryAfter time.Duration) {
	p := problemOf(err)
	p.RequestID = requestID
	return p, p.retry
}

func problemOf(err error) Problem {
	var problem *Problem
	if errors.As(err, &problem) {
		return *problem
	}
	var known *hub.Error
	if errors.As(err, &known) {
		return problemOfKnown(known)
	}
	var routed *fiber.Error
	if errors.As(err, &routed) {
		return problemOfRouted(routed, err)
	}
	for i := range outcomes {
		if errors.Is(err, outcomes[i].kind) {
			return newProblem(outcomes[i].status, "", "", 0, err)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return newProblem(http.StatusServiceUnavailable, "", "", 0, err)
	}
	return newProblem(http.StatusInternalServerError, "", "", 0, err)
}

// problemOfKnown keeps the code, detail, fields and members of an error for callers.
func problemOfKnown(known *hub.Error) Problem {
	for i := range outcomes {
		if !errors.Is(known.Kind, outcomes[i].kind) {
			continue
		}
		p := newProblem(outcomes[i].status, known.Code, known.Detail, known.RetryAfter, known.Cause)
		p.members = known.Extensions
		for _, field := range known.Fields {
			p.Errors = append(p.Errors, FieldProblem(field))
		}
		return p
	}
	return newProblem(http.StatusInternalServerError, "", "", 0, known)
}

// problemOfRouted keeps the status of an error of the server or the router, and drops
// its text, which quotes the request.
func problemOfRouted(routed *fiber.Error, err error) Problem {
	if errors.Is(routed, fiber.ErrBadGateway) {
		// The server's name for a request whose connection broke while it was read.
		return newProblem(http.StatusBadRequest, "", "", 0, err)
	}
	return newProblem(routed.Code, "", "", 0, err)
}

// newProblem returns a problem; an empty code and detail are those of the status.
func newProblem(status int, code, detail string, retry time.Duration, cause error) Problem {
	outcome := outcomeOf(status)
	if code == "" {
		code = outcome.code
	}
	if detail == "" {
		detail = outcome.detail
	}
	if status == http.StatusServiceUnavailable && retry <= 0 {
		retry = retryDefault
	}
	return Problem{
		Type:   aboutBlank,
		Title:  http.StatusText(status),
		Status: status,
		Detail: detail,
		Code:   code,
		Errors: []FieldProblem{},
		retry:  retry,
		cause:  cause,
	}
}

// outcomeOf returns the code and detail of a status; for a status in no table they are
// derived from its name.
func outcomeOf(status int) outcome {
	for i := range outcomes {
		if outcomes[i].status == status {
			return outcomes[i]
		}
	}
	if found, ok := routerOutcomes[status]; ok {
		return found
	}
	title := http.StatusText(status)
	return outcome{code: strings.ReplaceAll(strings.ToLower(title), " ", "_"), detail: title + "."}
}

// MarshalJSON implements json.Marshaler: the common members, then the problem's own.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	common, err := json.Marshal((*plain)(p))
	if err != nil || len(p.members) == 0 {
		return common, err
	}
	own, err := json.Marshal(p.members)
	if err != nil {
		return nil, err
	}
	return append(append(common[:len(common)-1], ','), own[1:]...), nil
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the cause, which is never part of the response.
func (p *Problem) Unwrap() error { return p.cause }

// headers calls set with every header the answer needs besides its media type.
func (p *Problem) headers(set func(name, value string)) {
	if p.Status == http.StatusUnauthorized {
		set(fiber.HeaderWWWAuthenticate, `Bearer realm="hub"`)
	}
	if p.retry > 0 {
		set(fiber.HeaderRetryAfter, RetryAfter(p.retry))
	}
}

// RetryAfter writes a wait as the value of a Retry-After header: whole seconds,
// rounded up, at least 1.
func RetryAfter(wait time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(wait.Seconds()))), 10)
}

// WriteProblem answers the request with err as a [Problem]. It does not log:
// handlers return their errors to [ErrorHandler], which logs and then calls it.
func WriteProblem(c *fiber.Ctx, err error) error {
	return writeProblem(c, problemOf(err))
}

func writeProblem(c *fiber.Ctx, p Problem) error {
	p.RequestID = ensureRequestID(c)
	body, err := json.Marshal(&p)
	if err != nil {
		return err
	}
	return sendError(c, p, ProblemType, body)
}

// sendError sends a problem that is written as a body of a media type.
func sendError(c *fiber.Ctx, p Problem, mediaType string, body []byte) error {
	p.headers(c.Set)
	c.Set(fiber.HeaderContentType, mediaType)
	setFixedHeaders(&c.Response().Header) // no middleware ran for what the server itself refuses
	return c.Status(p.Status).Send(body)
}

// ErrorHandler returns the fiber error handler. It answers errors of handlers, and of the
// server and the router themselves (404, 405 with its Allow header, 408, 413, 431), with
// a [Problem]. Server errors are logged with their cause, which callers never see.
func ErrorHandler(log *slog.Logger) fiber.ErrorHandler { return new(ErrorFormats).ErrorHandler(log) }

// problemOfRequest returns the problem of an error that no operation has answered.
func problemOfRequest(c *fiber.Ctx, err error) Problem {
	p := problemOf(err)
	if p.Status == http.StatusRequestEntityTooLarge && isForm(c.Request().Header.ContentType()) {
		p.Code, p.Detail = "file_too_large", "The file is too large."
	}
	return p
}

// logProblem logs responses with a server error, ours or a peer's.
func logProblem(ctx context.Context, log *slog.Logger, p *Problem, method, route string) {
	if p.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn
	if p.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.Int("status", p.Status), slog.String("code", p.Code),
		slog.String("method", method), slog.String("route", route),
		slog.String("request_id", RequestID(ctx)),
	}
	if p.cause != nil {
		attrs = append(attrs, slog.String("error", p.cause.Error()))
	}
	log.LogAttrs(ctx, level, "request failed", attrs...)
}
