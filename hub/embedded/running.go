//go:build unix

package embedded

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// RunningPostgresURL is the address of the server that a living hub runs on dir, for tools
// beside it on the same machine; ok is false where none is running.
func RunningPostgresURL(dir string) (address string, ok bool) {
	data := filepath.Join(dir, "cluster")
	if f := readPidFile(data); f.pid <= 1 || f.status != "ready" || !isServerOf(f.pid, data) {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return "", false
	}
	// Line 4 is the port, line 5 the directory of the socket.
	lines := strings.Split(string(text), "\n")
	if len(lines) < 5 {
		return "", false
	}
	query := url.Values{"host": {strings.TrimSpace(lines[4])}, "port": {strings.TrimSpace(lines[3])}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: query.Encode()}).String(), true
}

// Owner returns the process id of the living hub that runs on dir, whether or not its server
// takes connections; ok is false where there is none.
func Owner(dir string) (pid int, ok bool) {
	path := filepath.Join(dir, "owner.lock")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	// The lock is only tried where its holder may live: a start would fail on it meanwhile.
	if err != nil || pid <= 1 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0, false
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer file.Close() // releases the lock too
	isHeld := errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
	return pid, isHeld
}
