//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"integrationhub/hub/internal/child"
)

const (
	// The first restart is tried at once. Further ones wait, twice as long each time.
	minRestartDelay = time.Second
	maxRestartDelay = 30 * time.Second
	// A server that ran for so long has recovered: its next restart is tried at once again.
	stableTime   = 2 * maxRestartDelay
	shutdownTick = time.Second // between looks whether another program shuts the server down
)

// watch waits for the end of the server and of those that follow it, until Stop or, without
// Restart, until the first one has ended.
func (p *Postgres) watch() {
	defer close(p.done)
	var delay time.Duration
	for server := p.current(); server != nil; {
		began := time.Now()
		if isStopping := p.awaitEnd(server); isStopping {
			p.stopErr = end(p.stopContext, server)
			return
		}
		if !p.cluster.cfg.Restart {
			p.log.Error("private PostgreSQL ended unasked", "pid", server.Pid(), "status", fmt.Sprint(server.Err()))
			p.done <- fmt.Errorf("private PostgreSQL ended unasked: %w", exitError(server))
			return
		}
		path := p.cluster.logPath()
		p.log.Error("private PostgreSQL ended unasked; it is restarted", "pid", server.Pid(), "status", fmt.Sprint(server.Err()),
			"log", path, "log_tail", lastMessages(path))
		if time.Since(began) > stableTime {
			delay = 0
		}
		server, delay = p.restart(delay)
	}
}

// awaitEnd returns when the server has ended, or with true when Stop was called. A shutdown by
// another program that waits for our connections to end is hurried: new ones are refused
// meanwhile.
func (p *Postgres) awaitEnd(server *child.Process) (isStopping bool) {
	tick := time.NewTicker(shutdownTick)
	defer tick.Stop()
	for isHurried, isLong := false, false; ; {
		select {
		case <-p.life.Done():
			return true
		case <-server.Exited():
			return p.life.Err() != nil
		case <-tick.C:
			if err := shortenLog(p.cluster.logPath()); err != nil && !isLong {
				isLong = true
				p.log.Warn("the private PostgreSQL's log could not be shortened; trying again", "error", err)
			}
			if f := readPidFile(p.cluster.data); p.cluster.cfg.Restart && !isHurried && f.pid == server.Pid() && f.status == "stopping" {
				isHurried = true
				p.log.Warn("another program shuts the private PostgreSQL down", "pid", server.Pid())
				_ = server.Signal(syscall.SIGINT)
			}
		}
	}
}

// restart starts the server again, for as long as it takes, and returns it with the delay of
// the next restart. It returns nil if Stop was called.
func (p *Postgres) restart(delay time.Duration) (*child.Process, time.Duration) {
	began, reason := time.Now(), ""
	for {
		select {
		case <-p.life.Done():
			return nil, 0
		case <-time.After(delay):
		}
		delay = min(max(2*delay, minRestartDelay), maxRestartDelay)
		server, err := p.cluster.relaunch(p.life)
		switch {
		case err == nil:
			p.mu.Lock()
			p.server = server
			p.mu.Unlock()
			p.log.Info("private PostgreSQL runs again", "pid", server.Pid(), "ms", time.Since(began).Milliseconds())
			return server, delay
		case p.life.Err() != nil:
			return nil, 0
		}
		if newReason := failureReason(err); newReason != reason {
			reason = newReason
			p.log.Error("private PostgreSQL does not start; trying again until it does", "at_most_every", maxRestartDelay.String(), "error", err)
		}
	}
}

// relaunch starts the server on the data and at the address of before. It never makes a new
// cluster: data that is out of reach, as on a disk that is not mounted, may come back.
func (c *cluster) relaunch(ctx context.Context) (*child.Process, error) {
	if err := takeOver(ctx, c.data); err != nil {
		return nil, err
	}
	if err := c.clearSocketDir(); err != nil {
		return nil, err
	}
	return c.launch(ctx)
}

// clearSocketDir removes what a killed server left in the directory of the socket: a lock that
// names a process id which another program may have by now. It makes a directory that is gone,
// removed by a program that cleans /tmp, and refuses one that another user has made since.
func (c *cluster) clearSocketDir() error {
	err := os.Mkdir(c.sockets, 0o700)
	if err == nil {
		err = c.id.chown(c.sockets, false)
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("making the socket's directory: %w", err)
	}
	var stat syscall.Stat_t
	if err := syscall.Lstat(c.sockets, &stat); err != nil {
		return fmt.Errorf("examining the socket's directory: %w", err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR || stat.Mode&0o077 != 0 || stat.Uid != c.id.owner() {
		return fmt.Errorf("using the socket's directory: %s belongs to another user", c.sockets)
	}
	for _, name := range []string{socketName, socketName + ".lock"} {
		_ = os.Remove(filepath.Join(c.sockets, name))
	}
	return nil
}

// refusedConnection is in the lines of the server's log of connections that are refused while it
// starts or stops: many lines, which say nothing.
const refusedConnection = "FATAL:  the database system is "

// lastMessages returns the end of the server's log without refused connections, at most logTail
// bytes of it.
func lastMessages(path string) string {
	var kept []string
	size := 0
	for _, line := range slices.Backward(strings.Split(readLog(path, 0, 32*logTail), "\n")) {
		if strings.Contains(line, refusedConnection) {
			continue
		}
		if size += len(line); size > logTail {
			break
		}
		kept = append(kept, line)
	}
	slices.Reverse(kept)
	return strings.Join(kept, "\n")
}

// failureReason returns what stays the same of an error while its cause does: PostgreSQL's last
// fatal message without numbers, or else the whole error without numbers.
func failureReason(err error) string {
	reason := err.Error()
	for line := range strings.Lines(err.Error()) {
		for _, severity := range []string{"PANIC:", "FATAL:"} {
			if _, text, ok := strings.Cut(line, severity); ok && !strings.Contains(line, refusedConnection) {
				reason = text
			}
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, reason)
}

// current returns the server that runs, or the one that ran last.
func (p *Postgres) current() *child.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

// exitError is never nil: a server that ends by itself with status 0 has failed us too.
func exitError(server *child.Process) error {
	if server.Err() != nil {
		return server.Err()
	}
	return errors.New("exit status 0")
}

// Stop ends the server with a checkpoint, rolling open transactions back. When
// ctx ends first the server stops at once, which loses nothing
// committed but makes the next start recover. Safe to call again, after
// the server has ended by itself, and during a restart.
func (p *Postgres) Stop(ctx context.Context) error {
	p.stop.Do(func() {
		p.stopContext = ctx
		p.cancel()
		<-p.watched
		_ = os.RemoveAll(p.cluster.sockets)
		p.owner.Release()
	})
	return p.stopErr
}

func end(ctx context.Context, server *child.Process) error {
	_ = server.Signal(syscall.SIGINT) // "fast shutdown"
	select {
	case <-server.Exited():
		return nil
	case <-ctx.Done():
	}
	_ = server.Signal(syscall.SIGQUIT) // "immediate shutdown"; it kills what does not follow after 5 s
	<-server.Exited()
	return fmt.Errorf("stopping PostgreSQL: %w", ctx.Err())
}
