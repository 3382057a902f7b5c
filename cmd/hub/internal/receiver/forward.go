package receiver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// forwardTimeout is as long as the hub itself waits for an answer.
const forwardTimeout = 10 * time.Second

// answerMax bounds what is passed back of a response, in bytes: as much as the
// hub reads.
const answerMax = 64 << 10

// Forwarder passes deliveries on, byte for byte.
type Forwarder struct {
	to   string
	http *http.Client
}

// NewForwarder makes a forwarder to an absolute http(s) URL.
func NewForwarder(to string) (*Forwarder, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("not an absolute http(s) URL")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // adds no Accept-Encoding of its own
	return &Forwarder{to: to, http: &http.Client{
		Transport:     transport,
		Timeout:       forwardTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// hopHeaders belong to one connection and are not passed on (RFC 9110, section 7.6.1).
var hopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// pass forwards a delivery and passes the response back. It returns the status and the
// outcome that the body names; see [Delivery].
func (f *Forwarder) pass(w http.ResponseWriter, r *http.Request, body []byte) (status int, outcome string, err error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, f.to, bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return http.StatusBadGateway, "", fmt.Errorf("making the request: %w", err)
	}
	req.Header = r.Header.Clone()
	for _, name := range hopHeaders {
		req.Header.Del(name)
	}
	resp, err := f.http.Do(req) //nolint:gosec // to the URL this command was started with
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return http.StatusBadGateway, "", fmt.Errorf("forwarding: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if value := resp.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(resp.StatusCode)
	if err != nil {
		return resp.StatusCode, "", fmt.Errorf("reading the response: %w", err)
	}
	if _, err := w.Write(answer); err != nil {
		return resp.StatusCode, "", fmt.Errorf("passing the response back: %w", err)
	}
	return resp.StatusCode, outcomeOf(answer), nil
}

// outcomeOf returns the outcome in a response's body: the status of a product that accepted
// the delivery (docs/interfaces/clinic.md, Webhook envelope), or the code of one that refused
// it; "" if it has neither.
func outcomeOf(answer []byte) string {
	var answered struct {
		Received *bool  `json:"received"`
		Status   any    `json:"status"` // of errors a number
		Code     string `json:"code"`
	}
	if json.Unmarshal(answer, &answered) != nil {
		return ""
	}
	if word, ok := answered.Status.(string); ok && answered.Received != nil {
		return word
	}
	return answered.Code
}

func parseUnix(text string) (time.Time, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err
}
