//go:build unix

package embedded

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
