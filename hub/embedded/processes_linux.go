package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// isServerOf reports whether the process, named by this cluster's lock file, is a
// living PostgreSQL server of the cluster.
func isServerOf(pid int, data string) bool {
	if !isLivingPostgres(pid) {
		return false
	}
	isInData, err := worksIn(pid, data)
	// Root without CAP_SYS_PTRACE, as in a container, may not look: the arguments have to do.
	return isInData || os.IsPermission(err) && os.Geteuid() == 0 && isStartedOn(pid, data)
}

// isStartedOn reports whether the arguments of a PostgreSQL server name dir as its data. All may
// read them.
func isStartedOn(pid int, dir string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	arguments := strings.Split(string(text), "\x00")
	i := slices.Index(arguments, "-D")
	if i < 0 || i+1 == len(arguments) {
		return false
	}
	if arguments[i+1] == dir {
		return true
	}
	named, err := os.Stat(arguments[i+1]) //nolint:gosec // only compared with ours
	if err != nil {
		return false
	}
	want, err := os.Stat(dir)
	return err == nil && os.SameFile(named, want)
}

func isLivingPostgres(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "4711 (postgres) S …"; a name may hold spaces and parentheses.
	open, shut := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if open < 0 || shut < 0 || len(stat) < shut+3 {
		return false
	}
	name, state := string(stat[open+1:shut]), stat[shut+2]
	return name == "postgres" && state != 'Z' && state != 'X'
}

// worksIn reports whether the process's working directory is dir; every
// PostgreSQL process works in its data directory.
func worksIn(pid int, dir string) (bool, error) {
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false, err
	}
	want, err := os.Stat(dir)
	return err == nil && os.SameFile(cwd, want), err
}

// killOrphans kills the connections of a server that is dead itself.
func killOrphans(data string) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // fails on a bad pattern only
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || !isLivingPostgres(pid) {
			continue
		}
		if isInData, _ := worksIn(pid, data); isInData {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
