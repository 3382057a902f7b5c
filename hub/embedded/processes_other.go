//go:build unix && !linux

package embedded

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// serves reports whether the process is a living PostgreSQL server. Without /proc
// its name has to do: it was read from this cluster's lock file.
func serves(pid int, _ string) bool {
	out, err := exec.Command("ps", "-o", "state=,comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false // no such process
	}
	words := strings.Fields(string(out))
	return len(words) >= 2 && !strings.HasPrefix(words[0], "Z") && filepath.Base(words[1]) == "postgres"
}

// killOrphans does nothing: without /proc there is no telling whose they are.
func killOrphans(string) {}
