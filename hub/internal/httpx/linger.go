package httpx

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
)

// How long and how much a connection is read after a refusal, to no purpose but
// that the refusal arrives.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// Linger makes refusals arrive that are answered before the request has been read:
// bodies over [MaxBody] and headers that are too long. Closing a connection with
// unread data in it resets it, and the peer, still sending, may never see the
// answer. So [ErrorHandler] marks such connections, and closing one of listener's
// that is marked first ends the sending side, then throws away what still comes.
func Linger(listener net.Listener) net.Listener { return lingerListener{listener} }

type lingerListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lingerListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingerConn{Conn: conn}, nil
}

type lingerConn struct {
	net.Conn
	unread atomic.Bool // a request on it was refused before it was read
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

// lingerAfter marks the connection of a request that is refused with a status that
// means it was not read to its end.
func lingerAfter(c *fiber.Ctx, status int) {
	if status != http.StatusRequestEntityTooLarge && status != http.StatusRequestHeaderFieldsTooLarge {
		return
	}
	unreadBody(c)
}

// unreadBody has the connection read what the client still sends, so that it can read
// the answer.
func unreadBody(c *fiber.Ctx) {
	if conn, ok := c.Context().Conn().(*lingerConn); ok {
		conn.unread.Store(true)
	}
}
