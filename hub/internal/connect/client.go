package connect

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"integrationhub/hub"
)

// maxAnswer is how many bytes of a peer's answer are read: one more than the limit, so
// that a reader sees when it is exceeded.
const maxAnswer = 64<<10 + 1

// NewDoer returns the client that peers are called with. It connects through dial, which
// enforces the egress rules, uses no proxy, follows no redirects, and bounds a call to
// 10 s and an answer to 64 KiB.
func NewDoer(dial func(ctx context.Context, network, addr string) (net.Conn, error), userAgent string) hub.Doer {
	return &doer{userAgent: userAgent, client: &http.Client{
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: callTimeout, MaxResponseHeaderBytes: 32 << 10,
		},
	}}
}

type doer struct {
	client    *http.Client
	userAgent string
}

// Do implements [hub.Doer].
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", d.userAgent)
	answer, err := d.client.Do(req) //nolint:gosec // the dialler enforces the egress rules
	if err != nil {
		return nil, err
	}
	answer.Body = &limitedBody{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}
