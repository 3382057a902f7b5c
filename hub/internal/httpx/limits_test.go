package httpx

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"integrationhub/hub/hubtest"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// A request may have a longer body where the limit says so for who sends it, and nowhere
// else; chunked or not.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	uploads := NewUploads(1<<20, time.Now)
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 100, ErrorHandler: uploads.ErrorHandler(ErrorHandler(slog.New(slog.DiscardHandler)))})
	app.Use(uploads.Handler)
	app.All("/*", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	for request, most := range map[string]int{"POST /one": 200, "PUT /two": 300} {
		uploads.BodyLimits(app, func(method, path, authorization string) Admission {
			if method+" "+path != request || authorization != "Bearer me" && authorization != "Bearer staff" {
				return Admission{}
			}
			return Admission{MaxBytes: most, AdminOnly: authorization == "Bearer staff"}
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
	for _, test := range []struct {
		method, path, media, who string
		size, status             int
		code, claims             string
	}{
		{"POST", "/one", form, "me", 200, 204, "", ""},
		{"POST", "/one?x=1", form, "me", 200, 204, "", ""},
		{"POST", "/one", form, "me", 201, 413, `"file_too_large"`, ""},
		{"POST", "/one", form, "you", 101, 413, `"file_too_large"`, ""},
		{"POST", "/one", "text/plain", "me", 101, 413, `"too_large"`, ""},
		{"PUT", "/one", form, "me", 101, 413, `"file_too_large"`, ""},
		{"PUT", "/two", form, "me", 300, 204, "", ""},
		{"PUT", "/two", form, "me", 301, 413, `"file_too_large"`, ""},
		{"POST", "/three", form, "me", 100, 204, "", ""},
		{"POST", "/three", form, "me", 101, 413, `"file_too_large"`, ""},
		{"POST", "/one", form, "staff", 150, 403, `"admin_only"`, ""},
		{"POST", "/one", form, "staff", 100, 204, "", ""},
		{"POST", "/one/", form, "me", 101, 413, `"file_too_large"`, ""},
		{"POST", "/one", strings.ToUpper(form[:9]) + form[9:], "me", 200, 204, "", ""}, // MULTIPART
		// What a client says in the process's own header means nothing.
		{"POST", "/one", "application/json", "me", 101, 413, `"too_large"`, "busy"},
		{"POST", "/one", "application/json", "me", 101, 413, `"too_large"`, "admin"},
		{"POST", "/one", "Multipart/x", "me", 101, 413, `"too_large"`, "busy"},
		{"POST", "/one", form, "you", 101, 413, `"file_too_large"`, "busy"},
		{"POST", "/one", form, "me", 200, 204, "", "admin"},
	} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(begin + strings.Repeat("x", test.size-len(begin+end)) + end)
			if chunked {
				body = struct{ io.Reader }{body}
			}
			req, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+listener.Addr().String()+test.path, body)
			require.NoError(t, err)
			req.Header.Set("Content-Type", test.media)
			req.Header.Set("Authorization", "Bearer "+test.who)
			req.Header.Set(headerUpload, test.claims)
			res, err := hubtest.HTTPClient.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			if chunked && test.status == 403 { // nor who sent it
				require.Equal(t, 413, res.StatusCode)
				continue
			}
			require.Equal(t, test.status, res.StatusCode, "%v, chunked %t: %s", test, chunked, text)
			code := test.code
			if chunked { // what it was is not known any more when its length is
				code = strings.ReplaceAll(code, "file_", "")
			}
			require.Contains(t, string(text), code)
		}
	}
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}

// Long bodies find no room where others have it: refused before they are read, and let in
// once the others are done, have broken off, or time is over.
func TestRoomForUploads(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	uploads := NewUploads(500, func() time.Time { return time.Unix(clock.Load(), 0) })
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 100, ErrorHandler: uploads.ErrorHandler(ErrorHandler(slog.New(slog.DiscardHandler)))})
	app.Use(uploads.Handler)
	app.All("/*", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	uploads.BodyLimits(app, func(string, string, string) Admission { return Admission{MaxBytes: 300} })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(Linger(listener)) }()
	begin := func(length int) net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nX-Hub-Upload: mine\r\nContent-Length: "+strconv.Itoa(length)+"\r\n\r\n")
		require.NoError(t, err)
		return conn
	}
	holds := func(bytes int) {
		t.Helper()
		require.Eventually(t, func() bool { return uploads.reservedBytes() == bytes }, time.Minute, time.Millisecond, "%d held", bytes)
	}
	answered := func(conn net.Conn) (status int, retry string) {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	first := begin(300)
	holds(300)
	refused := begin(201)
	status, retry := answered(refused)
	require.Equal(t, 503, status)
	require.Equal(t, "10", retry)
	require.NoError(t, refused.Close())
	holds(300)
	second := begin(200)
	holds(500)
	const part, end = "--x\r\nContent-Disposition: form-data; name=f\r\n\r\n", "\r\n--x--\r\n"
	_, err = io.WriteString(second, part+strings.Repeat("x", 200-len(part+end))+end)
	require.NoError(t, err)
	status, _ = answered(second)
	require.Equal(t, 204, status)
	holds(300)
	require.NoError(t, second.Close())
	third := begin(200)
	holds(500)
	_, err = io.WriteString(third, part)
	require.NoError(t, err)
	require.NoError(t, third.Close()) // breaks off
	require.NoError(t, first.Close())
	// What such leave behind, at the latest, ends when no more of them would be read.
	clock.Add(int64(longTimeout/time.Second) + 1)
	fourth := begin(300)
	holds(300)
	require.NoError(t, fourth.Close())
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}

// Room for a body that is being handled lasts for as long as that takes.
func TestRoomWhileHandled(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	uploads := NewUploads(500, func() time.Time { return time.Unix(clock.Load(), 0) })
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 100, ErrorHandler: uploads.ErrorHandler(ErrorHandler(slog.New(slog.DiscardHandler)))})
	app.Use(uploads.Handler)
	begun, goOn := make(chan struct{}), make(chan struct{})
	app.Post("/slow", func(c *fiber.Ctx) error {
		begun <- struct{}{}
		<-goOn
		return c.SendStatus(http.StatusNoContent)
	})
	app.Post("/", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	uploads.BodyLimits(app, func(string, string, string) Admission { return Admission{MaxBytes: 300} })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(Linger(listener)) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(path string) (int, error) {
		const part, end = "--x\r\nContent-Disposition: form-data; name=f\r\n\r\n", "\r\n--x--\r\n"
		res, err := client.Post("http://"+listener.Addr().String()+path, "multipart/form-data; boundary=x", strings.NewReader(part+strings.Repeat("x", 300-len(part+end))+end))
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	slow := make(chan int, 1)
	go func() {
		status, _ := post("/slow")
		slow <- status
	}()
	<-begun
	clock.Add(10 * int64(longTimeout/time.Second))
	status, err := post("/")
	require.NoError(t, err)
	require.Equal(t, 503, status, "the first is in memory still")
	require.Equal(t, 300, uploads.reservedBytes())
	close(goOn)
	require.Equal(t, 204, <-slow)
	require.Eventually(t, func() bool { return uploads.reservedBytes() == 0 }, time.Minute, time.Millisecond)
	status, err = post("/")
	require.NoError(t, err)
	require.Equal(t, 204, status)
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}
