package hub

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MaxResponseBytes is the maximum size of a peer's response body.
const MaxResponseBytes = 64 << 10

// maxRetryAfter is the longest Retry-After that is honoured.
const maxRetryAfter = time.Hour

// Response is a peer's response with its complete body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxResponseBytes
}

// Exchange sends a connector's request and reads the response, whatever its status.
// Errors: [ErrPeerTimeout]; [ErrPeer] with [CodePeerUnreachable], or with
// [CodePeerResponse] for a body of more than [MaxResponseBytes]; [*Error]s of the Doer
// unchanged. No error contains the URL.
func Exchange(do Doer, req *http.Request) (Response, error) {
	res, err := do.Do(req)
	if err != nil {
		return Response{}, exchangeError(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxResponseBytes+1))
	if err != nil {
		return Response{}, exchangeError(err)
	}
	if len(body) > MaxResponseBytes {
		return Response{}, Errorf(ErrPeer, CodePeerResponse, "The other product responded with more than %d KiB.", MaxResponseBytes>>10)
	}
	return Response{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// exchangeError maps a transport error to an [*Error]. It removes the URL, because
// the URLs of searches contain phone numbers.
func exchangeError(err error) error {
	var hubErr *Error
	if errors.As(err, &hubErr) {
		return err
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		return Errorf(ErrPeerTimeout, CodePeerTimeout, "The other product did not respond in time.").WithCause(err)
	}
	unreachable := Errorf(ErrPeer, CodePeerUnreachable, "The other product cannot be reached.").WithCause(err)
	var dnsErr *net.DNSError
	var certificateErr *tls.CertificateVerificationError
	var recordErr tls.RecordHeaderError
	switch {
	case errors.As(err, &dnsErr):
		unreachable.Detail = "The host of the other product's address is not known to DNS."
		unreachable.Extensions = Extensions{ReasonMember: "name_unknown"}
	case errors.Is(err, syscall.ECONNREFUSED):
		unreachable.Detail = "The other product's host refuses the connection: nothing listens on that port."
		unreachable.Extensions = Extensions{ReasonMember: "connection_refused"}
	case errors.Is(err, http.ErrSchemeMismatch):
		unreachable.Detail = "The other product's host responds on that port without TLS."
		unreachable.Extensions = Extensions{ReasonMember: "tls"}
	case errors.As(err, &certificateErr), errors.As(err, &recordErr):
		unreachable.Detail = "The other product's host has no valid certificate for that address."
		unreachable.Extensions = Extensions{ReasonMember: "tls"}
	}
	return unreachable
}

// ReasonMember is the member of an error response that says why a peer could not be asked:
// "name_unknown", "connection_refused" or "tls" with [CodePeerUnreachable], "wrong_address"
// with [CodePeerFailed], [ReasonNotAsked] with errors that are also found in what a peer says.
const ReasonMember = "reason"

// ReasonNotAsked is the reason of a refusal by the hub itself, before it asked the peer.
const ReasonNotAsked = "not_asked"

// PeerHTTPStatus is the HTTP status of a peer's response. It is the cause of an error
// with [CodePeerFailed].
type PeerHTTPStatus int

// Error implements error.
func (s PeerHTTPStatus) Error() string { return "status " + strconv.Itoa(int(s)) }

// Refused reports whether the peer rejected the request: any 4xx except 408, after
// which the request may have taken effect.
func (s PeerHTTPStatus) Refused() bool {
	return s >= 400 && s <= 499 && s != http.StatusRequestTimeout
}

// StatusError returns nil for a 2xx status. It returns [ErrInvalid] with
// [CodeKeyRejected] for 401 and 403, [ErrPeer] with [CodePeerRateLimited] for 429, and
// [ErrPeer] with [CodePeerFailed] for all others, including redirects and 404.
func (r Response) StatusError() error {
	switch {
	case r.Status >= 200 && r.Status <= 299:
		return nil
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return Errorf(ErrInvalid, CodeKeyRejected, "The other product refuses the key: copy it anew, or issue another one there.")
	case r.Status == http.StatusTooManyRequests:
		err := Errorf(ErrPeer, CodePeerRateLimited, "The other product takes no more requests for the moment.")
		err.RetryAfter = r.retryAfter()
		return err
	}
	err := Errorf(ErrPeer, CodePeerFailed, "The other product responded with status %d.", r.Status).WithCause(PeerHTTPStatus(r.Status))
	if r.Status == http.StatusNotFound || r.Status >= 300 && r.Status <= 399 {
		err.Extensions = Extensions{ReasonMember: "wrong_address"}
	}
	return err
}

// retryAfter returns the Retry-After header, which is in seconds; 0 = none.
func (r Response) retryAfter() time.Duration {
	seconds, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// DecodeJSON unmarshals the body into target. It returns [ErrPeer] with
// [CodePeerResponse] if that fails.
func (r Response) DecodeJSON(target any) error {
	if err := json.Unmarshal(r.Body, target); err != nil {
		// Without the cause, which may quote the body.
		return Errorf(ErrPeer, CodePeerResponse, "The other product responded with something else than was asked for; is it the address of its API?")
	}
	return nil
}

// NewRequest returns a request for [Exchange]. A non-nil body is JSON. It returns
// [ErrInvalid] for an address that is not an absolute http(s) URL.
func NewRequest(ctx context.Context, method, address string, body []byte) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, Invalid("body."+FieldURL, "must be an absolute http(s) URL") // the cause quotes the address
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// CallResult returns the JSON response to a [Call]. Errors of the peer keep their code
// and kind: 400 and 422 are [ErrInvalid], 404 is [ErrNotFound], 409 is [ErrConflict].
// All other statuses are mapped by [Response.StatusError].
func (r Response) CallResult() (json.RawMessage, error) {
	kind := map[int]error{
		http.StatusBadRequest: ErrInvalid, http.StatusUnprocessableEntity: ErrInvalid,
		http.StatusNotFound: ErrNotFound, http.StatusConflict: ErrConflict,
	}[r.Status]
	if kind != nil {
		return nil, Errorf(kind, r.errorCode(), "The other product refused: status %d.", r.Status)
	}
	if err := r.StatusError(); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := r.DecodeJSON(&raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// errorCode returns the code of an error response in the hub's format, or
// "peer_refused" if it has none.
func (r Response) errorCode() string {
	var problem struct {
		Code string `json:"code"`
	}
	const maxLength = 64
	if r.DecodeJSON(&problem) != nil || problem.Code == "" || len(problem.Code) > maxLength ||
		strings.Trim(problem.Code, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "peer_refused"
	}
	return problem.Code
}
