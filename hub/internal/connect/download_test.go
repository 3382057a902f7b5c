package connect_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/connect"
)

// download fetches a file from a server that serve writes the response of, and returns how
// long that took. It runs on the clock of synctest.
func download(t *testing.T, serve func(line net.Conn)) (content []byte, took time.Duration, err error) {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan struct{})
	defer func() {
		_, _ = near.Close(), far.Close()
		<-served
	}()
	go func() {
		defer close(served)
		if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
			serve(far)
		}
	}()
	client := connect.NewDownloader(func(context.Context, string, string) (net.Conn, error) { return near, nil }, "test")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://files.example/a", nil)
	require.NoError(t, err)
	begin := time.Now()
	response, err := client.Do(request)
	if err == nil {
		content, err = io.ReadAll(response.Body)
		require.NoError(t, response.Body.Close())
	}
	return content, time.Since(begin), err
}

// writeSlowly writes a file of so many seconds of 200 KiB.
func writeSlowly(line net.Conn, seconds int, header string) {
	_, _ = fmt.Fprintf(line, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", header)
	second := bytes.Repeat([]byte("x"), 200<<10)
	for range seconds {
		<-time.After(time.Second)
		if _, err := line.Write(second); err != nil {
			return
		}
	}
}

// A large file arrives over a slow line: what counts is how fast it comes.
func TestLargeDownloads(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{"of a known length": fmt.Sprintf("Content-Length: %d", 100*200<<10), "of an unknown length": "Connection: close"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				content, took, err := download(t, func(line net.Conn) {
					<-time.After(14 * time.Second)
					writeSlowly(line, 100, header)
					_ = line.Close()
				})
				require.NoError(t, err)
				require.Len(t, content, 100*200<<10)
				require.Equal(t, 114*time.Second, took)
			})
		})
	}
}

// A host that hangs is given up: before it answers, in the middle of a file, and after ten
// minutes in any case.
func TestHangingDownloads(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		serve func(line net.Conn)
		took  time.Duration
	}{
		"no answer":        {func(net.Conn) {}, 15 * time.Second},
		"only the headers": {func(line net.Conn) { writeSlowly(line, 0, "Content-Length: 100000000") }, 15 * time.Second},
		"half a file":      {func(line net.Conn) { writeSlowly(line, 64, "Content-Length: 100000000") }, 115 * time.Second},
		"an endless file":  {func(line net.Conn) { writeSlowly(line, 1000, "Connection: close") }, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, took, err := download(t, tc.serve)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, tc.took, took)
			})
		})
	}
}
