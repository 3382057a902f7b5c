package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
)

// ErrNotLoggedIn is returned by calls that need an operator or a key, if the client has neither.
var ErrNotLoggedIn = errors.New("not logged in")

// Problem is an error answer of the hub (application/problem+json).
type Problem struct {
	Status     int           `json:"status"`     // HTTP status
	Title      string        `json:"title"`      // name of the status
	Detail     string        `json:"detail"`     // a sentence for people
	Code       string        `json:"code"`       // for programs
	RequestID  string        `json:"request_id"` // finds the request in the hub's logs
	Reason     string        `json:"reason"`     // why a peer could not be asked; "" = not said
	Errors     []Field       `json:"errors"`     // which inputs are wrong
	RetryAfter time.Duration `json:"-"`          // 0 = not said
	IsForeign  bool          `json:"-"`          // the response is no hub's: a proxy's, or another server's
}

// Field names one wrong input of a request.
type Field struct {
	Location string `json:"location"` // e.g. "body.url"
	Message  string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = "the hub responded " + strconv.Itoa(p.Status) + " " + http.StatusText(p.Status)
	}
	switch {
	case p.Code != "" && p.RequestID != "":
		return fmt.Sprintf("%s (%s, request %s)", text, p.Code, p.RequestID)
	case p.Code != "":
		return fmt.Sprintf("%s (%s)", text, p.Code)
	case p.RequestID != "":
		return fmt.Sprintf("%s (request %s)", text, p.RequestID)
	}
	return text
}

// ConnectError is a call for which the hub could not be reached, or closed the connection.
type ConnectError struct {
	URL string // base address of the hub
	Err error
}

// Error implements error.
func (e *ConnectError) Error() string { return "calling " + e.URL + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// NotHubError is a 2xx response without [hub.HeaderHub]: another server is at the address,
// and whatever was asked of it was not done.
type NotHubError struct {
	URL    string // what was called
	Status int
	Type   string // its Content-Type; "" = none
	Start  string // the beginning of its body
}

// Error implements error.
func (e *NotHubError) Error() string {
	text := fmt.Sprintf("what responds at %s is not a hub: %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Type != "" {
		text += ", " + e.Type
	}
	if e.Start != "" {
		text += ": " + e.Start
	}
	return text
}

// maxShown is how much of the body of a response that is no hub's is shown, in bytes.
const maxShown = 100

// readNotHub reads the beginning of a response that is no hub's and closes it.
func readNotHub(resp *http.Response, address string) *NotHubError {
	defer func() { _ = resp.Body.Close() }()
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxShown)) // what there is
	return &NotHubError{URL: address, Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"),
		Start: strings.ToValidUTF8(strings.Join(strings.Fields(string(start)), " "), "")}
}

// isFromHub reports whether a hub made a response.
func isFromHub(resp *http.Response) bool { return resp.Header.Get(hub.HeaderHub) != "" }

// AnswerError describes a 2xx answer of a hub that cannot be understood: it is probably
// one of another version.
type AnswerError struct {
	URL    string
	Reason string
}

// Error implements error.
func (e *AnswerError) Error() string {
	return "reading the response of " + e.URL + ": " + e.Reason
}

// problemMax is the most that is read of an error answer, in bytes.
const problemMax = 1 << 20

// readProblem reads a response outside 2xx and closes it. Responses that are no
// problem document (a proxy's error page) keep only their status.
func readProblem(resp *http.Response, address string) *Problem {
	defer func() { _ = resp.Body.Close() }()
	p := &Problem{}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, problemMax))
	if err != nil || json.Unmarshal(raw, p) != nil {
		p = &Problem{}
	}
	p.Status, p.IsForeign = resp.StatusCode, !isFromHub(resp)
	if p.Detail == "" {
		p.Detail = fmt.Sprintf("%s responded %d %s", address, resp.StatusCode, http.StatusText(resp.StatusCode))
		if location := resp.Header.Get("Location"); location != "" {
			p.Detail += "; redirects are not followed"
		}
	}
	if p.RequestID == "" {
		p.RequestID = resp.Header.Get("X-Request-Id")
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// withoutURL takes off the method and address that net/http puts before an error:
// the query may be long, and the caller names the hub anyway.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
