package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	srv := serve(t, func(p *peer) {
		buf := make([]byte, 4096)
		n, _ := p.Read(buf)
		got <- string(buf[:n])
		p.send(okAnswer)
		p.hang()
	})
	c := newClient(t, Config{UserAgent: "hub/1\r\nX: y"})
	var resp Response
	err := c.Post(context.Background(), target(t, srv.url+"?q=a b#frag"),
		[]Header{{"Content-Type", "application/json"}, {"X-One", ""}, {"x-one", "ü\t2"}}, []byte("{}"), &resp)
	require.NoError(t, err)
	host := strings.TrimSuffix(strings.TrimPrefix(srv.url, "http://"), "/hook")
	require.Equal(t, "POST /hook?q=a%20b HTTP/1.1\r\nHost: "+host+"\r\nUser-Agent: hub/1X: y\r\nAccept-Encoding: identity\r\n"+
		"Content-Type: application/json\r\nX-One: \r\nx-one: ü\t2\r\nContent-Length: 2\r\n\r\n{}", <-got)
	require.Equal(t, 200, resp.Status)
	require.Equal(t, "ok", string(resp.Body))
	require.Equal(t, "Content-Length: 2\r\n", string(resp.Header))
}

func TestHeadersThatMustNotBeSent(t *testing.T) {
	t.Parallel()
	dialled := false
	c := newClient(t, Config{Dial: func(context.Context, string, string) (net.Conn, time.Duration, time.Duration, error) {
		dialled = true
		return nil, 0, 0, io.EOF
	}})
	for _, h := range []Header{
		{"X-A", "a\r\nX-Evil: 1"}, {"X-A", "a\nb"}, {"X-A", "a\rb"}, {"X-A", "a\x00"}, {"X-A", "\x7f"},
		{"", "a"}, {"X A", "a"}, {"X-A:", "a"}, {"X-A\r\n", "a"}, {"X-Ä", "a"},
		{"host", "a"}, {"Content-LENGTH", "1"}, {"Transfer-Encoding", "chunked"}, {"connection", "close"},
		{"TE", "trailers"}, {"Trailer", "x"}, {"upgrade", "h2c"}, {"Expect", "100-continue"},
		{"User-Agent", "x"}, {"Accept-Encoding", "gzip"},
	} {
		var resp Response
		err := c.Post(context.Background(), target(t, "http://127.0.0.1:1/"), []Header{h}, nil, &resp)
		require.Equal(t, KindRequest, KindOf(err), "%q", h)
		require.NotContains(t, err.Error(), "Evil")
	}
	require.False(t, dialled)
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		reused bool
	}{
		"length":                {okAnswer, true},
		"empty":                 {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true},
		"chunked and trailers":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-T: 1\r\n\r\n", true},
		"204":                   {"HTTP/1.1 204 No Content\r\n\r\n", true},
		"304 with length":       {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", true},
		"interim":               {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + okAnswer, true},
		"1.0 keep-alive":        {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", true},
		"204 with length":       {"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", false},
		"close":                 {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok", false},
		"1.0":                   {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		"bytes behind the body": {okAnswer + "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, answer(tc.answer))
			c := newClient(t, Config{})
			tg := target(t, srv.url)
			var resp Response
			for i := range 3 {
				require.NoError(t, post(c, tg, &resp))
				require.Less(t, resp.Status, 500)
				require.Equal(t, tc.reused && i > 0, resp.Phases.Reused)
				require.Positive(t, resp.Phases.FirstByte)
				require.GreaterOrEqual(t, resp.Phases.Total, resp.Phases.FirstByte+resp.Phases.Connect)
				require.Equal(t, resp.Phases.Reused, resp.Phases.Connect == 0)
			}
			if tc.reused {
				require.EqualValues(t, 1, srv.conns.Load())
			} else {
				require.EqualValues(t, 3, srv.conns.Load())
			}
		})
	}
}

func TestCloseDelimitedBody(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"} {
		srv := serve(t, func(p *peer) {
			p.request()
			p.send(head + "until the end")
		})
		c := newClient(t, Config{})
		var resp Response
		require.NoError(t, post(c, target(t, srv.url), &resp))
		require.Equal(t, "until the end", string(resp.Body))
		require.False(t, resp.Truncated)
	}
}

// TestRedirect also shows that 3xx is a status like any other.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := serve(t, answer(okAnswer))
	srv := serve(t, answer("HTTP/1.1 307 Temporary Redirect\r\nLocation: "+other.url+"\r\nContent-Length: 0\r\n\r\n"))
	c := newClient(t, Config{})
	var resp Response
	require.NoError(t, post(c, target(t, srv.url), &resp))
	require.Equal(t, 307, resp.Status)
	require.Contains(t, string(resp.Header), "Location: "+other.url)
	require.Zero(t, other.conns.Load())
}

