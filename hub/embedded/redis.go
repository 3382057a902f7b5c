//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	redisDirPrefix = "hub-redis-"
	redisSocket    = "redis.sock"
	redisDeadAge   = time.Minute // until a socket without a listener is removed
	// Keys expire at this rhythm. A key set just before a tick is aged by the
	// whole tick, so a lifetime is wrong by up to this much either way.
	ttlTick = 100 * time.Millisecond
	// Ageing looks at every key; it may take one part in this many of the time.
	ttlShare = 50
)

// Redis is a Redis inside this process, for one hub on one machine. Nothing is
// stored: it starts empty, which the hub is built to survive.
type Redis struct {
	mini     *miniredis.Miniredis
	listener net.Listener
	dir      string
	log      *slog.Logger
	ended    chan struct{} // closed when Close begins
	running  sync.WaitGroup
	close    sync.Once
}

// StartRedis starts it on a Unix socket in a directory only we may enter, so it
// needs neither a port nor a password. logger may be nil.
func StartRedis(logger *slog.Logger) (*Redis, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	temp := shortTempDir(maxSocketDir - len(redisDirPrefix) - 10)
	removeDeadRedis(temp)
	dir, err := os.MkdirTemp(temp, redisDirPrefix)
	if err != nil {
		return nil, fmt.Errorf("making the directory of Redis's socket: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, redisSocket))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("opening Redis's socket: %w", err)
	}
	r := &Redis{mini: miniredis.NewMiniRedis(), listener: listener, dir: dir, log: logger, ended: make(chan struct{})}
	// Miniredis listens on TCP only; asked for a connection before it was started
	// it starts without a listener, and ours hands it the connections.
	first, err := r.mini.Dial()
	if err != nil {
		_ = listener.Close()
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("starting Redis: %w", err)
	}
	_ = first.Close()
	r.running.Go(r.accept)
	r.running.Go(r.expireKeys)
	logger.Info("in-process Redis started", "socket", r.Addr())
	return r, nil
}

func (r *Redis) accept() {
	server := r.mini.Server()
	for {
		conn, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors: they come back
			r.log.Error("in-process Redis cannot accept a connection", "error", err)
			select {
			case <-time.After(ttlTick):
				continue
			case <-r.ended:
				return
			}
		}
		server.ServeConn(conn)
	}
}

// expireKeys advances miniredis's time, which stands still by itself, so that keys expire. (Its
// ClockTTL would visit every key on every command.)
func (r *Redis) expireKeys() {
	last, wait := time.Now(), ttlTick
	for {
		select {
		case <-r.ended:
			return
		case <-time.After(wait):
		}
		now := time.Now()
		r.mini.FastForward(now.Sub(last))
		last = now
		wait = max(ttlTick, ttlShare*time.Since(now))
	}
}

// Addr is the path of the socket.
func (r *Redis) Addr() string { return r.listener.Addr().String() }

// Options are for redis.NewClient; each call makes new ones.
func (r *Redis) Options() *redis.Options {
	return &redis.Options{
		Network: "unix", Addr: r.Addr(),
		// Asking for notices of a managed cluster's maintenance only costs an error reply here.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// URL is "unix:///path/to/socket", as redis.ParseURL reads it.
func (r *Redis) URL() string { return (&url.URL{Scheme: "unix", Path: r.Addr()}).String() }

// Close ends it and every connection, and forgets all it held. Safe to call again.
func (r *Redis) Close() {
	r.close.Do(func() {
		close(r.ended)
		_ = r.listener.Close()
		r.running.Wait()
		r.mini.Close()
		_ = os.RemoveAll(r.dir)
	})
}

// removeDeadRedis removes what killed hubs left in temp: our sockets that
// no process listens on.
func removeDeadRedis(temp string) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return // creating our own directory then fails with the reason
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), redisDirPrefix) {
			continue
		}
		// A new one may refuse connections because it is not listening yet.
		if info, err := entry.Info(); err != nil || time.Since(info.ModTime()) < redisDeadAge {
			continue
		}
		dir := filepath.Join(temp, entry.Name())
		conn, err := net.Dial("unix", filepath.Join(dir, redisSocket))
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.RemoveAll(dir) // fails for another user's, as it should
		}
	}
}
