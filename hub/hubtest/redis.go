//go:build unix

package hubtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/child"
)

const (
	redisDatabases = 4096 // one for each test; an unused one costs little
	redisTimeout   = 20 * time.Second
	redisTick      = 5 * time.Millisecond
)

// RedisServer is a real redis-server on a loopback port, seen through one of
// its numbered databases.
type RedisServer struct {
	addr string
	db   int
}

// Redis returns a client of an empty database on the server that this test
// process shares. FLUSHDB is the test's own; FLUSHALL would hit its neighbours,
// and so do published messages, which know no databases: see [StartRedis].
func Redis(t testing.TB) *RedisServer {
	t.Helper()
	sharedRedis.once.Do(func() { sharedRedis.err = startSharedRedis() })
	require.NoError(t, sharedRedis.err)
	db := int(sharedRedis.next.Add(1)) - 1
	require.Less(t, db, redisDatabases, "too many tests ask for a Redis database: raise redisDatabases")
	return &RedisServer{addr: sharedRedis.proc.address, db: db}
}

// RedisURL is the URL of [Redis].
func RedisURL(t testing.TB) string {
	t.Helper()
	return Redis(t).URL()
}

// Addr is "127.0.0.1:port".
func (r *RedisServer) Addr() string { return r.addr }

// DB is the number of the test's database.
func (r *RedisServer) DB() int { return r.db }

// URL is "redis://127.0.0.1:port/db"; go-redis and asynq both read it.
func (r *RedisServer) URL() string { return fmt.Sprintf("redis://%s/%d", r.addr, r.db) }

// Options are for redis.NewClient; each call makes new ones.
func (r *RedisServer) Options() *redis.Options { return &redis.Options{Addr: r.addr, DB: r.db} }

// Client makes a client that is closed when the test ends.
func (r *RedisServer) Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(r.Options())
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// OwnedRedisServer is a redis-server of one test's own, for faults.
type OwnedRedisServer struct {
	RedisServer
	t    testing.TB
	proc *redisProcess
}

// StartRedis starts a redis-server for this test alone; it is stopped when the
// test ends.
func StartRedis(t testing.TB) *OwnedRedisServer {
	t.Helper()
	proc, err := newRedis()
	require.NoError(t, err)
	t.Cleanup(proc.stop)
	return &OwnedRedisServer{RedisServer: RedisServer{addr: proc.address}, t: t, proc: proc}
}

// Stop kills the server: connections break, new ones are refused, its data is
// gone. It returns when the server has ended; a stopped one stays stopped.
func (r *OwnedRedisServer) Stop() { r.proc.stop() }

// Start starts it again, empty, on the same port, and returns when it answers.
func (r *OwnedRedisServer) Start() {
	r.t.Helper()
	require.NoError(r.t, r.proc.start())
}

// Freeze stops the server where it is: connections stay open, nothing is answered.
func (r *OwnedRedisServer) Freeze() { r.proc.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (r *OwnedRedisServer) Thaw() { r.proc.signal(syscall.SIGCONT) }

// FlushAll deletes everything it holds, as if its data had been lost.
func (r *OwnedRedisServer) FlushAll() {
	r.t.Helper()
	client := redis.NewClient(r.Options())
	defer client.Close()
	require.NoError(r.t, client.FlushAll(context.Background()).Err())
}

var sharedRedis struct {
	once sync.Once
	proc *redisProcess
	err  error
	next atomic.Int64
}

func startSharedRedis() (err error) {
	sharedRedis.proc, err = newRedis()
	return err
}

func stopRedis() {
	if sharedRedis.proc != nil {
		sharedRedis.proc.stop()
	}
}

// redisProcess is one redis-server, which keeps its port over restarts.
type redisProcess struct {
	program string
	dir     string
	address string
	mu      sync.Mutex
	running *child.Process // nil = stopped
}

// newRedis starts a server on an address of its own.
func newRedis() (*redisProcess, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	dir, err := onDisk.make("redis")
	if err != nil {
		return nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	p := &redisProcess{program: program, dir: dir, address: address}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *redisProcess) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return errors.New("starting redis-server: it is running")
	}
	log, err := os.OpenFile(filepath.Join(p.dir, "redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening redis-server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.program, "--port", p.address[strings.LastIndex(p.address, ":")+1:], "--bind", "127.0.0.1", "--dir", p.dir,
		"--save", "", "--appendonly", "no", "--databases", strconv.Itoa(redisDatabases))
	cmd.Stdout, cmd.Stderr = log, log
	running, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("starting redis-server: %w", err)
	}
	if err := p.awaitReady(running); err != nil {
		_ = running.Signal(syscall.SIGKILL)
		<-running.Exited()
		return fmt.Errorf("starting redis-server (log: %s): %w", log.Name(), err)
	}
	p.running = running
	return nil
}

func (p *redisProcess) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = p.running.Signal(s)
	}
}

// awaitReady returns when the server answers, and is the one we started: on a
// port that someone else took, another one would answer.
func (p *redisProcess) awaitReady(running *child.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: p.address, MaxRetries: -1})
	defer client.Close()
	want := "process_id:" + strconv.Itoa(running.Pid()) + "\r\n"
	tick := time.NewTicker(redisTick)
	defer tick.Stop()
	for {
		select {
		case <-running.Exited():
			return fmt.Errorf("it ended: %w", running.Err())
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if info, err := client.Info(ctx, "server").Result(); err == nil && strings.Contains(info, want) {
				return nil
			}
		}
	}
}

func (p *redisProcess) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return
	}
	_ = p.running.Signal(syscall.SIGKILL)
	<-p.running.Exited()
	p.running = nil
}

// redisProgram finds redis-server: on PATH, or what ensure-redis.sh fetched.
func redisProgram() (string, error) {
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	fetched := filepath.Join(ModuleRoot(), ".cache", "redis", "bin", "redis-server")
	if _, err := os.Stat(fetched); err == nil {
		return fetched, nil
	}
	return "", errors.New("no redis-server found: run `make setup` (configs/setup/ensure-redis.sh), which fetches one")
}
