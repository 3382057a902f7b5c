package client

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handle func(p *peer)
		text   string
		status int
	}{
		"never reads nor answers": {func(p *peer) { p.request(); p.hang() }, "waiting for the response: timed out", 0},
		"slow header":             {func(p *peer) { p.drip("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 100)) }, "reading the response header: timed out", 0},
		"header stops":            {func(p *peer) { p.send("HTTP/1.1 200 OK\r\nX-A: b\r\n"); p.hang() }, "reading the response header: timed out", 0},
		"slow interim responses":  {func(p *peer) { p.drip("HTTP/1.1 102 Processing\r\n\r\n") }, "reading the response header: timed out", 102},
		"slow body": {func(p *peer) {
			p.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
			p.drip("x")
		}, "reading the response body: timed out", 200},
		"body stops": {func(p *peer) {
			p.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")
			p.hang()
		}, "reading the response body: timed out", 200},
		"slow chunks": {func(p *peer) {
			p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			p.drip("1\r\nx\r\n")
		}, "reading the response body: timed out", 200},
		"slow trailers": {func(p *peer) {
			p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
			p.drip("X-T: a\r\n")
		}, "reading the response body: timed out", 200},
		"no end in sight": {func(p *peer) {
			p.send("HTTP/1.1 200 OK\r\n\r\n")
			p.drip("x")
		}, "reading the response body: timed out", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, tc.handle)
			c := newClient(t, Config{Timeout: short})
			var resp Response
			err := post(c, target(t, srv.url), &resp)
			require.Equal(t, KindTimeout, KindOf(err), "%v", err)
			if name != "slow interim responses" { // where it is cut is chance
				requireKind(t, err, KindTimeout, tc.text)
				require.Equal(t, tc.status, resp.Status)
			}
			require.GreaterOrEqual(t, resp.Phases.Total, short)
			require.Less(t, resp.Phases.Total, 5*time.Second)
			require.EqualValues(t, 1, srv.conns.Load(), "a time-out is not tried again")
		})
	}
}

// A peer that takes nothing off the wire stops the sending of a big body.
func TestTimeoutWhileSending(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	srv := serve(t, func(*peer) { <-stop })
	t.Cleanup(func() { close(stop) })
	c := newClient(t, Config{Timeout: short})
	var resp Response
	err := c.Post(t.Context(), target(t, srv.url), nil, make([]byte, 64<<20), &resp)
	requireKind(t, err, KindTimeout, "sending the request: timed out")
}

func TestEndlessBodies(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("x", 1<<16)
	for name, tc := range map[string]struct{ head, block string }{
		"announced":       {"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n", block},
		"chunked":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" + block + "\r\n"},
		"one huge chunk":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n280000000\r\n", block},
		"tiny chunks":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("1;"+strings.Repeat("e", 200)+"\r\nx\r\n", 50)},
		"trailers":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-T: a\r\n"},
		"to the end":      {"HTTP/1.1 200 OK\r\n\r\n", block},
		"after interims":  {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", block},
		"HTTP/1.0 to end": {"HTTP/1.0 200 OK\r\n\r\n", block},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, func(p *peer) {
				p.request()
				p.flood(tc.head, tc.block)
			})
			var read atomic.Int64
			c := newClient(t, Config{Dial: counting(&read)})
			var resp Response
			require.NoError(t, post(c, target(t, srv.url), &resp))
			require.Equal(t, 200, resp.Status)
			require.True(t, resp.Truncated)
			require.LessOrEqual(t, len(resp.Body), 4<<10)
			require.LessOrEqual(t, read.Load(), int64(64<<10))
			require.Empty(t, c.idle.conns, "the connection is closed")
			require.Less(t, resp.Phases.Total, 5*time.Second)
		})
	}
}

func TestGzipBombIsJustBytes(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, err := io.CopyN(zip, zeros{}, 8<<20)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	srv := serve(t, answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), bomb.String())))
	c := newClient(t, Config{})
	var resp Response
	require.NoError(t, post(c, target(t, srv.url), &resp))
	require.Equal(t, bomb.Bytes()[:4<<10], resp.Body)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ answer, block, text string }{
		"interim flood":   {"", "HTTP/1.1 100 Continue\r\n\r\n", "reading the response header: too many interim responses"},
		"endless header":  {"HTTP/1.1 200 OK\r\n", "X-A: " + strings.Repeat("a", 1000) + "\r\n", "reading the response header: the header is too long"},
		"endless line":    {"HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("a", 1000), "reading the response header: the header is too long"},
		"endless nothing": {"", "\x00\x00\x00\x00", "reading the response header: the header is too long"},
		"another service": {"", "SSH-2.0-OpenSSH_9.7\r\n", "reading the response header: the response is not HTTP/1"},
		"both framings": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n",
			"reading the response header: there are both a content length and a transfer encoding"},
		"bad chunk size": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "-1\r\n",
			"reading the response body: a chunk size is malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, func(p *peer) {
				p.request()
				p.flood(tc.answer+tc.block, tc.block)
			})
			var read atomic.Int64
			c := newClient(t, Config{Dial: counting(&read)})
			var resp Response
			requireKind(t, post(c, target(t, srv.url), &resp), KindProtocol, tc.text)
			require.LessOrEqual(t, read.Load(), int64(maxHeader+firstBuffer))
			require.Empty(t, c.idle.conns)
		})
	}
}

func TestResets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handle func(p *peer)
		text   string
	}{
		"closed unread": {func(p *peer) { p.request() }, "waiting for the response: the peer closed the connection"},
		"reset unread":  {func(p *peer) { p.request(); p.reset() }, "waiting for the response: the peer reset the connection"},
		"closed in header": {func(p *peer) {
			p.request()
			p.send("HTTP/1.1 200 OK\r\nX")
		}, "reading the response header: the peer closed the connection"},
		"closed in body": {func(p *peer) {
			p.request()
			p.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")
		}, "reading the response body: the peer closed the connection"},
		"closed in chunk": {func(p *peer) {
			p.request()
			p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no")
		}, "reading the response body: the peer closed the connection"},
		"closed before the last chunk": {func(p *peer) {
			p.request()
			p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
		}, "reading the response body: the peer closed the connection"},
		"closed in trailers": {func(p *peer) {
			p.request()
			p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: 1\r\n")
		}, "reading the response body: the peer closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, tc.handle)
			c := newClient(t, Config{})
			var resp Response
			requireKind(t, post(c, target(t, srv.url), &resp), KindReset, tc.text)
			require.EqualValues(t, 1, srv.conns.Load(), "only a kept-alive connection is replaced")
		})
	}
}

// A reset in the middle of a body is an error even where the end of the
// connection is the end of the body.
func TestResetOfACloseDelimitedBody(t *testing.T) {
	t.Parallel()
	got := make(chan struct{})
	srv := serve(t, func(p *peer) {
		p.request()
		p.send("HTTP/1.1 200 OK\r\n\r\npart")
		<-got
		p.reset()
	})
	seen := &tellingConn{got: got}
	c := newClient(t, Config{Dial: seen.dial})
	var resp Response
	requireKind(t, post(c, target(t, srv.url), &resp), KindReset, "reading the response body: the peer reset the connection")
	require.Equal(t, 200, resp.Status)
}
