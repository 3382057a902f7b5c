// Package benchtest has test support of the packages of cmd/bench.
package benchtest

import (
	"io"
	"log"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// ServeHTTP runs a handler on a free loopback port and returns its base URL.
func ServeHTTP(t testing.TB, handler fasthttp.RequestHandler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &fasthttp.Server{
		Handler: handler, CloseOnShutdown: true,
		Logger: log.New(io.Discard, "", 0), // some tests break connections
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}
