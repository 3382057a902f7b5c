package client

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tellingConn closes got after its first successful read.
type tellingConn struct {
	net.Conn
	got  chan struct{}
	once sync.Once
}

func (c *tellingConn) dial(ctx context.Context, network, addr string) (_ net.Conn, dns, connect time.Duration, err error) {
	c.Conn, dns, connect, err = dialPlain(ctx, network, addr)
	return c, dns, connect, err
}

func (c *tellingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.once.Do(func() { close(c.got) })
	}
	return n, err
}

// awaitInput waits until something, or the end, can be read from the idle
// connections of a client.
func awaitInput(t *testing.T, c *Client) {
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	for _, list := range c.idle.conns {
		for _, connection := range list {
			require.Eventually(t, func() bool {
				ready := false
				err := connection.socket.raw.Control(func(fd uintptr) {
					var b [1]byte
					_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
					ready = err != syscall.EAGAIN
				})
				return err != nil || ready
			}, time.Minute, time.Millisecond)
		}
	}
}

// A connection the peer closed while it was idle is noticed before it is used.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	var requests [3]int
	srv := serve(t, func(p *peer) {
		p.request()
		requests[p.n]++
		p.send(okAnswer)
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	var resp Response
	require.NoError(t, post(c, tg, &resp))
	awaitInput(t, c)
	require.NoError(t, post(c, tg, &resp))
	require.False(t, resp.Phases.Reused)
	require.Equal(t, [3]int{0, 1, 1}, requests)
}

// What a peer sends unasked must not become the answer to the next request.
func TestStrayBytesWhileIdle(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	srv := serve(t, func(p *peer) {
		p.request()
		p.send(okAnswer)
		if p.n == 1 {
			<-next
			p.send("HTTP/1.1 500 Stray\r\nContent-Length: 0\r\n\r\n")
		}
		p.hang()
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	var resp Response
	require.NoError(t, post(c, tg, &resp))
	close(next)
	awaitInput(t, c)
	require.NoError(t, post(c, tg, &resp))
	require.Equal(t, 200, resp.Status)
	require.EqualValues(t, 2, srv.conns.Load())
}

// The peer takes the second request and closes: that is the keep-alive race, and
// the request goes out once more.
func TestStaleConnectionIsReplacedOnce(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]bool{"closed": false, "reset": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 8)
			srv := serve(t, func(p *peer) {
				bodies <- string(p.request())
				if p.n >= 3 {
					return
				}
				p.send(okAnswer)
				bodies <- string(p.request())
				if reset {
					p.reset()
				}
			})
			c := newClient(t, Config{})
			tg := target(t, srv.url)
			var resp Response
			require.NoError(t, post(c, tg, &resp)) // connection 1
			require.NoError(t, post(c, tg, &resp)) // 1 is stale, 2 answers
			require.False(t, resp.Phases.Reused)
			require.Positive(t, resp.Phases.Connect)
			err := post(c, tg, &resp) // 2 is stale, 3 closes as well
			require.Equal(t, KindReset, KindOf(err), "%v", err)
			require.EqualValues(t, 3, srv.conns.Load())
			for range 5 {
				require.Equal(t, `{"a":1}`, <-bodies)
			}
		})
	}
}

func TestUsedConnectionsAreNotReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		second func(p *peer)
		kind   Kind
	}{
		"after the first byte": {func(p *peer) { p.send("H") }, KindReset},
		"time-out":             {func(p *peer) { p.hang() }, KindTimeout},
		"nonsense":             {func(p *peer) { p.send("nonsense\r\n") }, KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, func(p *peer) {
				p.request()
				p.send(okAnswer)
				p.request()
				tc.second(p)
			})
			c := newClient(t, Config{Timeout: 2 * short})
			tg := target(t, srv.url)
			var resp Response
			require.NoError(t, post(c, tg, &resp))
			err := post(c, tg, &resp)
			require.Equal(t, tc.kind, KindOf(err), "%v", err)
			require.True(t, resp.Phases.Reused)
			require.EqualValues(t, 1, srv.conns.Load())
		})
	}
}

// fakeConn returns a connection that records when it is closed.
func fakeConn(t *testing.T, key string) (*conn, *bool) {
	a, b := net.Pipe()
	t.Cleanup(func() { _ = b.Close() })
	closed := new(bool)
	return &conn{socket: newSocket(closeFlag{a, closed}), key: key, idleAt: time.Now()}, closed
}

type closeFlag struct {
	net.Conn
	closed *bool
}

func (c closeFlag) Close() error {
	*c.closed = true
	return c.Conn.Close()
}

func TestPoolOrderAndBounds(t *testing.T) {
	t.Parallel()
	p := newPool(2, 3, time.Hour)
	defer p.close()
	var conns [5]*conn
	var closed [5]*bool
	for i, key := range []string{"a", "a", "a", "b", "c"} {
		conns[i], closed[i] = fakeConn(t, key)
		p.put(conns[i])
	}
	require.True(t, *closed[2], "over the bound of its key")
	require.True(t, *closed[4], "over the bound of all")
	require.Same(t, conns[1], p.get("a"), "the last used goes first")
	require.Same(t, conns[0], p.get("a"))
	require.Nil(t, p.get("a"))
	require.Nil(t, p.get("c"))
	p.put(conns[0])
	p.put(conns[1])

	conns[3].idleAt = time.Now().Add(-time.Minute)
	conns[0].idleAt = conns[3].idleAt
	require.ElementsMatch(t, []*conn{conns[0], conns[3]}, p.takeOlder(time.Now().Add(-time.Second)))
	require.NotContains(t, p.conns, "b", "an empty key leaves nothing behind")
	require.Equal(t, 1, p.count)
	require.False(t, *closed[1])
	p.close()
	require.True(t, *closed[1])
	p.put(conns[0])
	require.True(t, *closed[0], "a closed pool keeps nothing")
	require.Nil(t, p.get("a"))
	p.close() // twice does no harm
	_ = conns[3].socket.Close()
}

func TestIdleConnectionsExpire(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	srv := serve(t, func(p *peer) {
		p.request()
		p.send(okAnswer)
		p.hang()
		close(gone)
	})
	c := newClient(t, Config{IdleTimeout: 20 * time.Millisecond})
	var resp Response
	require.NoError(t, post(c, target(t, srv.url), &resp))
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		require.Fail(t, "the idle connection was not closed")
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	arrived, release, gone := make(chan struct{}), make(chan struct{}), make(chan struct{}, 2)
	srv := serve(t, func(p *peer) {
		p.request()
		if p.n == 2 {
			close(arrived)
			<-release
		}
		p.send(okAnswer)
		p.hang()
		gone <- struct{}{}
	})
	c := newClient(t, Config{})
	tg := target(t, srv.url)
	first := c.idle
	var resp Response
	require.NoError(t, post(c, tg, &resp))
	kept := first.get(tg.key) // as if in use: the next one needs a second connection
	under := make(chan error)
	go func() {
		var resp Response
		under <- post(c, tg, &resp)
	}()
	<-arrived
	first.put(kept)
	c.Close()
	<-gone // the idle one
	close(release)
	require.NoError(t, <-under, "what is under way finishes")
	<-gone // and its connection is closed, too
	requireKind(t, post(c, tg, &resp), KindCanceled, "connecting: the client is closed")
}
