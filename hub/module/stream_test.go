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

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

// startStreams starts a server that streams each path with its function. Errors passed to
// onError arrive on failed.
func startStreams(t *testing.T, paths map[string]func(context.Context, io.Writer) error) (base string, failed chan error) {
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

// nextError waits for an error on a channel.
func nextError(t *testing.T, failed chan error) error {
	t.Helper()
	select {
	case err := <-failed:
		return err
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing failed")
		return nil
	}
}

// A stream that fails or panics closes the connection, so that its reader sees that the
// body is incomplete, and the process continues.
func TestStream(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("the database is away")
	long := strings.Repeat("x", 1<<20)
	write := func(w io.Writer, text string) {
		if _, err := io.WriteString(w, text); err != nil {
			panic(err)
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a reused connection would be retried
	base, failed := startStreams(t, map[string]func(context.Context, io.Writer) error{
		"/whole": func(ctx context.Context, w io.Writer) error {
			write(w, long)
			return ctx.Err() // the handler has returned, and the stream continues
		},
		"/nothing":    func(context.Context, io.Writer) error { return errBroken },
		"/part":       func(_ context.Context, w io.Writer) error { write(w, "[1,"); return errBroken },
		"/long-part":  func(_ context.Context, w io.Writer) error { write(w, long); return errBroken },
		"/panic":      func(_ context.Context, w io.Writer) error { write(w, "[1,"); panic("on purpose") },
		"/long-panic": func(_ context.Context, w io.Writer) error { write(w, long); panic("on purpose") },
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
			require.ErrorContains(t, nextError(t, failed), want, path)
		}
	}
	require.Empty(t, failed)
}

// A disconnected client ends the stream without an error.
func TestStreamClientDisconnects(t *testing.T) {
	t.Parallel()
	writeErr := make(chan error, 1)
	base, failed := startStreams(t, map[string]func(context.Context, io.Writer) error{
		"/endless": func(_ context.Context, w io.Writer) error {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					writeErr <- err
					return err
				}
			}
		},
	})
	res, err := hubtest.HTTPClient.Get(base + "/endless")
	require.NoError(t, err)
	_, err = io.ReadFull(res.Body, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Error(t, nextError(t, writeErr))
	require.Empty(t, failed)
}
