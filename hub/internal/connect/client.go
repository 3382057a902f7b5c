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
	return &doer{newClient(dial, callTimeout), userAgent, maxAnswer}
}

// NewDownloader returns a client like that of [NewDoer] for files: it leaves the length to the
// caller, and the time depends on it. The headers have to be there within 15 s. From then on the
// body has 15 s and what its bytes need at 128 KiB/s, at most 10 minutes: a large file arrives
// over a slow line, and a host that hangs is given up soon.
func NewDownloader(dial func(ctx context.Context, network, addr string) (net.Conn, error), userAgent string) hub.Doer {
	return &downloader{doer{newClient(dial, 0), userAgent, 0}}
}

// newClient returns a client whose calls have a timeout; 0 = none.
func newClient(dial func(ctx context.Context, network, addr string) (net.Conn, error), timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialInTime(dial), DisableCompression: true, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: callTimeout, MaxResponseHeaderBytes: 32 << 10,
		},
	}
}

// dialTimeout bounds the connection to a peer. It ends before the call does, so that the error is
// that of the connection: such a call has certainly not been made, and may be repeated.
const dialTimeout = callTimeout / 2

func dialInTime(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, addr)
	}
}

type doer struct {
	client    *http.Client
	userAgent string
	maxBytes  int64 // of an answer; 0 = any
}

// Do implements [hub.Doer].
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", d.userAgent)
	answer, err := d.client.Do(req) //nolint:gosec // the dialler enforces the egress rules
	if err != nil {
		return nil, err
	}
	if d.maxBytes > 0 {
		answer.Body = &limitedBody{io.LimitReader(answer.Body, d.maxBytes), answer.Body}
	}
	return answer, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}
