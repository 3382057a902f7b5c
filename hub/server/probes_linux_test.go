package server_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// probeTime is what a probe may take on a busy machine: less than Redis's client waits.
const probeTime = 3 * time.Second

// newSilentServer returns the address of a server that accepts connections and never
// answers.
func newSilentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}

// "/ready takes 5 s when Redis hangs (go-redis ignores the context): probes answer within
// their deadline, always." Also when PostgreSQL hangs, and after both hung for long.
func TestProbesAnswerWhileServersHang(t *testing.T) {
	t.Parallel()
	postgres := hubtest.StartPostgres(t)
	p := placeAt(t, postgres.URL(), "redis://"+newSilentServer(t))
	s, cfg, err := p.startWithModules(t, "notes")
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	local, err := config.ReadLocal(cfg.DataDir)
	require.NoError(t, err)
	n := p.nodeAt(t, s.URL(), local.Token)
	ask := func(path string, status int) {
		begun := time.Now()
		got, err := n.http.Get(n.url + path)
		require.NoError(t, err)
		require.Less(t, time.Since(begun), probeTime, path)
		require.NoError(t, got.Body.Close())
		require.Equal(t, status, got.StatusCode, path)
	}
	for range 3 {
		ask("/health", 200)
		ask("/ready", 200)
		ask("/notes/health", 200)
	}
	require.Equal(t, "unavailable", n.call("GET", "/ready", "", "").body["redis"])
	postgres.Freeze()
	defer postgres.Thaw()
	for range 3 {
		ask("/health", 200)
		ask("/ready", 503)
		ask("/notes/health", 503)
	}
	postgres.Thaw()
	require.Eventually(t, func() bool { return n.call("GET", "/ready", "", "").status == 200 }, soon, tick)
}
