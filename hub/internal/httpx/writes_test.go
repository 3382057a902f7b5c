package httpx

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// A client that stops reading is cut: nothing that is sent to it is held for longer.
func TestClientThatStopsReading(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	closed := make(chan struct{})
	app.Get("/", func(c *fiber.Ctx) error {
		return c.SendStream(endless{closed})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(lingerListener{listener, 50 * time.Millisecond}) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the response is still being written")
	}
	require.NoError(t, conn.Close())
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}

// endless is a file without an end.
type endless struct{ closed chan struct{} }

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Close implements io.Closer.
func (e endless) Close() error { close(e.closed); return nil }

// partsConn records what is written, and the deadlines.
type partsConn struct {
	net.Conn
	parts     []int
	deadlines int
	written   bytes.Buffer
	failAfter int
}

// SetWriteDeadline implements net.Conn.
func (c *partsConn) SetWriteDeadline(time.Time) error { c.deadlines++; return nil }

// Write implements net.Conn.
func (c *partsConn) Write(p []byte) (int, error) {
	if c.parts = append(c.parts, len(p)); len(c.parts) > c.failAfter {
		return 1, http.ErrHandlerTimeout
	}
	return c.written.Write(p)
}

// Each part of a long response has its own time: a client that reads slowly gets all of it.
func TestPartsOfResponses(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, writeBytes, writeBytes + 1, 3*writeBytes + 7} {
		conn := &partsConn{failAfter: 10}
		content := bytes.Repeat([]byte("ab"), size)[:size]
		n, err := (&lingerConn{Conn: conn, writeTimeout: time.Minute}).Write(content)
		require.NoError(t, err)
		require.Equal(t, size, n)
		require.Equal(t, content, append([]byte{}, conn.written.Bytes()...))
		require.Equal(t, len(conn.parts), conn.deadlines)
		require.LessOrEqual(t, slices.Max(conn.parts), writeBytes)
	}
	conn := &partsConn{failAfter: 1}
	n, err := (&lingerConn{Conn: conn, writeTimeout: time.Minute}).Write(make([]byte, 2*writeBytes))
	require.ErrorIs(t, err, http.ErrHandlerTimeout)
	require.Equal(t, writeBytes+1, n)
}
