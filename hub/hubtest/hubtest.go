//go:build unix

// Package hubtest gives tests real servers: a PostgreSQL cluster and a Redis for
// each test process, started when first asked for, and servers of a test's own
// that it may kill. They end with the process; what they leave in the directory
// for temporary files is removed by [Main] or by a later run.
package hubtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"integrationhub/hub/internal/filelock"
)

// ModuleRoot is the directory of go.mod, found from the test's working
// directory upwards. It panics where there is none.
func ModuleRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(fmt.Sprintf("finding the module root: %v", err))
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("finding the module root: no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// PostgresSearch is where configs/setup/ensure-postgres.sh puts the programs it
// fetches; the value for embedded.PostgresConfig.Search.
func PostgresSearch() []string {
	return []string{filepath.Join(ModuleRoot(), ".cache", "pg", "bin")}
}

// Main runs a package's tests and then stops the shared servers and removes
// their files: func TestMain(m *testing.M) { hubtest.Main(m) }. Without it the
// servers end with the process and a later run removes the files. What uses the
// servers and outlives single tests is ended by after, before they stop.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, end := range after {
		end()
	}
	stopPostgres()
	stopRedis()
	if dir, lock := scratch.dir, scratch.lock; lock != nil {
		_ = os.RemoveAll(dir)
		lock.Release()
	}
	os.Exit(code)
}

const scratchPrefix = "hub-test-"

// scratch is this process's directory. Its lock tells other runs that we live.
var scratch struct {
	once sync.Once
	dir  string
	lock *filelock.Lock
	err  error
}

// scratchDir makes a new directory for one server. Servers started as root may
// run as another user, who must be able to enter the directories above.
func scratchDir(name string) (string, error) {
	scratch.once.Do(func() { scratch.dir, scratch.lock, scratch.err = makeScratch() })
	if scratch.err != nil {
		return "", fmt.Errorf("making a directory for test servers: %w", scratch.err)
	}
	dir, err := os.MkdirTemp(scratch.dir, name+"-")
	if err != nil {
		return "", fmt.Errorf("making a directory for a test server: %w", err)
	}
	return dir, nil
}

// makeScratch removes dead runs' directories and makes ours. Runs take turns,
// so that none sees another's directory before its lock is held.
func makeScratch() (string, *filelock.Lock, error) {
	turn, err := filelock.Wait(filepath.Join(os.TempDir(), fmt.Sprintf("%s%d.lock", scratchPrefix, os.Getuid())))
	if err != nil {
		return "", nil, err
	}
	defer turn.Release()
	removeDead(os.TempDir())
	dir, err := os.MkdirTemp("", scratchPrefix)
	if err != nil {
		return "", nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, "alive.lock"))
	return dir, lock, err
}

func removeDead(temp string) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return // making our own directory then says why
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), scratchPrefix) {
			continue
		}
		dir := filepath.Join(temp, entry.Name())
		lock, err := filelock.Try(filepath.Join(dir, "alive.lock"))
		var held *filelock.HeldError
		if errors.As(err, &held) {
			continue
		}
		_ = os.RemoveAll(dir) // fails for another user's, as it should
		if err == nil {
			lock.Release()
		}
	}
}

// SharedDir makes a directory for what all tests of this process share, such as a
// program they build. [Main] removes it.
func SharedDir(name string) (string, error) { return scratchDir(name) }
