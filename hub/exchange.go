package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxResponseBytes is how much of a peer's answer is read, in bytes.
const MaxResponseBytes = 64 << 10

// maxRetryAfter is the longest Retry-After that is honoured.
const maxRetryAfter = time.Hour

// Response is what a peer answered, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxAnswer
}

// Exchange sends a connector's request and reads the answer, whatever its status.
// Errors: [ErrPeerTimeout]; [ErrPeer] with [CodePeerUnreachable], or with
// [CodePeerResponse] where more than [MaxResponseBytes] came; [*Error]s of the Doer as they
// are. None repeats the address.
func Exchange(do Doer, req *http.Request) (Response, error) {
	res, err := do.Do(req)
	if err != nil {
		return Response{}, unreachable(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxResponseBytes+1))
	if err != nil {
		return Response{}, unreachable(err)
	}
	if len(body) > MaxResponseBytes {
		return Response{}, Errorf(ErrPeer, CodePeerResponse, "The other product answered more than %d KiB.", MaxResponseBytes>>10)
	}
	return Response{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// unreachable turns an error of a connection into one for callers. The address is
// taken off: searches have phone numbers in it.
func unreachable(err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		return err
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return Errorf(ErrPeerTimeout, CodePeerTimeout, "The other product did not answer in time.").WithCause(err)
	}
	return Errorf(ErrPeer, CodePeerUnreachable, "The other product cannot be reached.").WithCause(err)
}

// PeerHTTPStatus is the HTTP status of a peer's answer, as the cause of the error of
// [CodePeerFailed].
type PeerHTTPStatus int

// Error implements error.
func (s PeerHTTPStatus) Error() string { return "status " + strconv.Itoa(int(s)) }

// Refused tells whether the peer understood the request and did not do it: any 4xx but
// 408, for which it may have been too slow only to answer.
func (s PeerHTTPStatus) Refused() bool {
	return s >= 400 && s <= 499 && s != http.StatusRequestTimeout
}

// StatusError is nil for a 2xx and else says what the status means when products connect:
// [ErrInvalid] with [CodeKeyRejected] for 401 and 403; [ErrPeer] with
// [CodePeerRateLimited] for 429, with [CodePeerFailed] for everything else, redirects
// and 404 included.
func (a Response) StatusError() error {
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return nil
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return Errorf(ErrInvalid, CodeKeyRejected, "The other product refuses the key: copy it anew, or issue another one there.")
	case a.Status == http.StatusTooManyRequests:
		err := Errorf(ErrPeer, CodePeerRateLimited, "The other product takes no more requests for the moment.")
		err.RetryAfter = a.retryAfter()
		return err
	}
	return Errorf(ErrPeer, CodePeerFailed, "The other product answered with status %d.", a.Status).WithCause(PeerHTTPStatus(a.Status))
}

// retryAfter reads Retry-After in seconds; 0 = not said.
func (a Response) retryAfter() time.Duration {
	seconds, err := strconv.ParseUint(a.Header.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// DecodeJSON reads the body; [ErrPeer] with [CodePeerResponse] where it does not fit.
func (a Response) DecodeJSON(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		// Without the cause, which may quote the body.
		return Errorf(ErrPeer, CodePeerResponse, "The other product answered something else than was asked for; is it the address of its API?")
	}
	return nil
}

// NewRequest makes a request of a connector; a body is JSON. [ErrInvalid] for an
// address that is none.
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

// CallResult is the JSON that answers a [Call]. An error of the peer's keeps its meaning
// and the code it gave: 400 and 422 [ErrInvalid], 404 [ErrNotFound], 409
// [ErrConflict]; all others are [Response.StatusError]'s.
func (a Response) CallResult() (json.RawMessage, error) {
	kind := map[int]error{
		http.StatusBadRequest: ErrInvalid, http.StatusUnprocessableEntity: ErrInvalid,
		http.StatusNotFound: ErrNotFound, http.StatusConflict: ErrConflict,
	}[a.Status]
	if kind != nil {
		return nil, Errorf(kind, a.code(), "The other product refused: status %d.", a.Status)
	}
	if err := a.StatusError(); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := a.DecodeJSON(&raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// code is the code of an error in the hub's shape, where the answer is one.
func (a Response) code() string {
	var problem struct {
		Code string `json:"code"`
	}
	const longest = 64
	if a.DecodeJSON(&problem) != nil || problem.Code == "" || len(problem.Code) > longest ||
		strings.Trim(problem.Code, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "peer_refused"
	}
	return problem.Code
}
