package limit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// redisServer is a real Redis on a socket of its own.
type redisServer struct {
	t       *testing.T
	dir     string
	process *exec.Cmd
	output  bytes.Buffer
}

// newRedis prepares a server without starting it.
func newRedis(t *testing.T) *redisServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "rd") // t.TempDir is too long for a socket's path
	require.NoError(t, err)
	s := &redisServer{t: t, dir: dir}
	t.Cleanup(func() {
		s.kill()
		require.NoError(t, os.RemoveAll(dir))
	})
	return s
}

func (s *redisServer) options() *redis.Options {
	return &redis.Options{Network: "unix", Addr: filepath.Join(s.dir, "s")}
}

// start starts the server and waits until it answers.
func (s *redisServer) start() *redisServer {
	s.t.Helper()
	binary, err := exec.LookPath("redis-server")
	require.NoError(s.t, err, "these tests need a real Redis: install redis-server and have it on PATH")
	s.process = exec.Command(binary, "--port", "0", "--unixsocket", s.options().Addr, "--save", "", "--appendonly", "no", "--dir", s.dir)
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	require.NoError(s.t, s.process.Start())
	client := s.client()
	require.Eventually(s.t, func() bool { return client.Ping(s.t.Context()).Err() == nil }, time.Minute, 5*time.Millisecond)
	return s
}

// kill ends the server at once.
func (s *redisServer) kill() {
	if s.process == nil {
		return
	}
	require.NoError(s.t, s.process.Process.Kill())
	_ = s.process.Wait() // reports the kill
	s.process = nil
}

// signal sends a signal to the server.
func (s *redisServer) signal(signal syscall.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.process.Process.Signal(signal))
}

// client returns a plain client for looking at the server from outside.
func (s *redisServer) client() *redis.Client {
	client := redis.NewClient(s.options())
	s.t.Cleanup(func() { require.NoError(s.t, client.Close()) })
	return client
}