func TestResponseIsReusedCleanly(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(p *peer) {
		p.request()
		p.send("HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000))
		p.request()
		p.send("HTTP/1.1 204 No Content\r\n\r\n")
	})
	c := newClient(t, Config{})
	var resp Response
	require.NoError(t, post(c, target(t, srv.url), &resp))
	require.Equal(t, 429, resp.Status)
	require.Equal(t, "7", resp.RetryAfter)
	require.Len(t, resp.Body, 4096)
	require.True(t, resp.Truncated)
	require.NoError(t, post(c, target(t, srv.url), &resp))
	resp.Phases = Phases{}
	require.Equal(t, Response{Status: 204, Header: []byte{}, Body: []byte{}}, resp)
	require.EqualValues(t, 1, srv.conns.Load(), "a body that is read but not kept leaves the connection usable")
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, inlineBody - 1, inlineBody, inlineBody + 1, 3 << 20} {
		got := make(chan []byte, 1)
		srv := serve(t, func(p *peer) {
			got <- p.request()
			p.send(okAnswer)
		})
		c := newClient(t, Config{})
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		var resp Response
		require.NoError(t, c.Post(context.Background(), target(t, srv.url), nil, body, &resp))
		require.True(t, bytes.Equal(body, <-got))
	}
}

// A peer that refuses a big body early, and resets, has still answered.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(p *peer) {
		_, _ = p.in.ReadString('\n')
		p.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		_ = p.CloseWrite()
	})
	c := newClient(t, Config{})
	var resp Response
	require.NoError(t, c.Post(context.Background(), target(t, srv.url), nil, make([]byte, 32<<20), &resp))
	require.Equal(t, 413, resp.Status)
	require.Empty(t, c.idle.conns)
}

func TestDialFailures(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	unreachable := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
	for _, tc := range []struct {
		err  error
		kind Kind
		text string
	}{
		{refused, KindConnect, "connecting: connection refused"},
		{unreachable, KindConnect, "connecting: host unreachable"},
		{errRefusedByRules, KindConnect, "connecting: host unreachable"},
		{&net.DNSError{Err: "x", Name: "secret.example", IsNotFound: true}, KindDNS, "connecting: no such host"},
		{&net.DNSError{Err: "x", Name: "secret.example"}, KindDNS, "connecting: the host name could not be resolved"},
		{os.ErrDeadlineExceeded, KindTimeout, "connecting: timed out"},
	} {
		c := newClient(t, Config{Dial: errDial(tc.err)})
		var resp Response
		err := post(c, target(t, "http://peer.example/"), &resp)
		requireKind(t, err, tc.kind, tc.text)
		require.ErrorIs(t, err, tc.err)
		require.Equal(t, time.Millisecond, resp.Phases.DNS)
		require.Positive(t, resp.Phases.Total)
	}
	require.Empty(t, KindOf(io.EOF))
	require.Empty(t, KindOf(nil))
}

