package connect

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"integrationhub/hub"
)

// maxAnswer is how much of a peer's answer is read, in bytes, and one more: who
// reads it sees that it is too long.
const maxAnswer = 64<<10 + 1

// NewDoer makes the client that peers are called with: through dial, which keeps the
// egress rules, without a proxy, with 10 s for a whole call, no redirects, and 64 KiB
// read of an answer.
func NewDoer(dial func(ctx context.Context, network, addr string) (net.Conn, error), userAgent string) hub.Doer {
	return &doer{agent: userAgent, client: &http.Client{
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: callTimeout, MaxResponseHeaderBytes: 32 << 10,
		},
	}}
}

type doer struct {
	client *http.Client
	agent  string
}

// Do implements [hub.Doer].
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", d.agent)
	answer, err := d.client.Do(req) //nolint:gosec // the dialler keeps the egress rules
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
