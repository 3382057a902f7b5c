//go:build unix && !linux

package embedded

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// isServerOf reports whether the process is a living PostgreSQL server. Without /proc
// its name has to do: it was read from this cluster's lock file.
func isServerOf(pid int, _ string) bool {
	out, err := exec.Command("ps", "-o", "state=,comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false // no such process
	}
	words := strings.Fields(string(out))
	return len(words) >= 2 && !strings.HasPrefix(words[0], "Z") && filepath.Base(words[1]) == "postgres"
}

// killOrphans does nothing: without /proc the cluster of a process is unknown.
func killOrphans(string) {}