// A resolver that fails because the time is over has timed out.
func TestDialIsBoundByTheDeadline(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Timeout: short, Dial: func(ctx context.Context, _, _ string) (net.Conn, time.Duration, time.Duration, error) {
		<-ctx.Done()
		return nil, 0, 0, &net.DNSError{Err: "i/o timeout", IsTimeout: true}
	}})
	var resp Response
	requireKind(t, post(c, target(t, "http://peer.example/"), &resp), KindTimeout, "connecting: timed out")
	require.GreaterOrEqual(t, resp.Phases.Total, short)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	srv := serve(t, func(p *peer) {
		p.request()
		arrived <- struct{}{}
		p.hang()
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	var resp Response

	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	err := c.Post(ctx, tg, nil, nil, &resp)
	requireKind(t, err, KindCanceled, "waiting for the response: canceled")
	require.Less(t, resp.Phases.Total, 5*time.Second)

	ctx, cancel = context.WithTimeout(context.Background(), short)
	defer cancel()
	requireKind(t, c.Post(ctx, tg, nil, nil, &resp), KindTimeout, "waiting for the response: timed out")

	ctx, cancel = context.WithCancel(context.Background())
	dialling := newClient(t, Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, time.Duration, time.Duration, error) {
		cancel()
		<-ctx.Done()
		return nil, 0, 0, ctx.Err()
	}})
	requireKind(t, dialling.Post(ctx, tg, nil, nil, &resp), KindCanceled, "connecting: canceled")
}

// A context that has ended sends nothing, on no connection.
func TestCanceledBefore(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	srv := serve(t, func(p *peer) {
		for p.request() != nil {
			requests.Add(1)
			p.send(okAnswer)
		}
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	ctx, cancel := context.WithCancel(context.Background())
	var resp Response
	require.NoError(t, c.Post(ctx, tg, nil, nil, &resp))
	cancel()
	requireKind(t, c.Post(ctx, tg, nil, nil, &resp), KindCanceled, "connecting: canceled")
	require.NoError(t, post(c, tg, &resp))
	require.True(t, resp.Phases.Reused)
	require.EqualValues(t, 2, requests.Load())
}

// Each request has its own deadline, whatever its connection lived through.
func TestConnectionOutlivesItsFirstDeadline(t *testing.T) {
	t.Parallel()
	srv := serve(t, answer(okAnswer))
	c := newClient(t, Config{Timeout: short})
	tg := target(t, srv.url)
	var resp Response
	for start := time.Now(); time.Since(start) < 2*short; {
		require.NoError(t, post(c, tg, &resp))
	}
	require.EqualValues(t, 1, srv.conns.Load())
}

// A context that ends after the response must not hurt the pooled connection.
func TestContextEndsAfterTheResponse(t *testing.T) {
	t.Parallel()
	srv := serve(t, answer(okAnswer))
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	var resp Response
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, c.Post(ctx, tg, nil, nil, &resp))
		cancel()
	}
	require.EqualValues(t, 1, srv.conns.Load())
}

func TestConcurrentPostsDoNotMix(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(p *peer) {
		for {
			body := p.request()
			if body == nil || !p.send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)) {
				return
			}
			if len(body)%7 == 0 {
				return // without a word: the client has to cope
			}
		}
	})
	c := newClient(t, Config{MaxIdlePerHost: 8})
	tg := target(t, srv.url)
	var wg sync.WaitGroup
	var wrong atomic.Int32
	for g := range 16 {
		wg.Go(func() {
			var resp Response
			for i := range 60 {
				body := strings.Repeat(fmt.Sprintf("<%d.%d>", g, i), 1+i)
				err := c.Post(context.Background(), tg, nil, []byte(body), &resp)
				if err != nil || string(resp.Body) != body {
					t.Logf("post %d.%d: %v %q", g, i, err, resp.Body)
					wrong.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, wrong.Load())
}

// The hot path may not allocate. Not parallel: allocations are counted process-wide.
func TestPostAllocations(t *testing.T) { //nolint:paralleltest // see above
	srv := serve(t, func(p *peer) {
		buf, ok := make([]byte, 4096), []byte(okAnswer)
		for {
			if _, err := p.Read(buf); err != nil {
				return
			}
			if _, err := p.Write(ok); err != nil {
				return
			}
		}
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	body := make([]byte, 512)
	var resp Response
	allocs := testing.AllocsPerRun(200, func() {
		require.NoError(t, c.Post(context.Background(), tg, benchHeader, body, &resp))
	})
	require.LessOrEqual(t, allocs, 2.0)
}
