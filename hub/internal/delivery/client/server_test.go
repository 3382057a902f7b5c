package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rawServer is a TCP server whose connections are handled by a test's function.
type rawServer struct {
	url   string
	conns atomic.Int32 // accepted so far
}

// peer is the server's side of one connection.
type peer struct {
	*net.TCPConn
	in *bufio.Reader
	n  int // 1 for the server's first connection
}

// serve starts a server. A connection is closed when handle returns, and at the
// latest when the test ends.
func serve(t testing.TB, handle func(p *peer)) *rawServer {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &rawServer{url: "http://" + ln.Addr().String() + "/hook"}
	var open sync.Map
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p := &peer{TCPConn: conn.(*net.TCPConn), in: bufio.NewReader(conn), n: int(s.conns.Add(1))}
			open.Store(p, nil)
			running.Go(func() {
				defer open.Delete(p)
				defer func() { _ = p.Close() }()
				handle(p)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		open.Range(func(p, _ any) bool { _ = p.(*peer).Close(); return true })
		running.Wait()
	})
	return s
}

// request reads one request and returns its body, nil when the client has gone.
func (p *peer) request() []byte {
	req, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	return append([]byte{}, body...) // never nil
}

func (p *peer) send(text string) bool {
	_, err := p.Write([]byte(text))
	return err == nil
}

// flood sends head and then text for ever, as fast as the client takes it.
func (p *peer) flood(head, text string) {
	ok := p.send(head)
	for ok {
		ok = p.send(text)
	}
}

// drip sends text byte by byte for ever, until the client goes away.
func (p *peer) drip(text string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		for i := range len(text) {
			if !p.send(text[i : i+1]) {
				return
			}
			<-tick.C
		}
	}
}

// hang keeps the connection open until the client closes it.
func (p *peer) hang() { _, _ = io.Copy(io.Discard, p.in) }

// reset makes the end of the connection an RST.
func (p *peer) reset() { _ = p.SetLinger(0) }

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// answer returns a handler that answers every request with the same text.
func answer(text string) func(p *peer) {
	return func(p *peer) {
		for p.request() != nil {
			if !p.send(text) {
				return
			}
		}
	}
}

func dialPlain(ctx context.Context, network, addr string) (net.Conn, time.Duration, time.Duration, error) {
	start := time.Now()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return conn, 0, time.Since(start), err
}

// short is the time-out of the tests that wait for one.
const short = 200 * time.Millisecond

func newClient(t testing.TB, cfg Config) *Client {
	if cfg.Dial == nil {
		cfg.Dial = dialPlain
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

func target(t testing.TB, url string) *Destination {
	tg, err := NewDestination(url)
	require.NoError(t, err)
	return tg
}

// post sends a small request.
func post(c *Client, tg *Destination, resp *Response) error {
	return c.Post(context.Background(), tg, []Header{{"Content-Type", "application/json"}}, []byte(`{"a":1}`), resp)
}

// requireKind checks an error's kind and text.
func requireKind(t testing.TB, err error, kind Kind, text string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, kind, KindOf(err), "%v", err)
	require.Equal(t, text, err.Error())
}

// counting dials connections that count what is read from them.
func counting(read *atomic.Int64) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, time.Duration, time.Duration, error) {
		conn, dns, connect, err := dialPlain(ctx, network, addr)
		if err != nil {
			return nil, dns, connect, err
		}
		return &countedConn{conn, read}, dns, connect, nil
	}
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// errDial returns a dial function that fails.
func errDial(err error) DialFunc {
	return func(context.Context, string, string) (net.Conn, time.Duration, time.Duration, error) {
		return nil, time.Millisecond, 0, err
	}
}

var errRefusedByRules = errors.New("10.0.0.7 is not allowed")
