package httpx

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
)

// How long, and how many bytes, a connection is read after a refusal. The data is
// discarded; reading it lets the refusal arrive.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// A client that does not take so many bytes of a response in writeTimeout is cut. One that reads
// slowly takes the longest download at this pace.
const (
	writeBytes   = 64 << 10
	writeTimeout = 45 * time.Second
)

// Linger wraps a listener so that clients receive responses to requests that were not
// read to the end: bodies over [MaxBody] and headers that are too long. Closing a
// connection with unread data resets it, and a client that is still sending may miss the
// response. [ErrorHandler] marks such connections. Closing a marked connection first
// ends our sending side, then discards what still arrives. Clients that stop reading hold no
// connection, nor what is being sent to them: each part of a response has a time of its own.
func Linger(listener net.Listener) net.Listener { return lingerListener{listener, writeTimeout} }

type lingerListener struct {
	net.Listener
	writeTimeout time.Duration
}

// Accept implements net.Listener.
func (l lingerListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingerConn{Conn: conn, writeTimeout: l.writeTimeout}, nil
}

type lingerConn struct {
	net.Conn
	unread       atomic.Bool // a request was refused before it was read
	writeTimeout time.Duration
}

// Write implements net.Conn. fasthttp's own timeout is that of a whole response, which would cut
// long downloads and event streams.
func (c *lingerConn) Write(p []byte) (written int, err error) {
	for {
		part := p[written:min(len(p), written+writeBytes)]
		if err := c.SetWriteDeadline(time.Now().Add(c.writeTimeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(part)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close implements net.Conn.
func (c *lingerConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.unread.Swap(false) && half.CloseWrite() == nil {
		if c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // how it ends does not matter
		}
	}
	return c.Conn.Close()
}

// lingerAfter marks the connection of a request if the status of its refusal means that
// it was not read to the end.
func lingerAfter(c *fiber.Ctx, status int) {
	if status != http.StatusRequestEntityTooLarge && status != http.StatusRequestHeaderFieldsTooLarge {
		return
	}
	markUnread(c)
}

// markUnread marks the connection of a request that was not read to the end.
func markUnread(c *fiber.Ctx) {
	if conn, ok := c.Context().Conn().(*lingerConn); ok {
		conn.unread.Store(true)
	}
}
