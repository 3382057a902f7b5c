package hub_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// doer answers every request with one response or error.
type doer struct {
	status int
	body   string
	err    error
}

// Do implements [hub.Doer].
func (d doer) Do(*http.Request) (*http.Response, error) {
	if d.err != nil {
		return nil, d.err
	}
	return &http.Response{StatusCode: d.status, Body: io.NopCloser(strings.NewReader(d.body))}, nil
}

// slowError is a transport error that may be for lack of time.
type slowError bool

// Error implements error.
func (slowError) Error() string { return "transport" }

// Timeout implements net.Error.
func (s slowError) Timeout() bool { return bool(s) }

// Temporary implements net.Error.
func (slowError) Temporary() bool { return false }

// codeOf returns the code of a [hub.Error] of a kind.
func codeOf(t *testing.T, err, kind error) string {
	t.Helper()
	var hubErr *hub.Error
	require.ErrorAs(t, err, &hubErr)
	require.ErrorIs(t, hubErr, kind)
	return hubErr.Code
}

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	req, err := hub.NewRequest(t.Context(), http.MethodGet, "https://clinic.example/search?phone=canary", nil)
	require.NoError(t, err)
	return req
}

func TestExchangeLimitsTheBody(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", hub.MaxResponseBytes)
	response, err := hub.Exchange(doer{status: 200, body: longest}, newRequest(t))
	require.NoError(t, err)
	require.Len(t, response.Body, hub.MaxResponseBytes)
	require.Equal(t, 200, response.Status)
	_, err = hub.Exchange(doer{status: 200, body: longest + "x"}, newRequest(t))
	require.Equal(t, hub.CodePeerResponse, codeOf(t, err, hub.ErrPeer))
}

// Timeouts are distinct from other failures, and no error quotes the URL.
func TestExchangeErrors(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]struct {
		err, kind error
		code      string
	}{
		"a deadline":          {context.DeadlineExceeded, hub.ErrPeerTimeout, hub.CodePeerTimeout},
		"a slow connection":   {slowError(true), hub.ErrPeerTimeout, hub.CodePeerTimeout},
		"a broken connection": {slowError(false), hub.ErrPeer, hub.CodePeerUnreachable},
		"another error":       {errors.New("refused"), hub.ErrPeer, hub.CodePeerUnreachable},
		"the doer's own":      {hub.Errorf(hub.ErrRateLimited, "paced", "Later."), hub.ErrRateLimited, "paced"},
	} {
		for _, err := range []error{failure.err, &url.Error{Op: "Get", URL: "https://clinic.example/search?phone=canary", Err: failure.err}} {
			if name == "the doer's own" && err != failure.err { //nolint:errorlint // which of the two it is
				continue
			}
			_, got := hub.Exchange(doer{err: err}, newRequest(t))
			require.Equal(t, failure.code, codeOf(t, got, failure.kind), name)
			require.NotContains(t, got.Error(), "canary", name)
			require.ErrorIs(t, got, failure.err, name)
		}
	}
}

// Callers can tell why there is no connection, and that the address may be wrong.
func TestReasons(t *testing.T) {
	t.Parallel()
	for failure, reason := range map[error]string{
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "canary.example", IsNotFound: true}}: "name_unknown",
		&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}:                          "connection_refused",
		&tls.CertificateVerificationError{Err: errors.New("canary")}:                                                "tls",
		http.ErrSchemeMismatch: "tls",
	} {
		_, err := hub.Exchange(doer{err: failure}, newRequest(t))
		require.Equal(t, hub.CodePeerUnreachable, codeOf(t, err, hub.ErrPeer))
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		require.Equal(t, hub.Extensions{hub.ReasonMember: reason}, hubErr.Extensions)
		require.NotContains(t, hubErr.Detail, "canary")
	}
	for status, want := range map[int]hub.Extensions{404: {hub.ReasonMember: "wrong_address"}, 301: {hub.ReasonMember: "wrong_address"}, 500: nil} {
		var hubErr *hub.Error
		require.ErrorAs(t, hub.Response{Status: status}.StatusError(), &hubErr)
		require.Equal(t, want, hubErr.Extensions)
	}
}

func TestStatusErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 204, 299} {
		require.NoError(t, hub.Response{Status: status}.StatusError(), status)
	}
	for status, want := range map[int]string{
		199: hub.CodePeerFailed, 300: hub.CodePeerFailed, 302: hub.CodePeerFailed, 404: hub.CodePeerFailed, 500: hub.CodePeerFailed, 429: hub.CodePeerRateLimited,
	} {
		require.Equal(t, want, codeOf(t, hub.Response{Status: status}.StatusError(), hub.ErrPeer), status)
	}
	for _, status := range []int{401, 403} {
		require.Equal(t, hub.CodeKeyRejected, codeOf(t, hub.Response{Status: status}.StatusError(), hub.ErrInvalid), status)
	}
}

// Any 4xx is a refusal except 408, after which the request may have taken effect.
func TestPeerHTTPStatusRefused(t *testing.T) {
	t.Parallel()
	for status, want := range map[hub.PeerHTTPStatus]bool{
		200: false, 399: false, 400: true, 404: true, 407: true, 408: false, 409: true, 499: true, 500: false, 503: false,
	} {
		require.Equal(t, want, status.Refused(), int(status))
	}
}

func TestNewRequest(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://clinic.example", "https://clinic.example/api"} {
		req, err := hub.NewRequest(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		require.Equal(t, http.Header{"Accept": {"application/json"}}, req.Header)
		require.Nil(t, req.Body)
		req, err = hub.NewRequest(t.Context(), http.MethodPost, address, []byte(`{"a":1}`))
		require.NoError(t, err)
		require.Equal(t, http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, req.Header)
		body, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(body))
	}
}

// The peer's code is kept if it looks like a code.
func TestCallResultKeepsCodes(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 64)
	for body, want := range map[string]string{
		`{"code":"slot_taken"}`: "slot_taken", `{"code":"az_09"}`: "az_09", `{"code":"` + longest + `"}`: longest,
		`{"code":"` + longest + `a"}`: "peer_refused", `{"code":""}`: "peer_refused", `{"code":"Slot taken"}`: "peer_refused",
		`{}`: "peer_refused", `{"code":7}`: "peer_refused", `{"code":"slot_taken","code":7}`: "peer_refused", `no`: "peer_refused", ``: "peer_refused",
	} {
		for status, kind := range map[int]error{400: hub.ErrInvalid, 422: hub.ErrInvalid, 404: hub.ErrNotFound, 409: hub.ErrConflict} {
			_, err := hub.Response{Status: status, Body: []byte(body)}.CallResult()
			require.Equal(t, want, codeOf(t, err, kind), body)
		}
	}
	raw, err := hub.Response{Status: 200, Body: []byte(`{"a":1}`)}.CallResult()
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`{"a":1}`), raw)
	_, err = hub.Response{Status: 200, Body: []byte(`{`)}.CallResult()
	require.Equal(t, hub.CodePeerResponse, codeOf(t, err, hub.ErrPeer))
	_, err = hub.Response{Status: 500, Body: []byte(`{}`)}.CallResult()
	require.Equal(t, hub.CodePeerFailed, codeOf(t, err, hub.ErrPeer))
}
