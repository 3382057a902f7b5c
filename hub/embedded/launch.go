//go:build unix

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"integrationhub/hub/internal/child"
	"integrationhub/hub/internal/ownership"
)

const (
	readyTick = 5 * time.Millisecond // between reads of the lock file while the server starts
	// A killed server's connections hold its shared memory until they notice; a
	// busy one may take long, so after this time they are killed too.
	orphanTimeout = time.Second
	maxLogSize    = 16 << 20 // bytes; a longer log becomes postgres.log.1
	logTail       = 2 << 10  // bytes of it shown when a start fails
)

// launch starts the server and waits until it accepts connections.
func (c *cluster) launch(ctx context.Context) (*child.Process, error) {
	log, err := openLog(c.logPath())
	if err != nil {
		return nil, err
	}
	defer log.Close() // the server has its own
	began, retry := time.Now(), 50*time.Millisecond
	for {
		from, err := log.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, fmt.Errorf("reading the server's log: %w", err)
		}
		server, err := c.startServer(log)
		if err != nil {
			return nil, err
		}
		err = c.awaitReady(ctx, server)
		if err == nil {
			return server, nil
		}
		output := logSince(log.Name(), from)
		if ctx.Err() != nil || !strings.Contains(output, "shared memory block") {
			return nil, fmt.Errorf("starting PostgreSQL: %w; its log %s ends:\n%s", err, log.Name(), output)
		}
		if time.Since(began) > orphanTimeout {
			killOrphans(c.data)
		}
		select {
		case <-time.After(retry):
			retry = min(2*retry, orphanTimeout)
		case <-ctx.Done():
		}
	}
}

// awaitReady returns when the server's lock file says so. On failure the server is gone.
func (c *cluster) awaitReady(ctx context.Context, server *child.Process) error {
	tick := time.NewTicker(readyTick)
	defer tick.Stop()
	for {
		select {
		case <-server.Exited():
			return fmt.Errorf("it ended while starting: %w", exitError(server))
		case <-ctx.Done():
			_ = server.Signal(syscall.SIGQUIT)
			<-server.Exited()
			return ctx.Err()
		case <-tick.C:
			if f := readPidFile(c.data); f.pid == server.Pid() && f.status == "ready" {
				return nil
			}
		}
	}
}

// logPath is the file of the server's log.
func (c *cluster) logPath() string { return filepath.Join(c.cfg.Dir, "postgres.log") }

// openLog opens the server's log for appending; one generation of a long log is kept.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("moving the server's log away: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the server's log: %w", err)
	}
	if err := ownership.Inherit(path); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("handing over the server's log: %w", err)
	}
	return log, nil
}

// shortenLog copies a long log of a running server to the older generation, and empties it: the
// server keeps its file, to which it appends. What it writes between the two is lost.
func shortenLog(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= maxLogSize {
		return nil //nolint:nilerr // without a log there is nothing to shorten
	}
	log, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	defer log.Close()
	older, err := os.OpenFile(path+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keeping the server's log: %w", err)
	}
	// Without room for a copy, as on a full disk, the log is emptied all the same.
	_, copyErr := io.Copy(older, log)
	err = errors.Join(copyErr, older.Close(), ownership.Inherit(path+".1"))
	if truncateErr := os.Truncate(path, 0); truncateErr != nil {
		return fmt.Errorf("emptying the server's log: %w", truncateErr)
	}
	if err != nil {
		return fmt.Errorf("keeping the server's log: %w", err)
	}
	return nil
}

// logSince returns what was written to the log since offset from, at most its last logTail bytes.
func logSince(path string, from int64) string { return readLog(path, from, logTail) }

// readLog returns what was written to the log since offset from, at most its last limit bytes.
func readLog(path string, from, limit int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-limit)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, limit))
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	return string(bytes.TrimSpace(text))
}
