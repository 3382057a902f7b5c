package module_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

// streaming answers with what each path writes; what failed is told to a channel.
func streaming(t *testing.T, paths map[string]func(context.Context, io.Writer) error) (base string, failed chan error) {
	t.Helper()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	api := humafiber.New(app, huma.DefaultConfig("streams", "1"))
	failed = make(chan error, 100)
	for path, write := range paths {
		huma.Register(api, huma.Operation{Method: "GET", Path: path}, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(c huma.Context) {
				c.SetHeader("Content-Type", "application/json")
				module.Stream(c, write, func(err error) { failed <- err })
			}}, nil
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	t.Cleanup(func() {
		require.NoError(t, app.Shutdown())
		require.NoError(t, <-done)
	})
	return "http://" + listener.Addr().String(), failed
}

// told is the next failure.
func told(t *testing.T, failed chan error) error {
	t.Helper()
	select {
	case err := <-failed:
		return err
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing failed")
		return nil
	}
}

// What a stream writes arrives; what fails or panics on the way is cut, so that its reader
// sees that it is not the whole, and the process goes on.
func TestStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	long := strings.Repeat("x", 1<<20)
	begin := func(w io.Writer, text string) {
		if _, err := io.WriteString(w, text); err != nil {
			panic(err)
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // it would ask again
	base, failed := streaming(t, map[string]func(context.Context, io.Writer) error{
		"/whole": func(ctx context.Context, w io.Writer) error {
			begin(w, long)
			return ctx.Err() // the handler has returned, and the work goes on
		},
		"/nothing":    func(context.Context, io.Writer) error { return broken },
		"/part":       func(_ context.Context, w io.Writer) error { begin(w, "[1,"); return broken },
		"/long-part":  func(_ context.Context, w io.Writer) error { begin(w, long); return broken },
		"/panic":      func(_ context.Context, w io.Writer) error { begin(w, "[1,"); panic("on purpose") },
		"/long-panic": func(_ context.Context, w io.Writer) error { begin(w, long); panic("on purpose") },
	})
	for range 3 {
		for path, want := range map[string]string{
			"/nothing": "away", "/part": "away", "/long-part": "away", "/panic": "on purpose", "/long-panic": "on purpose", "/whole": "",
		} {
			var text []byte
			res, err := client.Get(base + path)
			if err == nil {
				text, err = io.ReadAll(res.Body)
				require.NoError(t, res.Body.Close())
			}
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, long, string(text))
				continue
			}
			require.Error(t, err, "%s looks whole: %d bytes", path, len(text))
			require.ErrorContains(t, told(t, failed), want, path)
		}
	}
	require.Empty(t, failed)
}

// Nobody goes on writing for a reader who has gone, which is no failure.
func TestStreamOfWhoLeft(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	base, failed := streaming(t, map[string]func(context.Context, io.Writer) error{
		"/endless": func(_ context.Context, w io.Writer) error {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					ended <- err
					return err
				}
			}
		},
	})
	res, err := http.Get(base + "/endless")
	require.NoError(t, err)
	_, err = io.ReadFull(res.Body, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Error(t, told(t, ended))
	require.Empty(t, failed)
}
