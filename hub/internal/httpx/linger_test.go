package httpx

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// halfConn is a connection whose sending side can be closed alone; it records the calls.
type halfConn struct {
	net.Conn
	calls    string
	writeErr error
}

// CloseWrite ends the sending side.
func (c *halfConn) CloseWrite() error { c.calls += "write "; return c.writeErr }

// SetReadDeadline implements net.Conn.
func (c *halfConn) SetReadDeadline(time.Time) error { return nil }

// Read implements net.Conn.
func (c *halfConn) Read([]byte) (int, error) { c.calls += "read "; return 0, io.EOF }

// Close implements net.Conn.
func (c *halfConn) Close() error { c.calls += "close"; return nil }

// Only a connection with an unread request is read before it closes, once.
func TestLingerConnections(t *testing.T) {
	t.Parallel()
	for name, conn := range map[string]struct {
		unread   bool
		writeErr error
		want     string
	}{
		"read": {false, nil, "close"}, "unread": {true, nil, "write read close"}, "unread and broken": {true, errors.New("broken"), "write close"},
	} {
		half := &halfConn{writeErr: conn.writeErr}
		linger := &lingerConn{Conn: half}
		linger.unread.Store(conn.unread)
		require.NoError(t, linger.Close())
		require.Equal(t, conn.want, half.calls, name)
		require.NoError(t, linger.Close())
		require.Equal(t, conn.want+"close", half.calls, name)
	}
}

// 413 and 431 leave a request unread; other refusals do not.
func TestLingerStatuses(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	for status, want := range map[int]bool{http.StatusRequestEntityTooLarge: true, http.StatusRequestHeaderFieldsTooLarge: true, http.StatusBadRequest: false, http.StatusUnprocessableEntity: false} {
		conn := &lingerConn{Conn: &halfConn{}}
		ctx := &fasthttp.RequestCtx{}
		ctx.Init2(conn, nil, false)
		c := app.AcquireCtx(ctx)
		lingerAfter(c, status)
		app.ReleaseCtx(c)
		require.Equal(t, want, conn.unread.Load(), status)
	}
}

// A problem's own members follow the common ones.
func TestProblemMembers(t *testing.T) {
	t.Parallel()
	for want, members := range map[string]hub.Extensions{"": nil, `,"alternatives":[1]`: {"alternatives": []int{1}}} {
		problem, _ := ProblemOf(&hub.Error{Kind: hub.ErrConflict, Code: "taken", Detail: "Taken.", Extensions: members}, "id")
		text, err := json.Marshal(&problem)
		require.NoError(t, err)
		require.Equal(t, `{"type":"about:blank","title":"Conflict","status":409,"detail":"Taken.","code":"taken","errors":[],"request_id":"id"`+want+`}`, string(text))
	}
	problem, _ := ProblemOf(&hub.Error{Kind: hub.ErrConflict, Extensions: hub.Extensions{"x": func() {}}}, "id")
	_, err := json.Marshal(&problem)
	require.Error(t, err)
}
