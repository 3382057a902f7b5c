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

// A request may have a longer body where the limit says so for who sends it, and nowhere
// else; chunked or not.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 100, ErrorHandler: ErrorHandler(slog.New(slog.DiscardHandler))})
	app.All("/*", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	for request, most := range map[string]int{"POST /one": 200, "PUT /two": 300} {
		BodyLimits(app, func(method, path, authorization string) int {
			if method+" "+path != request || authorization != "Bearer me" {
				return 0
			}
			return most
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(Linger(listener)) }()
	const (
		form  = "multipart/form-data; boundary=x"
		begin = "--x\r\nContent-Disposition: form-data; name=f\r\n\r\n"
		end   = "\r\n--x--\r\n"
	)
	for _, one := range []struct {
		method, path, media, who string
		size, status             int
		code                     string
	}{
		{"POST", "/one", form, "me", 200, 204, ""},
		{"POST", "/one?x=1", form, "me", 200, 204, ""},
		{"POST", "/one", form, "me", 201, 413, `"file_too_large"`},
		{"POST", "/one", form, "you", 101, 413, `"file_too_large"`},
		{"POST", "/one", "text/plain", "me", 101, 413, `"too_large"`},
		{"PUT", "/one", form, "me", 101, 413, `"file_too_large"`},
		{"PUT", "/two", form, "me", 300, 204, ""},
		{"PUT", "/two", form, "me", 301, 413, `"file_too_large"`},
		{"POST", "/three", form, "me", 100, 204, ""},
		{"POST", "/three", form, "me", 101, 413, `"file_too_large"`},
		{"POST", "/one/", form, "me", 101, 413, `"file_too_large"`},
	} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(begin + strings.Repeat("x", one.size-len(begin+end)) + end)
			if chunked {
				body = struct{ io.Reader }{body}
			}
			req, err := http.NewRequestWithContext(t.Context(), one.method, "http://"+listener.Addr().String()+one.path, body)
			require.NoError(t, err)
			req.Header.Set("Content-Type", one.media)
			req.Header.Set("Authorization", "Bearer "+one.who)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, one.status, res.StatusCode, "%v, chunked %t: %s", one, chunked, text)
			code := one.code
			if chunked { // what it was is not known any more when its length is
				code = strings.ReplaceAll(code, "file_", "")
			}
			require.Contains(t, string(text), code)
		}
	}
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}
