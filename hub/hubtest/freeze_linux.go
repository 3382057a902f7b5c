package hubtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// Freeze stops the server and its connections where they are, as a machine does
// whose disk hangs: what was sent stays unanswered, new connections are not
// refused and not served. Thaw lets everything go on.
func (p *PostgresServer) Freeze() {
	p.t.Helper()
	// The server first, so that it starts no more processes.
	require.NoError(p.t, syscall.Kill(p.server.Pid(), syscall.SIGSTOP))
	p.signalChildren(syscall.SIGSTOP)
	p.t.Cleanup(p.Thaw) // else nothing could stop it
}

// Thaw ends Freeze; otherwise it does nothing.
func (p *PostgresServer) Thaw() {
	p.t.Helper()
	p.signalChildren(syscall.SIGCONT)
	_ = syscall.Kill(p.server.Pid(), syscall.SIGCONT) // it may have ended
}

func (p *PostgresServer) signalChildren(s syscall.Signal) {
	p.t.Helper()
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, s) // it may have ended meanwhile
	}
}

// children are the server's processes but for the first.
func (p *PostgresServer) children() []int {
	p.t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(p.t, err)
	var found []int
	for _, entry := range entries {
		if parent, err := parentOf(entry); err == nil && parent == p.server.Pid() {
			pid, err := strconv.Atoi(filepath.Base(entry))
			require.NoError(p.t, err)
			found = append(found, pid)
		}
	}
	return found
}

// parentOf reads the parent of the process whose directory in /proc is given.
func parentOf(proc string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return 0, err
	}
	// "4711 (postgres) S 4700 …"; a name may hold spaces and parentheses.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 2 {
		return 0, fmt.Errorf("reading %s/stat: %q", proc, raw)
	}
	return strconv.Atoi(fields[1])
}
