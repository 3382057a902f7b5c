//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	takeOverTick = 10 * time.Millisecond
	// How long a leftover server may take to end after each signal.
	takeOverTimeout = 10 * time.Second
)

// takeOver ends the server that a killed hub left on the cluster, and removes a
// lock file that only looks alive. It is safe because this process owns the
// data directory: no living hub uses the server.
//
// postmaster.pid is not proof of a server. Its process id may be a zombie (a
// PID 1 that reaps nothing, as in many containers) or belong to an unrelated
// program after a reboot; PostgreSQL refuses to start in both cases. What
// protects the data is the shared memory, which PostgreSQL checks by itself.
// It may also be empty, after a full disk or a power cut: no server starts then.
func takeOver(ctx context.Context, data string) error {
	pid := readPidFile(data).pid
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if pid <= 1 || !isServerOf(pid, data) {
			break
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending the PostgreSQL server %d left on %s: %w", pid, data, err)
		}
		if err := awaitGone(ctx, pid, data); err != nil {
			return fmt.Errorf("waiting for the PostgreSQL server %d left on %s: %w", pid, data, err)
		}
	}
	if pid > 1 && isServerOf(pid, data) {
		return fmt.Errorf("taking over %s: the PostgreSQL server %d left on it does not end", data, pid)
	}
	if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing a stale postmaster.pid: %w", err)
	}
	return nil
}

// awaitGone waits until pid serves data no more, takeOverPatience at most.
func awaitGone(ctx context.Context, pid int, data string) error {
	for end := time.Now().Add(takeOverTimeout); isServerOf(pid, data) && time.Now().Before(end); {
		select {
		case <-time.After(takeOverTick):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pidFile is what we need of postmaster.pid.
type pidFile struct {
	pid    int    // 0 = no file
	status string // "starting", "ready", "stopping", …
}

func readPidFile(data string) pidFile {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}
	}
	var f pidFile
	lines := strings.Split(string(text), "\n")
	f.pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	if len(lines) >= 8 {
		f.status = strings.TrimSpace(lines[7])
	}
	return f
}
