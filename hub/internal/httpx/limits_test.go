package httpx

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// A request may have a longer body where its path was named and somebody known sends it,
// and nowhere else; chunked or not.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 100, ErrorHandler: ErrorHandler(slog.New(slog.DiscardHandler))})
	app.All("/*", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	BodyLimits(app, map[string]int{"POST /one": 200}, func(string) bool { return true })
	BodyLimits(app, map[string]int{"PUT /two": 300}, func(authorization string) bool { return authorization == "me" })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(Linger(listener)) }()
	for _, one := range []struct {
		method, path, media string
		size, status        int
		code                string
	}{
		{"POST", "/one", "text/plain", 200, 204, ""},
		{"POST", "/one?x=1", "text/plain", 200, 204, ""},
		{"POST", "/one", "text/plain", 201, 413, `"too_large"`},
		{"POST", "/one", "multipart/form-data; boundary=x", 201, 413, `"file_too_large"`},
		{"PUT", "/one", "text/plain", 200, 413, `"too_large"`},
		{"PUT", "/two", "text/plain", 300, 204, ""},
		{"PUT", "/two", "text/plain", 301, 413, `"too_large"`},
		{"PUT", "/two?by=a+stranger", "text/plain", 101, 413, `"too_large"`},
		{"POST", "/three", "text/plain", 100, 204, ""},
		{"POST", "/three", "text/plain", 101, 413, `"too_large"`},
		{"POST", "/one/", "text/plain", 101, 413, `"too_large"`},
	} {
		for _, chunked := range []bool{false, true} {
			if chunked && one.code == `"file_too_large"` {
				continue
			}
			var body io.Reader = strings.NewReader(strings.Repeat("x", one.size))
			if chunked {
				body = struct{ io.Reader }{body}
			}
			req, err := http.NewRequestWithContext(t.Context(), one.method, "http://"+listener.Addr().String()+one.path, body)
			require.NoError(t, err)
			req.Header.Set("Content-Type", one.media)
			if one.path == "/two" {
				req.Header.Set("Authorization", "me")
			}
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, one.status, res.StatusCode, "%v, chunked %t: %s", one, chunked, text)
			require.Contains(t, string(text), one.code)
		}
	}
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}
