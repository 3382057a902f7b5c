//go:build unix

package hubtest

import (
	"sync"
	"testing"
)

// processTB is a test whose cleanups run when the process has run all its tests.
type processTB struct{ testing.TB }

var atEnd struct {
	mu       sync.Mutex
	cleanups []func()
}

// ForProcess returns the test with another lifetime: what it makes and registers for cleanup
// lives until the process has run all its tests, so that they can share it. It requires
// [Main].
func ForProcess(t testing.TB) testing.TB { return processTB{t} }

// Cleanup registers what is called when all tests have ended, last first.
func (processTB) Cleanup(f func()) {
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	atEnd.cleanups = append(atEnd.cleanups, f)
}

// TempDir makes a directory that is removed with the process's others.
func (p processTB) TempDir() string {
	p.Helper()
	dir, err := SharedDir("shared")
	if err != nil {
		p.Fatal(err)
	}
	return dir
}

// Failed is false: what outlives the test has no verdict to wait for.
func (processTB) Failed() bool { return false }

// runAtEnd ends what tests shared.
func runAtEnd() {
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	for i := len(atEnd.cleanups) - 1; i >= 0; i-- {
		atEnd.cleanups[i]()
	}
	atEnd.cleanups = nil
}
